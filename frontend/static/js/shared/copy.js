// @ts-check
/** Buttons that copy: data-copy names the element whose text they take, data-copied is the toast shown then. */
import { toast } from "./toast.js";

/** Select the text, for browsers that do not allow pages to write to the clipboard. @param {Element} source */
function selectText(source) {
  const range = document.createRange();
  range.selectNodeContents(source);
  getSelection()?.removeAllRanges();
  getSelection()?.addRange(range);
}

document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-copy]") : null;
  if (!(button instanceof HTMLElement)) return;
  const source = document.querySelector(button.dataset.copy ?? "");
  if (!source) return;
  try {
    await navigator.clipboard.writeText(source.textContent ?? "");
    toast(button.dataset.copied ?? "");
  } catch {
    selectText(source);
  }
});
