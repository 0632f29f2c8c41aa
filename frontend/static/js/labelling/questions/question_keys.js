// @ts-check
/**
 * The keys that answer the active question: digits and letters of its options, Enter, and those of a slider.
 *
 * The other keys of the labelling page (next, clear, submit, skip…) stand on their controls in the templates keys.html and
 * workbench.html, where shared/keys.js presses them.
 */
import { isComposing, isTyping } from "../../shared/keys.js";

/**
 * @typedef {import("./answer_sheet.js").Question} Question
 * @typedef {import("./answer_sheet.js").Slot} Slot
 * @typedef {import("./questions.js").Questions} Questions
 */

const TYPED_NUMBER_MS = 1000;
const PAGE_STEP = 10;

/** Gives keys to the active question, before the page's own shortcuts see them. */
export class QuestionKeys {
  #slider = new SliderKeys();

  /** @param {Questions} questions  @param {HTMLElement | Document} keyboard  the element that hears the keys */
  constructor(questions, keyboard) {
    this.questions = questions;
    keyboard.addEventListener("keydown", (event) => this.#onKey(/** @type {KeyboardEvent} */ (event)), true);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const slot = this.questions.active;
    const isFree = !event.defaultPrevented && !isComposing(event) && !document.querySelector("dialog:modal");
    if (!isFree || !slot || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = /** @type {Element} */ (event.target);
    if (isTyping(target)) {
      if (event.key === "Escape" && this.questions.leaveField(target)) event.preventDefault();
    } else if (!event.repeat || slot.question.kind === "slider") {
      if (this.#take(slot, event.key.toLowerCase(), target)) event.preventDefault();
    }
  }

  /** @param {Slot} slot  @param {string} key  @param {Element} target  @returns {boolean} whether the key was used */
  #take(slot, key, target) {
    if (key === "enter") return this.#onEnter(slot, target);
    if (slot.question.kind === "slider") return this.#slide(slot, key);
    const place = slot.keys.indexOf(key);
    if (place < 0 || key === "") return false;
    if (!this.questions.isClosed(slot)) this.questions.choose(slot, slot.options[place].value);
    return true;
  }

  /** Enter goes to the next question; on a link or another button it presses that. @param {Slot} slot  @param {Element} target */
  #onEnter(slot, target) {
    const control = target.closest("a, button, summary");
    if (control && !control.matches(".option")) return false;
    const isEmptyText = slot.question.kind === "text" && this.questions.valueAt(slot.path) === undefined;
    if (isEmptyText) this.questions.activate(slot, { focus: true });
    else this.questions.goOn(slot);
    return true;
  }

  /** @param {Slot} slot  @param {string} key */
  #slide(slot, key) {
    const now = /** @type {number | undefined} */ (this.questions.valueAt(slot.path));
    const value = this.#slider.valueFor(slot.question, key, now);
    if (value !== undefined) this.questions.answer(slot, value);
    return value !== undefined;
  }
}

/** The number that a key gives; digits within a second of each other are one number. */
class SliderKeys {
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
