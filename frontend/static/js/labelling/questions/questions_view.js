// @ts-check
/**
 * The dialogue and its questions on the page: a row per utterance, with the brackets of nuggets and the questions about it,
 * and a panel with the other questions. The answer sheet holds the answers; questions.js knows which question is active.
 */
import { createButton, createElement, format } from "../../shared/page.js";
import { pieceAt } from "./answer_sheet.js";
import {
  colourOf,
  createControl,
  createGuideline,
  createPanelSlot,
  createUtteranceSlot,
  hasGuideline,
  paintControl,
  paintSlot,
  splitCode,
  textIn,
} from "./slot_view.js";

/**
 * @typedef {import("./answer_sheet.js").Option} Option
 * @typedef {import("./answer_sheet.js").Slot} Slot
 * @typedef {import("./answer_sheet.js").Utterance} Utterance
 * @typedef {import("./slot_view.js").Language} Language
 * @typedef {import("./slot_view.js").SlotView} SlotView
 */

const LONG_TEXT = 2000; // characters shown before "Show all"
const LONGEST_SPEAKER_CH = 11;

export class QuestionsView {
  /** @type {Map<Slot, SlotView>} */
  #slots = new Map();
  /** @type {HTMLElement[]} */
  #rows = [];
  /** @type {HTMLElement | undefined} above the utterances */
  #legend;
  /** @type {string | undefined} key of the question that the legend is about */
  #labelled;

  /** @param {import("./questions.js").Questions} questions */
  constructor(questions) {
    this.questions = questions;
  }

