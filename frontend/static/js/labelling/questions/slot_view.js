// @ts-check
/** One question on the page: its frame, where its answer is read, and where it is given. */
import { createButton, createElement, createKeyCap } from "../../shared/elements.js";
import { format } from "../../shared/messages.js";
import { hasGuideline } from "./guideline.js";
import { answerText, textIn } from "./language.js";
import { createOptionButtons, paintOptionButtons } from "./option_buttons.js";
import { createOtherAnswer, createSpread } from "./other_answers.js";
import { createSlider, paintSlider } from "./slider.js";
import { createTextField, paintTextField } from "./text_field.js";

/**
 * @typedef {import("./answer_sheet.js").Slot} Slot
 * @typedef {import("./answer_sheet.js").Value} Value
 * @typedef {import("./questions.js").Questions} Questions
 * @typedef {{ home: HTMLElement, face: HTMLElement, control: HTMLElement | null }} SlotView
 *   home: the frame; face: where the answer is read; control: where it is given, while that is on the page
 */

/** Beside an utterance: a chip; its control opens when it is active. @param {Questions} questions  @param {Slot} slot  @param {HTMLElement} row */
export function createUtteranceSlot(questions, slot, row) {
  const { runs } = slot.question;
  const main = /** @type {HTMLElement} */ (row.querySelector(".turn-main"));
  const chips = main.querySelector(".asks") ?? main.appendChild(createElement("div", "asks"));
  const face = createButton("chip", "", () => questions.activate(slot, { focus: true }));
  const home = createElement("div", runs ? "nugget" : "ask");
  home.dataset.path = slot.path;
  home.append(face, ...createSpread(questions.sheet.spread?.[slot.path] ?? []));
  (runs ? row : chips).append(home);
  return { home, face, control: null };
}

/** In the panel: the whole question. @param {Questions} questions  @param {Slot} slot  @returns {SlotView} */
export function createPanelSlot(questions, slot) {
  const home = createElement("section", "question");
  const head = createElement("div", "question-head");
  const title = createElement("h2", "", textIn(slot.question.text, questions.language));
  const face = createElement("span", "question-state");
  title.id = `question-${slot.question.key}`;
  home.tabIndex = -1;
  home.dataset.path = slot.path;
  home.setAttribute("role", "group");
  home.setAttribute("aria-labelledby", title.id);
  head.append(title, face);
  const control = createControl(questions, slot);
  home.append(head, ...createSpread(questions.sheet.spread?.[slot.path] ?? []), control);
  home.addEventListener("pointerdown", () => questions.activate(slot));
  return { home, face, control };
}

/** Where the answer is given. @param {Questions} questions  @param {Slot} slot */
export function createControl(questions, slot) {
  const { language, sheet } = questions;
  const { kind } = slot.question;
  const control = createElement("div", "control");
  const answer = (/** @type {Value | undefined} */ value) => questions.answer(slot, value);
  if (kind === "slider") control.append(createSlider(slot.question, language, answer));
  else if (kind === "text") control.append(createTextField(slot.question, language, answer));
  else control.append(createOptionButtons(slot, language, (value) => questions.choose(slot, value)));
  if (hasGuideline(slot.question))
    (control.querySelector(".options") ?? control).append(createGuidelineButton(questions, slot));
  if (sheet.differs(slot) && !sheet.spread) control.append(createOthers(questions, slot));
  return control;
}

/** @param {Questions} questions  @param {Slot} slot */
function createGuidelineButton(questions, slot) {
  const button = createButton("button quiet guide-button", questions.language.gettext("Guide"), () => {
    questions.activate(slot);
    questions.toggleGuideline();
  });
  button.append(createKeyCap("g"));
  button.setAttribute("aria-expanded", "false");
  return button;
}

/** @param {Questions} questions  @param {Slot} slot */
function createOthers(questions, slot) {
  const { sheet, language } = questions;
  const texts = sheet.others.map(({ answers }) => answerText(slot.question, sheet.valueIn(answers, slot), language));
  return createOtherAnswer(texts.join(" · "), language, {
    take: () => questions.takeTheirs(slot),
    keep: () => questions.keepMine(slot),
  });
}

// ---- drawing what an answer changes ----------------------------------------------------------------------------------

/** @param {Questions} questions  @param {Slot} slot  @param {SlotView} view */
export function paintSlot(questions, slot, view) {
  const { sheet } = questions;
  const value = sheet.valueAt(slot.path);
  view.home.hidden = !slot.isShown;
  view.home.toggleAttribute("data-answered", value !== undefined);
  view.home.toggleAttribute("data-fixed", slot.isFixed);
  view.home.toggleAttribute("data-differs", sheet.differs(slot) && !sheet.isDecided(slot));
  if (slot.position === null) view.face.textContent = stateOf(questions, slot, value);
  else paintChip(questions, slot, /** @type {HTMLButtonElement} */ (view.face), value);
  if (view.control) paintControl(questions, slot, view.control);
}

/** @param {Questions} questions  @param {Slot} slot  @param {HTMLElement} control */
export function paintControl(questions, slot, control) {
  const value = questions.sheet.valueAt(slot.path);
  const isClosed = questions.isClosed(slot);
  paintOptionButtons(control, slot, value, isClosed);
  paintSlider(control, value, isClosed, questions.language);
  paintTextField(control, value, isClosed);
}

/** @param {Questions} questions  @param {Slot} slot  @param {HTMLButtonElement} chip  @param {Value | undefined} value */
function paintChip(questions, slot, chip, value) {
  const { language } = questions;
  const question = textIn(slot.question.text, language);
  const answer = answerText(slot.question, value, language);
  const label = slot.question.runs ? [] : [createElement("span", "chip-label", question)];
  const shown = value === undefined ? createElement("b", "unset", "–") : createElement("b", "", answer);
  chip.replaceChildren(...label, shown, ...signsOf(questions, slot));
  const values = { question, n: Number(slot.position) + 1, answer };
  chip.setAttribute("aria-label", format(language.gettext("{question}, utterance {n}: {answer}"), values));
  chip.disabled = questions.isClosed(slot);
}

/** @param {Questions} questions  @param {Slot} slot */
function signsOf(questions, slot) {
  const { sheet, language } = questions;
  if (slot.isFixed) return [createElement("small", "sign follows", language.gettext("follows from the other answers"))];
  if (!sheet.differs(slot)) return [];
  const className = sheet.isDecided(slot) ? "sign decided" : "sign differs";
  return [createElement("small", className, differenceText(questions, slot))];
}

/** @param {Questions} questions  @param {Slot} slot */
function differenceText({ sheet, language, options }, slot) {
  if (!sheet.isDecided(slot)) return language.gettext("differs");
  return options.decidedText ?? language.gettext("decided");
}

/** @param {Questions} questions  @param {Slot} slot  @param {Value | undefined} value */
function stateOf(questions, slot, value) {
  const { sheet, language } = questions;
  if (sheet.differs(slot)) return differenceText(questions, slot);
  if (slot.isFixed) return language.gettext("follows from the other answers");
  if (value !== undefined || !sheet.isOpen) return "";
  if (!slot.isShown || !sheet.isRequired(slot)) return language.gettext("optional");
  return slot.question.kind === "choices" ? language.gettext("any number, then Enter") : "";
}
