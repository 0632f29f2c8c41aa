// @ts-check
/**
 * The questions of a schema over a dialogue: those about utterances beside them, the others in a panel. Drawn from
 * (schema content, utterances, answers) alone, so that a schema can be tried before it is used.
 *
 * One question is active: it has the frame, shows its keys, and takes them (question_keys.js). Only what an answer
 * changes is drawn again.
 */
import { AnswerSheet, crowdedGoals, toggleOption } from "./answer_sheet.js";
import { QuestionKeys } from "./question_keys.js";
import { QuestionsView, speakerName } from "./questions_view.js";
import { PAGE_LANGUAGE } from "./slot_view.js";

/**
 * @typedef {import("./answer_sheet.js").Answers} Answers
 * @typedef {import("./answer_sheet.js").Option} Option
 * @typedef {import("./answer_sheet.js").Question} Question
 * @typedef {import("./answer_sheet.js").Slot} Slot
 * @typedef {import("./answer_sheet.js").Value} Value
 */

export class Questions {
  /** @type {Slot | null} */
  #active = null;
  #isGuidelineOpen = false;
  #view = new QuestionsView(this);
  sheet = new AnswerSheet({ schema: { questions: [] }, utterances: [] });
  language = PAGE_LANGUAGE;

  /**
   * @param {{ turns: HTMLElement, panel: HTMLElement, keyboard?: HTMLElement | Document, decidedText?: string,
   *   onChange?: (path: string, value: Value | undefined) => void, onActive?: (slot: Slot | null) => void,
   *   onDone?: () => void }} options
   *   turns: an <ol>; keyboard: whose keys are heard; decidedText: shown for a difference that was decided; onDone: all is
   *   answered
   */
  constructor(options) {
    this.options = options;
    const { keyboard = document, turns, panel } = options;
    new QuestionKeys(this, keyboard);
    for (const holder of [turns, panel]) holder.addEventListener("focusin", (event) => this.#onFocus(event));
  }

  // ---- what is shown -----------------------------------------------------------------------------------------------

  /** @param {import("./answer_sheet.js").Exercise} exercise */
  show(exercise) {
    this.sheet = new AnswerSheet(exercise);
    this.#active = null;
    this.#view.draw(exercise.lang ?? "");
  }

  /** Begin with the first open question. @param {{ focus?: boolean }} [how] */
  begin({ focus = true } = {}) {
    this.activate(this.sheet.nextOpen(-1), { focus });
    if (!this.#active) this.options.onDone?.();
  }

  get answers() {
    return this.sheet.answers;
  }

  get active() {
    return this.#active;
  }

  /** @param {string} path */
  valueAt(path) {
    return this.sheet.valueAt(path);
  }

  /** Required answers that are missing. */
  missing() {
    return this.sheet.missing();
  }

  /** Whether an answer cannot be changed. @param {Slot} slot */
  isClosed(slot) {
    return slot.isFixed || !this.sheet.isOpen;
  }

  /** Replace the answers. @param {Answers} answers */
  load(answers) {
    this.sheet.load(answers);
    this.#view.paintAll();
  }

  /** Names of speakers with more goal nuggets than are counted. @returns {{ speaker: string, n: number }[]} */
  crowdedGoals() {
    const { schema, utterances } = this.sheet;
    const keys = schema.questions.filter(({ runs }) => runs).map(({ key }) => key);
    const goals = keys.flatMap((key) =>
      crowdedGoals(utterances, (position) => {
        const label = this.sheet.utteranceValue(position, key);
        const options = label === undefined ? [] : (this.sheet.slotAt(`${position}/${key}`)?.options ?? []);
        return options.find(({ value }) => value === label);
      }),
    );
    return goals.map(({ speaker, n }) => ({ speaker: speakerName(speaker, this.language), n }));
  }

  // ---- answering ---------------------------------------------------------------------------------------------------

  /** @param {Slot} slot  @param {Value | undefined} value */
  answer(slot, value) {
    if (this.isClosed(slot)) return;
    this.#view.repaintAfter(slot, () => this.sheet.answer(slot, value));
    this.options.onChange?.(slot.path, value);
  }

  /** Toggle one of several options, or choose the only one and go to the next question. @param {Slot} slot  @param {number | string} value */
  choose(slot, value) {
    const now = this.valueAt(slot.path);
    if (slot.question.kind === "choices") {
      this.activate(slot);
      this.answer(slot, toggleOption(slot, now, value));
      return;
    }
    if (now !== value || this.sheet.differs(slot)) this.answer(slot, value);
    this.goOn(slot);
  }

  /** Clear the active answer. */
  clear() {
    if (this.#active && this.valueAt(this.#active.path) !== undefined) this.answer(this.#active, undefined);
  }

  /** Undo the last answer. @returns {boolean} whether there was one */
  undo() {
    const slot = this.sheet.lastAnswered;
    if (!slot) return false;
    this.#view.repaintAfter(slot, () => this.sheet.undo());
    this.options.onChange?.(slot.path, this.sheet.givenValue(slot));
    this.activate(slot, { focus: true });
    return true;
  }

  /** Take the other person's answer. @param {Slot | null} [slot] */
  takeTheirs(slot = this.#active) {
    const theirs = slot && this.sheet.otherAnswers(slot);
    if (!theirs) return;
    this.answer(slot, this.sheet.valueIn(theirs.answers, slot));
    this.goOn(slot);
  }

  /** For a trainer who decides: take one person's answer; the next call takes the next person's. */
  takeNextOfSpread() {
    const slot = this.#active;
    const given = (slot && this.sheet.spread?.[slot.path]) ?? [];
    if (!slot || given.length === 0) return;
    const now = JSON.stringify(this.valueAt(slot.path) ?? null);
    const place = given.findIndex(({ value }) => JSON.stringify(value) === now);
    this.answer(slot, given[(place + 1) % given.length].value ?? undefined);
  }

  /** @param {Slot | null} [slot] */
  keepMine(slot = this.#active) {
    if (!slot || !this.sheet.differs(slot)) return;
    this.answer(slot, this.sheet.givenValue(slot));
    this.goOn(slot);
  }

  // ---- moving ------------------------------------------------------------------------------------------------------

  /** Go to the next open question. @param {Slot | null} [slot] */
  goOn(slot = this.#active) {
    const next = this.sheet.nextOpen(slot?.index ?? -1);
    this.activate(next, { focus: true });
    if (!next) this.options.onDone?.();
  }

  /** @param {1 | -1} step */
  move(step) {
    const from = this.#active?.index ?? (step > 0 ? -1 : this.sheet.slots.length);
    const next = this.sheet.neighbour(from, step);
    if (next) this.activate(next, { focus: true, type: false });
  }

  /** @param {string} path  @param {string} [problem]  what is wrong there */
  goTo(path, problem = "") {
    const slot = this.sheet.slotAt(path);
    if (!slot) return;
    this.activate(slot, { focus: true });
    this.#view.showProblem(slot, problem);
  }

  /**
   * @param {Slot | null} slot
   * @param {{ focus?: boolean, type?: boolean }} [how]  type: put the cursor into a text, if it is one
   */
  activate(slot, { focus = false, type = true } = {}) {
    if (slot !== this.#active) {
      if (this.#active) this.#view.deactivate(this.#active);
      this.#active = slot;
      if (slot) this.#view.activate(slot);
      if (slot && this.#isGuidelineOpen) this.#view.showGuideline(slot);
      this.options.onActive?.(slot);
    }
    if (slot && focus) this.#view.focus(slot, type);
  }

  /** Activate the question that has the focus. @param {Event} event */
  #onFocus(event) {
    const home = /** @type {Element} */ (event.target).closest("section[data-path]");
    const slot = home instanceof HTMLElement ? this.sheet.slotAt(home.dataset.path ?? "") : undefined;
    if (slot) this.activate(slot);
  }

  /** Move the focus from a field to its question. @param {Element} field  @returns {boolean} */
  leaveField(field) {
    return this.#active !== null && this.#view.leaveField(this.#active, field);
  }

  /** Show all of the active utterance's text. */
  expandText() {
    this.#view.expandText(this.#active?.position ?? null);
  }

  // ---- guidelines --------------------------------------------------------------------------------------------------

  toggleGuideline() {
    this.#isGuidelineOpen = !this.#isGuidelineOpen;
    if (!this.#active) return;
    if (this.#isGuidelineOpen) this.#view.showGuideline(this.#active);
    else this.#view.hideGuideline(this.#active);
  }
}

// ---- keys -----------------------------------------------------------------------------------------------------------

/** What the controls of keys.html do to the active question. @param {Questions} questions  @returns {Record<string, () => unknown>} */
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

/** @param {Record<string, () => unknown>} commands  by the value of data-command */
export function wireCommands(commands) {
  for (const control of document.querySelectorAll("[data-command]")) {
    control.addEventListener("click", () => void commands[control.getAttribute("data-command") ?? ""]?.());
  }
}
