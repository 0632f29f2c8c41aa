// @ts-check
/** Words of a thread that are not sent yet are kept in this browser until the page says that they are stored. */
import { uuid } from "../shared/api.js";

const holder = /** @type {HTMLElement} */ (document.querySelector("[data-threads]"));
const forms = /** @type {HTMLFormElement[]} */ ([...document.querySelectorAll("form[data-draft]")]);

/** @typedef {{ id: string, text: string }} Kept */

/** @param {HTMLFormElement} form */
const keyOf = (form) => `lapidary-thread:${holder.dataset.owner}:${form.dataset.draft}`;
/** @param {HTMLFormElement} form */
const fieldOf = (form) => /** @type {HTMLTextAreaElement} */ (form.querySelector("textarea"));
/** @param {HTMLFormElement} form */
const idOf = (form) => /** @type {HTMLInputElement} */ (form.querySelector("[name=id]"));

/** Drafts that may have been sent before this page was opened. @type {WeakMap<HTMLFormElement, Kept>} */
const restoredDrafts = new WeakMap();

/** @param {HTMLFormElement} form */
function keepText(form) {
  const text = fieldOf(form).value;
  const before = restoredDrafts.get(form);
  // Other words are another message: under the old id the server would take them for what it has stored.
  if (before && idOf(form).value === before.id && text !== before.text) idOf(form).value = uuid();
  try {
    if (text) localStorage.setItem(keyOf(form), JSON.stringify({ id: idOf(form).value, text }));
    else localStorage.removeItem(keyOf(form));
  } catch {
    // A browser that keeps nothing: the words stay on the page.
  }
}

/** Restore a draft with its id, so that a message whose answer was lost is not stored twice. @param {HTMLFormElement} form */
function restoreText(form) {
  try {
    /** @type {Kept | null} */
    const kept = JSON.parse(localStorage.getItem(keyOf(form)) ?? "null");
    if (!kept) return;
    if (kept.id === holder.dataset.stored) {
      localStorage.removeItem(keyOf(form));
      return;
    }
    fieldOf(form).value ||= kept.text;
    if (fieldOf(form).value !== kept.text) return;
    idOf(form).value = kept.id;
    restoredDrafts.set(form, kept);
  } catch {
    // Nothing was kept.
  }
}

for (const form of forms) {
  restoreText(form);
  form.addEventListener("input", () => keepText(form));
}
document.documentElement.dataset.ready = "true";
