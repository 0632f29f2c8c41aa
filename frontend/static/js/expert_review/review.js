// @ts-check
/**
 * The review workbench: moving between utterances, remarks, and no word lost. The form itself needs no script.
 * Reason and remarks are kept in this browser until the verdict is stored, which the next page says (data-judged).
 */
import { toast } from "../shared/toast.js";

const JUST_SHOWN_MS = 500; // a key pressed twice must not pass a dialogue that nobody has seen

const form = /** @type {HTMLFormElement} */ (document.getElementById("verdict"));
const reason = /** @type {HTMLTextAreaElement} */ (document.getElementById("reason"));
const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".turns > .turn")]);
const fields = /** @type {HTMLTextAreaElement[]} */ ([...form.querySelectorAll("textarea")]);
const shownAt = performance.now();

// ---- moving ----------------------------------------------------------------------------------------------------------

const currentPlace = () => rows.findIndex((row) => row.getAttribute("aria-current") === "true");

/** @param {HTMLElement | undefined} row */
function markRow(row) {
  for (const one of rows) one.removeAttribute("aria-current");
  row?.setAttribute("aria-current", "true");
}

/** @param {number} place */
function goTo(place) {
  const row = rows[Math.max(0, Math.min(place, rows.length - 1))];
  markRow(row);
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "nearest" });
}

/** Open the remark of the current utterance, or of the first one. */
function openRemark() {
  if (currentPlace() < 0) goTo(0);
  const details = rows[currentPlace()]?.querySelector("details");
  if (!details) return;
  details.open = true;
  details.querySelector("textarea")?.focus();
}

/** Leave a field; an empty remark is closed. */
function leaveField() {
  const field = document.activeElement;
  if (!(field instanceof HTMLTextAreaElement)) return;
  const row = field.closest(".turn");
  const details = field.closest("details");
  if (details && !field.value.trim()) details.open = false;
  goTo(row instanceof HTMLElement ? rows.indexOf(row) : Math.max(0, currentPlace()));
}

// ---- keeping words ---------------------------------------------------------------------------------------------------

/** @param {string | undefined} dialogue */
const keyOf = (dialogue) => `lapidary-review:${form.dataset.owner}:${dialogue}`;

function keepRemarks() {
  const changed = fields.filter((field) => field.value !== field.defaultValue);
  const words = Object.fromEntries(changed.map((field) => [field.name, field.value]));
  try {
    if (Object.keys(words).length > 0) localStorage.setItem(keyOf(form.dataset.dialogue), JSON.stringify(words));
    else localStorage.removeItem(keyOf(form.dataset.dialogue));
  } catch {
    // A browser that keeps nothing: the words stay on the page.
  }
}

/** Restore text that was typed here and not sent: it is newer than the server's. */
function restoreRemarks() {
  try {
    localStorage.removeItem(keyOf(form.dataset.judged));
    const words = JSON.parse(localStorage.getItem(keyOf(form.dataset.dialogue)) ?? "{}");
    for (const field of fields) {
      field.value = words[field.name] ?? field.value;
      const details = field.closest("details");
      if (details && field.value) details.open = true;
    }
  } catch {
    // Nothing was kept.
  }
}

// ---- sending ---------------------------------------------------------------------------------------------------------

/** @param {string} words */
function showProblem(words) {
  const problem = /** @type {HTMLElement} */ (form.querySelector("[data-problem]"));
  const text = problem.querySelector("p");
  if (text) text.textContent = words;
  problem.hidden = false;
  reason.setAttribute("aria-invalid", "true");
  reason.focus();
}

/** @param {SubmitEvent} event */
function onSubmit(event) {
  const verdict = event.submitter?.getAttribute("name") === "verdict" ? event.submitter.getAttribute("value") : null;
  if (!navigator.onLine) {
    event.preventDefault();
    toast(form.dataset.offline ?? "", { tone: "bad" });
  } else if (verdict && performance.now() - shownAt < JUST_SHOWN_MS) {
    event.preventDefault();
  } else if (verdict === "veto" && !fields.some((field) => field.value.trim())) {
    event.preventDefault();
    showProblem(form.dataset.needsWords ?? "");
  }
}

// ---- begin -----------------------------------------------------------------------------------------------------------

for (const button of form.querySelectorAll("[data-move]")) {
  button.addEventListener("click", () => goTo(currentPlace() + Number(button.getAttribute("data-move"))));
}
for (const button of form.querySelectorAll("[data-move], [data-remark]")) button.removeAttribute("hidden");
form.querySelector("[data-remark]")?.addEventListener("click", openRemark);
form.querySelector("[data-leave-field]")?.addEventListener("click", leaveField);
for (const row of rows) row.addEventListener("focusin", () => markRow(row));
form.addEventListener("input", keepRemarks);
form.addEventListener("submit", onSubmit);
restoreRemarks();
document.documentElement.dataset.ready = "true";
