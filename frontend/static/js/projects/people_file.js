// @ts-check
/** A chosen file of people fills the text field that data-fills names. Nothing is sent before the form is. */
import { gettext } from "../shared/page.js";
import { toast } from "../shared/toast.js";

const MAX_BYTES = 400_000;

/** Spreadsheets in Chinese often save GB 18030 instead of UTF-8. @param {ArrayBuffer} bytes */
function decode(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("gb18030").decode(bytes);
  }
}

document.addEventListener("change", async (event) => {
  const input = event.target;
  if (!(input instanceof HTMLInputElement) || !input.dataset.fills) return;
  const field = document.querySelector(input.dataset.fills);
  const file = input.files?.[0];
  if (!file || !(field instanceof HTMLTextAreaElement)) return;
  if (file.size > MAX_BYTES) {
    toast(gettext("This file is too large."), { tone: "bad" });
    return;
  }
  field.value = decode(await file.arrayBuffer());
  field.focus();
});
