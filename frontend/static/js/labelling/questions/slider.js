// @ts-check
/** Questions answered with a number on a slider, by pointer, arrow keys or typed digits. */
import { createElement } from "../../shared/elements.js";
import { textIn } from "./language.js";

/**
 * @typedef {import("./answer_sheet.js").Question} Question
 * @typedef {import("./answer_sheet.js").Value} Value
 * @typedef {import("./language.js").Language} Language
 */

const TYPED_NUMBER_MS = 1000;
const PAGE_STEP = 10;

/** @param {Question} question  @param {Language} language  @param {(value: number) => void} answer */
export function createSlider({ min = 0, max = 100, low, high, text }, language, answer) {
  const row = createElement("div", "slider");
  const range = createElement("input");
  Object.assign(range, { type: "range", min: String(min), max: String(max), step: "1" });
  range.setAttribute("aria-label", textIn(text, language));
  // "pointerup" too: if the pointer meets the invisible start value, nothing changes.
  for (const name of ["input", "change", "pointerup"]) range.addEventListener(name, () => answer(Number(range.value)));
  row.append(
    createElement("span", "", textIn(low, language)),
    range,
    createElement("span", "", textIn(high, language)),
    createElement("output"),
  );
  return row;
}

/** @param {HTMLElement} control  @param {Value | undefined} value  @param {boolean} isClosed  @param {Language} language */
export function paintSlider(control, value, isClosed, language) {
  const range = control.querySelector("input");
  const output = control.querySelector("output");
  if (!range || !output) return;
  range.classList.toggle("unset", value === undefined);
  if (value !== undefined) range.value = String(value);
  range.setAttribute("aria-valuetext", value === undefined ? language.gettext("not answered") : String(value));
  range.disabled = isClosed;
  output.textContent = value === undefined ? "–" : String(value);
}

/** The number that a key gives; digits within a second of each other are one number. */
export class SliderKeys {
  #typed = { at: 0, text: "" };

  /** @param {Question} question  @param {string} key  @param {number | undefined} value  @returns {number | undefined} */
  valueFor({ min = 0, max = 100 }, key, value) {
    const from = value ?? Math.round((min + max) / 2);
    /** @type {Record<string, number>} */
    const targets = {
      ...{ arrowleft: from - 1, arrowright: from + 1, pagedown: from - PAGE_STEP, pageup: from + PAGE_STEP },
      ...{ home: min, end: max },
    };
    const target = /^[0-9]$/.test(key) ? this.#type(key, max) : targets[key];
    return target === undefined ? undefined : Math.max(min, Math.min(max, target));
  }

  /** @param {string} digit  @param {number} max */
  #type(digit, max) {
    const isContinued = performance.now() - this.#typed.at < TYPED_NUMBER_MS && Number(this.#typed.text + digit) <= max;
    this.#typed = { at: performance.now(), text: isContinued ? this.#typed.text + digit : digit };
    return Number(this.#typed.text);
  }
}
