// @ts-check
/** Questions answered in words. */
import { createElement } from "../../shared/elements.js";
import { textIn } from "./language.js";

const MAX_LENGTH = 10_000;

/**
 * @param {import("./answer_sheet.js").Question} question  @param {import("./language.js").Language} language
 * @param {(text: string | undefined) => void} answer
 */
export function createTextField(question, language, answer) {
  const field = createElement("textarea");
  field.rows = 2;
  field.dir = "auto";
  field.maxLength = question.max_length ?? MAX_LENGTH;
  field.setAttribute("aria-label", textIn(question.text, language));
  field.addEventListener("input", () => answer(field.value.trim() ? field.value : undefined));
  return field;
}

/** What the person is typing is not replaced. @param {HTMLElement} control  @param {import("./answer_sheet.js").Value | undefined} value  @param {boolean} isClosed */
export function paintTextField(control, value, isClosed) {
  const field = control.querySelector("textarea");
  if (!field) return;
  if (field !== document.activeElement) field.value = String(value ?? "");
  field.readOnly = isClosed;
}
