// @ts-check
/**
 * The keys of the questions, on every page that asks them.
 *
 * Keys of options, sliders and texts are read here: the active question takes them. The other keys of the labelling page
 * (next, clear, submit, skip…) stand on their controls in templates/labelling/keys.html and workbench.html, where
 * shared/shortcuts.js presses them; `wireCommands` says what a pressed [data-act] does.
 */
import { isComposing, isTyping, matches } from "../shared/shortcuts.js";
import { SliderKeys } from "./questions/slider.js";

/**
 * @typedef {import("./questions/answer_sheet.js").Option} Option
 * @typedef {import("./questions/answer_sheet.js").Slot} Slot
 * @typedef {import("./questions/questions.js").Questions} Questions
 */

const DIGITS = "123456789";
const LETTERS = "abcdfhilnopqrsuvwxyz0"; // without those of the page: e, g, j, k, m, t

/** A key for every option: its own, else the next free digit or letter. @param {Option[]} options */
export function keysForOptions(options) {
  const taken = new Set(options.map((option) => option.key?.toLowerCase()));
  const free = [...DIGITS, ...LETTERS].filter((key) => !taken.has(key));
  return options.map((option) => option.key?.toLowerCase() || (free.shift() ?? ""));
}

/** What the commands of keys.html do to the active question. @param {Questions} questions  @returns {Record<string, () => unknown>} */
export function questionCommands(questions) {
  return {
    next: () => questions.move(1),
    back: () => questions.move(-1),
    clear: () => questions.clear(),
    guide: () => questions.toggleGuideline(),
    expand: () => questions.expandText(),
    theirs: () => questions.takeTheirs(),
    mine: () => questions.keepMine(),
    undo: () => questions.undo(),
  };
}

/** @param {Record<string, () => unknown>} commands  by the value of data-act */
export function wireCommands(commands) {
  for (const control of document.querySelectorAll("[data-act]")) {
    control.addEventListener("click", () => void commands[control.getAttribute("data-act") ?? ""]?.());
  }
}

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

  /** Enter goes on; on a link or another button it presses that. @param {Slot} slot  @param {Element} target */
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

/** A text has its own undo, and Escape leaves it. @param {HTMLTextAreaElement} note  @param {{ isSubmitPending: boolean }} state */
export function wireNoteKeys(note, state) {
  document.getElementById("panes")?.addEventListener("keydown", (event) => {
    if (!isTyping(event.target)) return;
    if (matches(event, "mod+z") || matches(event, "mod+shift+z")) event.stopPropagation();
    if (event.key === "Escape" && event.target === note && !state.isSubmitPending) note.blur();
  });
}
