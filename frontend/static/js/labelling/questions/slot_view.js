// @ts-check
/** One question on the page: its frame, where its answer is read, and where it is given. */
import { TOUCH } from "../../shared/keys.js";
import { createButton, createElement, createKeyCap, format, PAGE_MESSAGES } from "../../shared/page.js";

/**
 * @typedef {import("./answer_sheet.js").Option} Option
 * @typedef {import("./answer_sheet.js").PersonsAnswer} PersonsAnswer
 * @typedef {import("./answer_sheet.js").Question} Question
 * @typedef {import("./answer_sheet.js").Slot} Slot
 * @typedef {import("./answer_sheet.js").Value} Value
 * @typedef {import("./questions.js").Questions} Questions
 */

/**
 * The language in which questions are drawn: the page's own, or the other one in the preview of a schema.
 * @typedef {import("../../shared/page.js").Messages & { code: "en" | "zh" }} Language
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

// ---- frames ---------------------------------------------------------------------------------------------------------

/**
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
  else control.append(...createOptionButtons(slot, language, (value) => questions.choose(slot, value)));
  if (hasGuideline(slot.question)) {
    const chips = slot.position === null ? null : control.querySelector(".options:not(.as-columns, .as-rows)");
    (chips ?? control).append(createGuidelineButton(questions, slot)); // in the panel it stands beside the question
  }
  if (sheet.otherAnswers(slot)) control.append(createTheirAnswer(questions, slot));
  return control;
}

/** @param {Questions} questions  @param {Slot} slot */
function createGuidelineButton(questions, slot) {
  const button = createKeyButton("button quiet guide-button", questions.language.gettext("Guide"), "g", () => {
    questions.activate(slot);
    questions.toggleGuideline();
  });
  button.setAttribute("aria-expanded", "false");
  return button;
}

