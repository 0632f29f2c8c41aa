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

const QUESTIONS = ["bot_opinion", "topic_change"];

/** @param {string} name  @returns {HTMLInputElement[]} its radio buttons */
const radiosOf = (name) =>
  [...form.querySelectorAll("input[type=radio]")]
    .map((radio) => /** @type {HTMLInputElement} */ (radio))
    .filter((radio) => radio.name === name);

/** Mark a question as unanswered, or clear the mark. @param {string} name  @param {boolean} isMissing */
function markQuestion(name, isMissing) {
  const [first] = radiosOf(name);
  const group = first?.closest("fieldset");
  group?.classList.toggle("missing", isMissing);
  if (isMissing) group?.setAttribute("aria-describedby", `${name}-missing`);
  else group?.removeAttribute("aria-describedby");
}

form.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement) || target.type !== "radio") return;
  keep(target.name, target.value);
  markQuestion(target.name, false);
});
for (const name of QUESTIONS) {
  const radios = form.elements.namedItem(name);
  if (radios instanceof RadioNodeList && answers[name]) radios.value = answers[name];
}

/** Mark every control without an answer. @returns {HTMLElement | undefined} the first of them */
function markMissing() {
  const questions = QUESTIONS.filter((name) => !radiosOf(name).some((radio) => radio.checked));
  for (const name of questions) markQuestion(name, true);
  const missing = ranges.filter((range) => fieldOf(range).value === "");
  for (const range of missing) {
    range.setAttribute("aria-invalid", "true");
    range.closest(".statement")?.classList.add("missing");
  }
  return questions.length > 0 ? radiosOf(questions[0])[0] : missing[0];
}

form.addEventListener("submit", (event) => {
  const missing = markMissing();
  byId("problem").textContent = missing ? gettext("Please answer everything. Unanswered questions are marked.") : "";
  if (!missing) return;
  event.preventDefault();
  missing.focus();
  missing.scrollIntoView({ block: "center" });
});
