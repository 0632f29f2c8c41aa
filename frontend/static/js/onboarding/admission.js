// @ts-check
/**
 * One dialogue of an admission test, the right answers of one, or a dispute: the questions as in the workbench, sent as
 * a form. What is answered and not sent is kept in this tab's browser until the next page says that it is stored.
 */
import { Questions, questionCommands, wireCommands } from "../labelling/questions/questions.js";
import { gettext } from "../shared/page.js";

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const data = JSON.parse(byId("workbench").textContent ?? "");
const form = /** @type {HTMLFormElement} */ (byId("sending"));
const field = /** @type {HTMLInputElement} */ (byId("answers"));
/** @type {NodeListOf<HTMLTextAreaElement>} */
const texts = document.querySelectorAll("textarea[form=sending]");
const person = /** @type {HTMLElement | null} */ (document.getElementById("outbox"))?.dataset.user;
const keptAs = `lapidary-test:${person}:${data.kept}`;
/** The answers the page began with: kept answers are dropped if somebody stored others since. */
const begun = JSON.stringify([data.answers, [...texts].map(({ defaultValue }) => defaultValue)]);

const questions = new Questions({
  turns: byId("turns"),
  panel: byId("questions"),
  decidedText: data.spread ? gettext("settled") : undefined,
  onChange: keepAnswers,
  onActive: (slot) => byId("panes").toggleAttribute("data-beside", slot !== null && slot.position !== null),
  onDone: () => (firstMissingText() ?? form.querySelector("button"))?.focus({ preventScroll: true }),
});

/** The first required text that is empty. */
function firstMissingText() {
  return [...texts].find(({ required, value }) => required && !value.trim());
}

function keepAnswers() {
  const written = Object.fromEntries([...texts].map(({ name, value }) => [name, value]));
  try {
    sessionStorage.setItem(keptAs, JSON.stringify({ begun, answers: questions.answers, written }));
  } catch {
    // A browser that keeps nothing: the answers stay on the page.
  }
}

function readKeptAnswers() {
  try {
    const found = JSON.parse(sessionStorage.getItem(keptAs) ?? "null");
    return found?.begun === begun ? found : null;
  } catch {
    return null;
  }
}

form.addEventListener("submit", (event) => {
  const isRetiring = event.submitter?.hasAttribute("data-retire");
  const [first] = data.isOpen && !isRetiring ? questions.missing() : [];
  if (first) {
    event.preventDefault();
    questions.goTo(first.path, gettext("Please answer this question."));
    return;
  }
  const text = data.isOpen && !isRetiring ? firstMissingText() : undefined;
  if (text) {
    event.preventDefault();
    text.setAttribute("aria-invalid", "true");
    text.focus();
    return;
  }
  field.value = JSON.stringify(questions.answers);
});

if (!data.isOpen) sessionStorage.removeItem(keptAs);
const before = data.isOpen ? readKeptAnswers() : null;
for (const text of texts) {
  text.value = before?.written?.[text.name] ?? text.value;
  text.addEventListener("input", () => {
    text.removeAttribute("aria-invalid");
    keepAnswers();
  });
}
questions.show({
  schema: data.schema,
  utterances: data.utterances,
  lang: data.lang,
  answers: before?.answers ?? data.answers ?? undefined,
  differences: data.differences ?? [],
  spread: data.spread ?? null,
  isOpen: data.isOpen,
});
byId("panes").hidden = false;
if (data.isOpen) questions.begin();
else byId("next").focus({ preventScroll: true });
wireCommands({ ...questionCommands(questions), theirs: () => questions.takeNextOfSpread() });
document.documentElement.dataset.ready = "true";
