// @ts-check
/**
 * An empty short name shows what it is made of. It is not sent: only a name that the server makes itself gets a number
 * if another project has it already.
 */

const LONGEST = 60;
const NAMELESS = "project"; // without Latin letters and digits

/** As the server makes one from a title; "" without a title. @param {string} title */
function shortName(title) {
  const letters = title
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9\s_-]/g, "");
  const joined = letters
    .trim()
    .replace(/[-\s]+/g, "-")
    .slice(0, LONGEST);
  return joined.replace(/^[-_]+|[-_]+$/g, "") || (title.trim() && NAMELESS);
}

const title = document.querySelector("#id_title");
const slug = document.querySelector("#id_slug");
if (title instanceof HTMLInputElement && slug instanceof HTMLInputElement) {
  const follow = () => {
    slug.placeholder = shortName(title.value);
  };
  title.addEventListener("input", follow);
  follow();
}