  get #sheet() {
    return this.questions.sheet;
  }

  /** @param {Slot} slot */
  #slot(slot) {
    return /** @type {SlotView} */ (this.#slots.get(slot));
  }

  /** Draw another dialogue. @param {string} lang  of the dialogue */
  draw(lang) {
    const { turns } = this.questions.options;
    const { schema, utterances } = this.#sheet;
    const labelled = schema.questions.find(({ scope, runs }) => scope === "utterance" && runs);
    turns.classList.toggle("has-runs", labelled !== undefined);
    this.#legend?.remove();
    this.#legend = labelled && createLegend(labelled.options ?? [], this.questions.language);
    if (this.#legend) turns.before(this.#legend);
    this.#labelled = labelled?.key;
    this.#rows = drawUtterances(turns, utterances, lang, this.questions.language);
    this.#drawSlots();
    this.paintAll();
  }

  #drawSlots() {
    const { slots, others } = this.#sheet;
    const { questions } = this;
    const create = (/** @type {Slot} */ slot) =>
      slot.position === null
        ? createPanelSlot(questions, slot)
        : createUtteranceSlot(questions, slot, this.#rows[slot.position]);
    this.#slots = new Map(slots.map((slot) => [slot, create(slot)]));
    const notes = others.map(({ note }) => note).filter((note) => note.trim());
    const sections = slots.filter(({ position }) => position === null).map((slot) => this.#slot(slot).home);
    questions.options.panel.replaceChildren(...createNotes(notes, questions.language), ...sections);
  }

  paintAll() {
    hideProblem();
    for (const slot of this.#sheet.slots) paintSlot(this.questions, slot, this.#slot(slot));
    for (const position of this.#rows.keys()) this.#drawNuggets(position);
    this.#showLegend();
  }

  /** The legend is there only while one of its labels is asked for. */
  #showLegend() {
    const isAsked = this.#sheet.slots.some(({ question, isShown }) => isShown && question.key === this.#labelled);
    if (this.#legend) this.#legend.hidden = !isAsked;
  }

  /** Change one answer, and draw again what depends on it. @param {Slot} slot  @param {() => void} change */
  repaintAfter(slot, change) {
    const before = new Map(this.#sheet.affectedBy(slot.position).map((other) => [other, this.#print(other)]));
    change();
    hideProblem();
    for (const [other, print] of before)
      if (other === slot || this.#print(other) !== print) paintSlot(this.questions, other, this.#slot(other));
    this.#showLegend();
    if (slot.position === null) return;
    for (const position of [slot.position - 1, slot.position, slot.position + 1]) this.#drawNuggets(position);
  }

  /** What is drawn of a slot, to compare before and after. @param {Slot} slot */
  #print(slot) {
    const isRequired = slot.isShown && this.#sheet.isRequired(slot);
    return JSON.stringify([slot.isShown, slot.isFixed, isRequired, this.#sheet.valueAt(slot.path)]);
  }

  /** @param {number} position */
  #drawNuggets(position) {
    for (const { key, runs } of this.#sheet.schema.questions) {
      const slot = runs ? this.#sheet.slotAt(`${position}/${key}`) : undefined;
      if (!slot) continue;
      const labelAt = (/** @type {number} */ at) => this.#sheet.utteranceValue(at, key);
      const option = slot.options.find(({ value }) => value === labelAt(position));
      const { home } = this.#slot(slot);
      const isActive = home.hasAttribute("data-active");
      paintBracket(home, pieceAt(this.#sheet.utterances, labelAt, position), slot.options, option);
      home.toggleAttribute("data-active", isActive);
    }
  }

  // ---- the active question -----------------------------------------------------------------------------------------

  /** @param {Slot} slot */
  activate(slot) {
    this.#slot(slot).home.setAttribute("data-active", "");
    if (slot.position !== null) this.#openControl(slot, this.#rows[slot.position]);
  }

  /** The control of a question about an utterance is on the page only while it is active. @param {Slot} slot  @param {HTMLElement} row */
  #openControl(slot, row) {
    const view = this.#slot(slot);
    const control = createControl(this.questions, slot);
    row.setAttribute("aria-current", "true");
    control.tabIndex = -1;
    control.setAttribute("role", "group");
    control.setAttribute("aria-label", view.face.getAttribute("aria-label") ?? "");
    view.face.setAttribute("aria-expanded", "true");
    view.control = control;
    (slot.question.runs ? row : view.home).append(control);
    paintControl(this.questions, slot, control);
  }

  /** @param {Slot} slot */
  deactivate(slot) {
    const view = this.#slots.get(slot);
    if (!view) return;
    view.home.removeAttribute("data-active");
    this.hideGuideline(slot);
    hideProblem();
    if (slot.position === null) return;
    this.#rows[slot.position].removeAttribute("aria-current");
    view.control?.remove();
    view.control = null;
    view.face.setAttribute("aria-expanded", "false");
  }

  /** @param {Slot} slot  @param {boolean} type  put the cursor into a text, if it is one */
  focus(slot, type) {
    const { home, control } = this.#slot(slot);
    const isText = type && slot.question.kind === "text" && this.#sheet.isOpen;
    const target = isText ? control?.querySelector("textarea") : slot.position === null ? home : control;
    target?.focus({ preventScroll: true });
    (slot.position === null ? home : this.#rows[slot.position]).scrollIntoView({ block: "nearest" });
  }

  /** From a field of a question to the question itself. @param {Slot} slot  @param {Element} field  @returns {boolean} */
  leaveField(slot, field) {
    const { home, control } = this.#slot(slot);
    if (!home.contains(field)) return false;
    (slot.position === null ? home : control)?.focus();
    return true;
  }

  /** @param {Slot} slot  @param {string} problem */
  showProblem(slot, problem) {
    const { control, home } = this.#slot(slot);
    const place = control ?? home;
    hideProblem();
    if (!problem) return;
    const alert = createElement("p", "question-problem", problem);
    alert.setAttribute("role", "alert");
    place.prepend(alert);
  }

  /** Show all of a long text. @param {number | null} position  null: of the first one that is shortened */
  expandText(position) {
    const holder = position === null ? this.questions.options.turns : this.#rows[position];
    const more = holder.querySelector(".show-all");
    if (more instanceof HTMLElement) more.click();
  }

  // ---- guidelines --------------------------------------------------------------------------------------------------

  /** @param {Slot} slot */
  showGuideline(slot) {
    const { control } = this.#slot(slot);
    if (hasGuideline(slot.question)) control?.append(createGuideline(slot, this.questions.language));
    control?.querySelector(".guide-button")?.setAttribute("aria-expanded", "true");
  }

  /** @param {Slot} slot */
  hideGuideline(slot) {
    const { control } = this.#slot(slot);
    control?.querySelector(".guide")?.remove();
    control?.querySelector(".guide-button")?.setAttribute("aria-expanded", "false");
  }
}

/** What was wrong with an answer; only the active question says it, until the answer changes. */
function hideProblem() {
  document.querySelector(".question-problem")?.remove();
}

/** What the brackets beside the utterances mean: each word once, with its colour and its codes. @param {Option[]} options  @param {import("./slot_view.js").Language} language */
function createLegend(options, language) {
  const legend = createElement("ul", "legend");
  /** @type {Map<string, HTMLElement>} */
  const entries = new Map();
  legend.setAttribute("aria-label", language.gettext("Labels and their colours"));
  for (const option of options) {
    const { words, code } = splitCode(option, language);
    const entry = entries.get(words) ?? createElement("li", "", words);
    if (option.nugget !== "none") entry.classList.add(colourOf(options, option));
    if (code) entry.append(" ", createElement("small", "option-code", code));
    entry.title = textIn(option.guideline, language);
    entries.set(words, entry);
  }
  legend.append(...entries.values());
  return legend;
}

/** The notes of the others, above the questions. @param {string[]} notes  @param {import("./slot_view.js").Language} language */
function createNotes(notes, language) {
  return notes.map((note) => {
    const line = createElement("p", "their-note");
    const quote = createElement("q", "", note);
    quote.dir = "auto";
    line.append(createElement("b", "", language.gettext("Their note")), quote);
    return line;
  });
}

// ---- utterances -----------------------------------------------------------------------------------------------------

/**
 * @param {HTMLElement} list  an <ol>  @param {Utterance[]} utterances  @param {string} lang  of the dialogue
 * @param {Language} language
 */
function drawUtterances(list, utterances, lang, language) {
  const [first] = utterances;
  const longest = utterances.reduce((most, { speaker }) => Math.max(most, widthOf(speakerName(speaker, language))), 1);
  list.style.setProperty("--speaker", `${Math.min(longest + 1, LONGEST_SPEAKER_CH)}ch`);
  const rows = utterances.map((utterance, position) => {
    const row = createElement("li", utterance.speaker === first.speaker ? "turn" : "turn other");
    const main = createElement("div", "turn-main");
    main.append(createText(utterance, lang, language));
    row.append(createSpeaker(utterance, language), main);
    row.dataset.position = String(position);
    return row;
  });
  list.replaceChildren(...rows);
  return rows;
}

/** Roles that many data sets have, in the reader's language; other names as they are. @param {string} speaker  @param {Language} language */
export function speakerName(speaker, { pgettext }) {
  switch (speaker) {
    case "user":
      return pgettext("speaker", "user");
    case "assistant":
      return pgettext("speaker", "assistant");
    case "customer":
      return pgettext("speaker", "customer");
    case "helpdesk":
      return pgettext("speaker", "helpdesk");
    case "bot":
      return pgettext("speaker", "bot");
    case "bot (context)":
      return pgettext("speaker", "bot (context)");
    default:
      return speaker;
  }
}

/** In letters; a Chinese character is as wide as two. @param {string} name */
const widthOf = (name) => name.replace(/\p{Script=Han}/gu, "xx").length;

/** @param {Utterance} utterance  @param {Language} language */
function createSpeaker({ speaker, time }, language) {
  const name = speakerName(speaker, language);
  const label = createElement("span", "turn-speaker clip", name);
  label.title = [name, time].filter(Boolean).join(" · ");
  label.dir = "auto";
  return label;
}

/** @param {Utterance} utterance  @param {string} lang  @param {Language} language */
function createText({ text }, lang, language) {
  const paragraph = createElement("p", "turn-text", text);
  paragraph.dir = "auto";
  paragraph.lang = lang;
  if (!text.trim()) {
    paragraph.textContent = language.gettext("(nothing was said)");
    paragraph.classList.add("muted");
    paragraph.removeAttribute("lang");
  }
  return text.length > LONG_TEXT * 1.2 ? createShortened(paragraph, text, language) : paragraph;
}

/** The beginning of a long text, with a button that shows all of it. @param {HTMLElement} paragraph  @param {string} text  @param {Language} language */
function createShortened(paragraph, text, language) {
  const holder = createElement("div");
  const label = format(language.gettext("Show all {n} characters"), { n: text.length });
  paragraph.textContent = `${text.slice(0, LONG_TEXT)}…`;
  const more = createButton("button quiet show-all", label, () => {
    paragraph.textContent = text;
    more.remove();
  });
  holder.append(paragraph, more);
  return holder;
}

/**
 * Draw the piece of the bracket beside an utterance.
 * @param {HTMLElement} cell  @param {ReturnType<typeof import("./answer_sheet.js").pieceAt>} piece  @param {Option[]} options
 * @param {Option | undefined} option  the chosen one
 */
function paintBracket(cell, piece, options, option) {
  const isNugget = option !== undefined && option.nugget !== "none";
  cell.className = ["nugget", isNugget ? colourOf(options, option) : ""].join(" ").trim();
  if (isNugget && piece) cell.dataset.piece = piece;
  else delete cell.dataset.piece;
}