/** @param {Questions} questions  @param {Slot} slot */
function createTheirAnswer(questions, slot) {
  const { sheet, language } = questions;
  const texts = sheet.others.map(({ answers }) => answerText(slot.question, sheet.valueIn(answers, slot), language));
  return createOtherAnswer(texts.join(" · "), language, {
    take: () => questions.takeTheirs(slot),
    keep: sheet.differs(slot) ? () => questions.keepMine(slot) : undefined,
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
  view.home.toggleAttribute("data-unchecked", sheet.isUnchecked(slot));
  view.home.toggleAttribute("data-differs", sheet.differs(slot) && !sheet.isDecided(slot));
  if (slot.position === null) view.face.textContent = describeState(questions, slot, value);
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
  const option = slot.question.runs ? slot.options.find((it) => it.value === value) : undefined;
  const { words, code } = option ? splitCode(option, language) : { words: answer, code: "" };
  const answerElement = value === undefined ? createElement("b", "unset", "–") : createElement("b", "", words);
  if (code) answerElement.append(" ", createElement("small", "option-code", code));
  chip.replaceChildren(...label, answerElement, ...createSigns(questions, slot));
  const values = { question, n: Number(slot.position) + 1, answer };
  chip.setAttribute("aria-label", format(language.gettext("{question}, utterance {n}: {answer}"), values));
  chip.disabled = questions.isClosed(slot);
}

/** @param {Questions} questions  @param {Slot} slot */
function createSigns(questions, slot) {
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
function describeState(questions, slot, value) {
  const { sheet, language } = questions;
  if (sheet.differs(slot)) return differenceText(questions, slot);
  if (slot.isFixed) return language.gettext("follows from the other answers");
  if (sheet.isUnchecked(slot)) return language.gettext("not checked");
  if (value !== undefined || !sheet.isOpen) return "";
  if (!slot.isShown || !sheet.isRequired(slot)) return language.gettext("optional");
  if (slot.question.kind !== "choices") return "";
  return TOUCH.matches ? language.gettext("any number") : language.gettext("any number, then Enter");
}

// ---- options --------------------------------------------------------------------------------------------------------

const SHORT_LABEL = 26; // characters that fit into a column of a scale
const MOST_COLUMNS = 7;

/**
 * The options, and those that are not on their scale below them.
 * @param {Slot} slot  @param {Language} language  @param {(value: number | string) => void} choose
 */
function createOptionButtons(slot, language, choose) {
  const buttonOf = (/** @type {Option} */ option) =>
    createOptionButton(slot, option, language, () => choose(option.value));
  const [onScale, apart] = [false, true].map((isApart) => slot.options.filter((it) => Boolean(it.apart) === isApart));
  const list = createElement("div", "options");
  list.append(...onScale.map(buttonOf));
  if (isScale(slot.question.kind, onScale)) {
    const isShort = onScale.every((option) => splitCode(option, language).words.length <= SHORT_LABEL);
    list.classList.add(isShort && onScale.length <= MOST_COLUMNS ? "as-columns" : "as-rows");
    list.style.setProperty("--columns", String(onScale.length));
  }
  if (apart.length === 0) return [list];
  const below = createElement("div", "options apart");
  below.append(
    createElement("span", "options-title", language.gettext("Instead of a rating:")),
    ...apart.map(buttonOf),
  );
  return [list, below];
}

/** @param {string} kind  @param {Option[]} options */
function isScale(kind, options) {
  return kind === "scale" || (kind === "choice" && options.every(({ value }) => typeof value === "number"));
}

/** @param {Slot} slot  @param {Option} option  @param {Language} language  @param {() => void} choose */
function createOptionButton({ question, options, keys }, option, language, choose) {
  const place = options.indexOf(option);
  const button = createButton("option", "", (event) => {
    if (event.detail < 2) choose(); // after the first click of two, the next question may lie under the pointer
  });
  button.dataset.place = String(place);
  if (question.runs && option.nugget !== "none") button.classList.add("is-nugget", colourOf(options, option));
  if (keys[place]) {
    const cap = createKeyCap(keys[place]);
    cap.classList.toggle("number", /^\d+$/.test(keys[place]));
    button.append(cap);
    button.setAttribute("aria-keyshortcuts", keys[place]);
  }
  button.append(createOptionLabel(option, language, keys[place] !== ""));
  return button;
}

/** Words first, a code after them; a number only where no key shows one. @param {Option} option  @param {Language} language  @param {boolean} hasKey */
function createOptionLabel(option, language, hasKey) {
  const { words, code } = splitCode(option, language);
  const isNumber = typeof option.value === "number";
  const label = createElement("span", "", isNumber && !hasKey ? textIn(option.text, language) : words);
  label.dir = "auto";
  if (code && !isNumber) label.append(" ", createElement("small", "option-code", code));
  return label;
}

/** "2 · high" and "trigger · CNUG0": the words, and the value that stands beside them. @param {Option} option  @param {Language} language */
export function splitCode({ value, text }, language) {
  const [whole, code] = [textIn(text, language), String(value)];
  if (whole.startsWith(`${code} · `)) return { words: whole.slice(code.length + 3), code };
  if (whole.endsWith(` · ${code}`)) return { words: whole.slice(0, -code.length - 3), code };
  return { words: whole, code: "" };
}

/** @param {HTMLElement} control  @param {Slot} slot  @param {Value | undefined} value  @param {boolean} isClosed */
function paintOptionButtons(control, slot, value, isClosed) {
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (control.querySelectorAll(".option"))) {
    const option = slot.options[Number(button.dataset.place)];
    const isChosen = Array.isArray(value) ? value.includes(option.value) : value === option.value;
    button.setAttribute("aria-pressed", String(isChosen));
    button.disabled = isClosed;
  }
}

const COLOURS = 6;
/** @type {Record<string, string>} */
const ROLE_COLOURS = { trigger: "c4", regular: "c1", goal: "c3" };

/** c1 to c6: by the label's meaning in UCH, else by its place. @param {Option[]} options  @param {Option} option */
export function colourOf(options, option) {
  return ROLE_COLOURS[option.nugget ?? ""] ?? `c${(options.indexOf(option) % COLOURS) + 1}`;
}

// ---- slider ---------------------------------------------------------------------------------------------------------

/** @param {Question} question  @param {Language} language  @param {(value: number) => void} answer */
function createSlider({ min = 0, max = 100, low, high, text }, language, answer) {
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
function paintSlider(control, value, isClosed, language) {
  const range = control.querySelector("input");
  const output = control.querySelector("output");
  if (!range || !output) return;
  range.classList.toggle("unset", value === undefined);
  if (value !== undefined) range.value = String(value);
  range.setAttribute("aria-valuetext", value === undefined ? language.gettext("not answered") : String(value));
  range.disabled = isClosed;
  output.textContent = value === undefined ? "–" : String(value);
}

// ---- text -----------------------------------------------------------------------------------------------------------

const MAX_LENGTH = 10_000;

/**
 * @param {import("./answer_sheet.js").Question} question  @param {Language} language
 * @param {(text: string | undefined) => void} answer
 */
function createTextField(question, language, answer) {
  const field = createElement("textarea");
  field.rows = 2;
  field.dir = "auto";
  field.maxLength = question.max_length ?? MAX_LENGTH;
  field.setAttribute("aria-label", textIn(question.text, language));
  field.addEventListener("input", () => answer(field.value.trim() ? field.value : undefined));
  return field;
}

/** Does not replace what the person is typing. @param {HTMLElement} control  @param {import("./answer_sheet.js").Value | undefined} value  @param {boolean} isClosed */
function paintTextField(control, value, isClosed) {
  const field = control.querySelector("textarea");
  if (!field) return;
  if (field !== document.activeElement) field.value = String(value ?? "");
  field.readOnly = isClosed;
}

// ---- guideline ------------------------------------------------------------------------------------------------------

/** @param {import("./answer_sheet.js").Question} question */
export function hasGuideline({ guideline, options = [] }) {
  return Boolean(guideline) || options.some((option) => option.guideline || option.examples?.length);
}

/** @param {Slot} slot  @param {Language} language */
export function createGuideline({ question, options, keys }, language) {
  const guide = createElement("div", "guide");
  if (question.guideline) guide.append(createElement("p", "", textIn(question.guideline, language)));
  const list = createElement("dl");
  for (const [place, option] of options.entries()) {
    if (!option.guideline && !option.examples?.length) continue;
    const term = createElement("dt");
    if (keys[place]) term.append(createKeyCap(keys[place]), " "); // as on the button, so that no other number misleads
    term.append(createOptionLabel(option, language, keys[place] !== ""));
    list.append(term, createExplanation(option, language));
  }
  if (list.childElementCount > 0) guide.append(list);
  return guide;
}

/** @param {import("./answer_sheet.js").Option} option  @param {Language} language */
function createExplanation({ guideline, examples = [] }, language) {
  const explained = createElement("dd", "", textIn(guideline, language));
  for (const example of examples) {
    const quote = createElement("q", "", textIn(example, language));
    quote.dir = "auto";
    explained.append(quote);
  }
  return explained;
}

// ---- answers of others ----------------------------------------------------------------------------------------------

/**
 * The other answer, with buttons to take it and, where people are compared, to keep one's own.
 * @param {string} text  @param {Language} language  @param {{ take: () => void, keep?: () => void }} actions
 */
function createOtherAnswer(text, language, { take, keep }) {
  const row = createElement("div", "theirs");
  const answer = createElement("p");
  answer.append(createElement("b", "", language.gettext("The other answer:")), " ", text);
  row.append(answer, createKeyButton("button", language.gettext("Take it"), "t", take));
  if (keep) row.append(createKeyButton("button", language.gettext("Keep mine"), "m", keep));
  return row;
}

/** @param {string} className  @param {string} label  @param {string} key  @param {() => void} action */
function createKeyButton(className, label, key, action) {
  const button = createButton(className, label, action);
  button.append(createKeyCap(key));
  return button;
}

/** Who answered what. @param {PersonsAnswer[]} answers  @returns {HTMLElement[]} a list, or nothing */
function createSpread(answers) {
  if (answers.length === 0) return [];
  const list = createElement("ul", "spread");
  for (const { words, by } of answers) {
    const row = createElement("li");
    const answer = createElement("b", "", words);
    answer.dir = "auto";
    row.append(answer, " ", createElement("bdi", "", by));
    list.append(row);
  }
  return [list];
}
