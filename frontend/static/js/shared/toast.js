// @ts-check
/**
 * Short notes at the edge of the page, read aloud politely. Good news leaves by itself; bad news stays.
 * The words that this module says itself stand in data-* of #toasts, where the template translates them.
 */

const STAY_MS = 6000;

/** @typedef {{ label: string, run: () => void }} Action  for example Undo */

/**
 * @param {string} text
 * @param {{ tone?: "good" | "warn" | "bad" | "", action?: Action, stay?: boolean }} [options]
 * @returns {() => void} takes the note away
 */
export function toast(text, { tone = "", action, stay = tone === "bad" } = {}) {
  const region = document.getElementById("toasts");
  if (!region) return () => {};
  const note = document.createElement("div");
  note.className = `toast ${tone}`;
  const words = document.createElement("span");
  words.textContent = text;
  words.dir = "auto";
  const remove = () => note.remove();
  note.append(words, ...(action ? [createNoteButton(action.label, removeAndRun(action, remove))] : []));
  note.append(createNoteButton("×", remove, region.dataset.close));
  const same = [...region.children].find((one) => one.textContent === note.textContent);
  if (same && stay && !action) return () => same.remove(); // screen readers do not repeat it
  same?.remove();
  region.append(note);
  if (!stay) removeLater(note);
  return remove;
}

/** @param {Action} action  @param {() => void} remove */
function removeAndRun(action, remove) {
  return () => {
    remove();
    action.run();
  };
}

/** @param {string} text  @param {() => void} run  @param {string} [label] */
function createNoteButton(text, run, label) {
  const control = document.createElement("button");
  control.type = "button";
  control.className = "button quiet";
  control.textContent = text;
  if (label) control.setAttribute("aria-label", label);
  control.addEventListener("click", run);
  return control;
}

/** A note stays while it is pointed at or has the focus. @param {HTMLElement} note */
function removeLater(note) {
  setTimeout(() => (note.matches(":hover, :focus-within") ? removeLater(note) : note.remove()), STAY_MS);
}

/** @param {Event} event  HX-Trigger: {"toast": {"text": …, "tone": …}} */
function onServerToast(event) {
  const { text, tone } = /** @type {CustomEvent} */ (event).detail;
  toast(text, { tone });
}

/** A part that polls fails again and again: it is reported once, until a request succeeds. */
let isFailing = false;

/** @param {Event} event */
function onFailure(event) {
  const region = document.getElementById("toasts");
  /** @type {XMLHttpRequest | undefined} */
  const request = /** @type {CustomEvent} */ (event).detail.xhr;
  if (request?.getResponseHeader("HX-Trigger")?.includes("toast")) return; // the server sent its own toast
  const isAsked = /** @type {CustomEvent} */ (event).detail.requestConfig?.triggeringEvent;
  if (isFailing && !isAsked) return;
  isFailing = true;
  const reached = event.type === "htmx:responseError";
  const words = reached ? region?.dataset.failed : region?.dataset.unreachable;
  toast(reached ? `${words} (${request?.status})` : (words ?? ""), { tone: "bad" });
}

document.addEventListener("toast", onServerToast);
document.addEventListener("htmx:afterOnLoad", () => {
  isFailing = false;
});
for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) document.addEventListener(name, onFailure);
