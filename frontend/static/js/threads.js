// @ts-check
/** Words of a thread that are not sent yet are kept in this browser until the page says that they are stored. */

const holder = /** @type {HTMLElement} */ (document.querySelector("[data-threads]"));
const forms = /** @type {HTMLFormElement[]} */ ([...document.querySelectorAll("form[data-draft]")]);

/** @typedef {{ id: string, text: string }} Kept */

/** @param {HTMLFormElement} form */
const keyOf = (form) => `lapidary-thread:${holder.dataset.owner}:${form.dataset.draft}`;
/** @param {HTMLFormElement} form */
const fieldOf = (form) => /** @type {HTMLTextAreaElement} */ (form.querySelector("textarea"));
/** @param {HTMLFormElement} form */
const idOf = (form) => /** @type {HTMLInputElement} */ (form.querySelector("[name=id]"));

/** @param {HTMLFormElement} form */
function keep(form) {
  const text = fieldOf(form).value;
  try {
    if (text) localStorage.setItem(keyOf(form), JSON.stringify({ id: idOf(form).value, text }));
    else localStorage.removeItem(keyOf(form));
  } catch {
    // A browser that keeps nothing: the words stay on the page.
  }
}

/** With its id, so that a message that was stored and whose answer was lost is not stored twice. @param {HTMLFormElement} form */
function restore(form) {
  try {
    /** @type {Kept | null} */
    const kept = JSON.parse(localStorage.getItem(keyOf(form)) ?? "null");
    if (!kept) return;
    if (kept.id === holder.dataset.stored) {
      localStorage.removeItem(keyOf(form));
      return;
    }
    fieldOf(form).value ||= kept.text;
    idOf(form).value = kept.id;
  } catch {
    // Nothing was kept.
  }
}

for (const form of forms) {
  restore(form);
  form.addEventListener("input", () => keep(form));
}
document.documentElement.dataset.ready = "true";
