// @ts-check
/** Sliders without a value until they are touched or set with a key; Submit leads to the first that has none. */
import { byId, gettext } from "../shared/page.js";
import { Memory } from "./memory.js";

const form = /** @type {HTMLFormElement} */ (byId("ratings"));
const memory = new Memory(`ratings.${form.dataset.store}`);
const ranges = [.../** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("input[type=range]"))];
/** @type {Record<string, string>} */
const answers = memory.read("answers", {});

/** @param {HTMLInputElement} range  @returns {HTMLInputElement} the field that is sent */
const fieldOf = (range) => /** @type {HTMLInputElement} */ (form.elements.namedItem(range.dataset.field ?? ""));

/** @param {HTMLInputElement} range  @param {string} value */
function set(range, value) {
  range.value = value;
  range.classList.remove("unset");
  range.removeAttribute("aria-valuetext");
  range.removeAttribute("aria-invalid");
  range.closest(".statement")?.classList.remove("missing");
  fieldOf(range).value = value;
}

/** @param {string} name  @param {string} value */
function keep(name, value) {
  answers[name] = value;
  memory.write("answers", answers);
}

for (const range of ranges) {
  const name = range.dataset.field ?? "";
  range.setAttribute("aria-valuetext", gettext("not answered"));
  if (answers[name] !== undefined) set(range, answers[name]);
  const answer = () => {
    set(range, range.value);
    keep(name, range.value);
  };
  // "pointerup" too: a press on the invisible middle changes nothing. Space and Enter take the middle by key.
  for (const kind of ["input", "change", "pointerup"]) range.addEventListener(kind, answer);
  range.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    answer();
  });
}

form.addEventListener("change", ({ target }) => {
  if (target instanceof HTMLInputElement && target.type === "radio") keep(target.name, target.value);
});
for (const name of ["bot_opinion", "topic_change"]) {
  const radios = form.elements.namedItem(name);
  if (radios instanceof RadioNodeList && answers[name]) radios.value = answers[name];
}

/** @returns {HTMLElement | undefined} the first control without an answer */
function firstMissing() {
  for (const name of ["bot_opinion", "topic_change"]) {
    const radios = form.elements.namedItem(name);
    if (radios instanceof RadioNodeList && !radios.value) return /** @type {HTMLElement} */ (radios[0]);
  }
  const missing = ranges.filter((range) => fieldOf(range).value === "");
  for (const range of missing) {
    range.setAttribute("aria-invalid", "true");
    range.closest(".statement")?.classList.add("missing");
  }
  return missing[0];
}

form.addEventListener("submit", (event) => {
  const missing = firstMissing();
  byId("problem").textContent = missing ? gettext("Please answer everything. The first open question is marked.") : "";
  if (!missing) return;
  event.preventDefault();
  missing.focus();
  missing.scrollIntoView({ block: "center" });
});
