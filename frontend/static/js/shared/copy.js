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

/** @param {Element} source  whose text is copied  @param {string} copied  the toast shown then */
export async function copyTextOf(source, copied) {
  try {
    await navigator.clipboard.writeText(source.textContent ?? "");
    toast(copied);
  } catch {
    selectText(source);
  }
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-copy]") : null;
  if (!(button instanceof HTMLElement)) return;
  const source = document.querySelector(button.dataset.copy ?? "");
  if (source) void copyTextOf(source, button.dataset.copied ?? "");
});
