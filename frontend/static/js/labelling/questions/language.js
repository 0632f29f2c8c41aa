// @ts-check
/** The language in which questions are drawn: the page's own, or the other one in the preview of a schema. */
import { PAGE_MESSAGES } from "../../shared/messages.js";

/**
 * @typedef {import("./answer_sheet.js").Question} Question
 * @typedef {import("./answer_sheet.js").Value} Value
 * @typedef {import("../../shared/messages.js").Messages & { code: "en" | "zh" }} Language
 */

/** @type {Language} */
export const PAGE_LANGUAGE = {
  code: document.documentElement.lang.startsWith("zh") ? "zh" : "en",
  ...PAGE_MESSAGES,
};

/** @param {import("./answer_sheet.js").Text | null | undefined} text  @param {Language} language */
export const textIn = (text, language) => text?.[language.code] ?? "";

/**
 * An answer as people read it.
 * @param {Question} question  @param {Value | undefined} value  @param {Language} [language]
 */
export function answerText({ kind, options = [] }, value, language = PAGE_LANGUAGE) {
  if (value === undefined) return language.gettext("not answered");
  const optionText = (/** @type {number | string} */ chosen) => {
    const option = options.find((candidate) => candidate.value === chosen);
    return option ? textIn(option.text, language) : String(chosen);
  };
  if (Array.isArray(value)) return value.map(optionText).join(language.code === "zh" ? "、" : ", ");
  return kind === "text" ? value.toString() : optionText(value);
}
