// @ts-check
/** The guideline of a question: its own text, and what each option means, with examples. */
import { createElement } from "../../shared/elements.js";
import { textIn } from "./language.js";

/**
 * @typedef {import("./answer_sheet.js").Slot} Slot
 * @typedef {import("./language.js").Language} Language
 */

/** @param {import("./answer_sheet.js").Question} question */
export function hasGuideline({ guideline, options = [] }) {
  return Boolean(guideline) || options.some((option) => option.guideline || option.examples?.length);
}

/** @param {Slot} slot  @param {Language} language */
export function createGuideline({ question, options }, language) {
  const guide = createElement("div", "guide");
  if (question.guideline) guide.append(createElement("p", "", textIn(question.guideline, language)));
  const list = createElement("dl");
  for (const option of options) {
    if (!option.guideline && !option.examples?.length) continue;
    list.append(createElement("dt", "", textIn(option.text, language)), explanation(option, language));
  }
  if (list.childElementCount > 0) guide.append(list);
  return guide;
}

/** @param {import("./answer_sheet.js").Option} option  @param {Language} language */
function explanation({ guideline, examples = [] }, language) {
  const explained = createElement("dd", "", textIn(guideline, language));
  for (const example of examples) {
    const quote = createElement("q", "", textIn(example, language));
    quote.dir = "auto";
    explained.append(quote);
  }
  return explained;
}
