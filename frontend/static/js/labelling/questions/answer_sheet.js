// @ts-check
/**
 * The answers to the questions of a schema about one dialogue: what was given, what holds of it under the schema's rules,
 * what is missing, and what can be undone; and the runs that labels of utterances make. Does not touch the page.
 */
import { Rules } from "../schema_rules.js";

/**
 * @typedef {{ en: string, zh: string }} Text
 * @typedef {{ value: number | string, text: Text, key?: string, speakers?: string[], guideline?: Text, examples?: Text[],
 *   nugget?: string, apart?: boolean, alone?: boolean }} Option  apart: not on the scale of the others; alone: excludes the others
 * @typedef {{ key: string, scope: "dialogue" | "utterance", kind: "choice" | "choices" | "scale" | "slider" | "text",
 *   text: Text, options?: Option[], required?: any, speakers?: string[], runs?: boolean, guideline?: Text,
 *   low?: Text, high?: Text, min?: number, max?: number, max_length?: number }} Question
 * @typedef {{ questions: Question[] }} Content
 * @typedef {number | string | (number | string)[]} Value
 * @typedef {{ dialogue: Record<string, Value>, utterances: Record<string, Record<string, Value>> }} Answers
 * @typedef {{ position: number, speaker: string, text: string, time?: string }} Utterance
 * @typedef {{ index: number, path: string, question: Question, position: number | null, options: Option[], keys: string[],
 *   isShown: boolean, isFixed: boolean }} Slot  one place for an answer: a question, of an utterance or of the dialogue
 *   path: "quality", "3/nugget"; isFixed: its answer follows from others
 * @typedef {{ answers: Answers, note: string }} OtherAnswers  somebody else's, nameless
 * @typedef {{ words: string, by: string, value: Value | null }} PersonsAnswer  an answer, in words too, and who gave it
 * @typedef {{ schema: Content, utterances: Utterance[], lang?: string, answers?: Answers, differences?: string[],
 *   others?: OtherAnswers[], spread?: Record<string, PersonsAnswer[]> | null, isOpen?: boolean, checked?: string }} Exercise
 *   differences: paths that people answered differently; spread: by differing path who answered what, for a trainer who
 *   decides; checked: the path of the only answer that counts, "" if all do
 */

const DIGITS = "123456789";
const LETTERS = "abcdfhilnopqrsuvwxyz0"; // without those of the page: e, g, j, k, m, t

/** @returns {Answers} */
const noAnswers = () => ({ dialogue: {}, utterances: {} });

/** @param {{ speakers?: string[] }} part  @param {string} speaker */
const isFor = ({ speakers }, speaker) => !speakers?.length || speakers.includes(speaker);

export class AnswerSheet {
  /** @type {Answers} what was given, hidden questions included, so that nothing is lost by a change of mind */
  #given;
  /** @type {Answers} what holds of it */
  #answers = noAnswers();
  /** @type {{ path: string, before: Value | undefined }[]} */
  #history = [];
  /** @type {Set<string>} differing answers that were kept or changed */
  #decided = new Set();
  /** @type {Map<string, Slot>} */
  #byPath = new Map();
  /** @type {Slot[]} in the order in which they are asked */
  slots = [];

  /** @param {Exercise} exercise */
  constructor(exercise) {
    const { schema, utterances, answers, differences = [], others = [], spread = null, isOpen = true } = exercise;
    this.checked = exercise.checked ?? "";
    this.schema = schema;
    this.utterances = utterances;
    this.others = others;
    this.spread = spread;
    this.isOpen = isOpen;
    this.differing = new Set(differences);
    this.rules = new Rules(
      schema,
      utterances.map(({ speaker }) => speaker),
    );
    this.#given = structuredClone(answers ?? noAnswers());
    this.#addSlots();
    this.#settle(null);
  }

  get answers() {
    return structuredClone(this.#answers);
  }

  /** @param {string} path */
  slotAt(path) {
    return this.#byPath.get(path);
  }

  /** Replace the answers. @param {Answers} answers */
  load(answers) {
    this.#given = structuredClone(answers);
    this.#history = [];
    this.#settle(null);
  }

  // ---- slots -------------------------------------------------------------------------------------------------------

  /** In the order of the schema; consecutive utterance questions are asked utterance by utterance. */
  #addSlots() {
    const { questions } = this.schema;
    for (let n = 0; n < questions.length; ) {
      const { scope } = questions[n];
      let end = n + 1;
      while (scope === "utterance" && questions[end]?.scope === scope) end += 1;
      const positions = scope === "utterance" ? [...this.utterances.keys()] : [null];
      for (const position of positions)
        for (const question of questions.slice(n, end)) this.#addSlot(question, position);
      n = end;
    }
  }

  /** @param {Question} question  @param {number | null} position */
  #addSlot(question, position) {
    const options = this.#optionsFor(question, position);
    if (options === null) return;
    const path = position === null ? question.key : `${position}/${question.key}`;
    /** @type {Slot} */
    const slot = {
      ...{ index: this.slots.length, path, question, position, options, keys: keysForOptions(options) },
      ...{ isShown: true, isFixed: false },
    };
    this.slots.push(slot);
    this.#byPath.set(path, slot);
  }

  /** @param {Question} question  @param {number | null} position  @returns {Option[] | null} null: not asked there */
  #optionsFor(question, position) {
    const all = question.options ?? [];
    if (position === null) return all;
    const { speaker } = this.utterances[position];
    const options = all.filter((option) => isFor(option, speaker));
    const isAsked = isFor(question, speaker) && (all.length === 0 || options.length > 0);
    return isAsked ? options : null;
  }

  /** The slots that an answer may change. @param {number | null} position  of the answer  @returns {Slot[]} */
  affectedBy(position) {
    if (position === null) return this.slots;
    const slots = this.schema.questions.map(({ key }) => this.#byPath.get(`${position}/${key}`));
    return slots.filter((slot) => slot !== undefined);
  }

  // ---- values ------------------------------------------------------------------------------------------------------

  /** @param {Answers} answers  @param {Slot} slot */
  valueIn(answers, { question, position }) {
    return position === null ? answers.dialogue[question.key] : answers.utterances[position]?.[question.key];
  }

  /** @param {string} path */
  valueAt(path) {
    const slot = this.#byPath.get(path);
    return slot && this.valueIn(this.#answers, slot);
  }

  /** @param {number} position  @param {string} key */
  utteranceValue(position, key) {
    return this.#answers.utterances[position]?.[key];
  }

  /** The answer that was given, even if it does not hold now. @param {Slot} slot */
  givenValue(slot) {
    return this.valueIn(this.#given, slot);
  }

  /** Apply the rules of the schema to the answers. @param {number | null} position  of the only utterance that changed */
  #settle(position) {
    if (position === null) this.#answers = this.rules.settle(this.#given);
    else this.#settleUtterance(position);
    for (const slot of this.affectedBy(position)) {
      slot.isShown = this.rules.applies(slot.question, this.#answers, slot.position);
      slot.isFixed = slot.isShown && this.rules.isFixed(slot.question, this.#answers, slot.position);
    }
  }

  /** @param {number} position */
  #settleUtterance(position) {
    const given = this.#given.utterances[position] ?? {};
    const held = this.rules.settleUtterance(this.#answers.dialogue, given, position);
    if (Object.keys(held).length > 0) this.#answers.utterances[position] = held;
    else delete this.#answers.utterances[position];
  }

  /** Answer, so that it can be undone. @param {Slot} slot  @param {Value | undefined} value  undefined: no answer */
  answer(slot, value) {
    const isSameField = slot.question.kind === "text" || slot.question.kind === "slider";
    const before = this.givenValue(slot);
    if (!isSameField || this.#history.at(-1)?.path !== slot.path) this.#history.push({ path: slot.path, before });
    this.#give(slot, value);
  }

  /** @param {Slot} slot  @param {Value | undefined} value */
  #give({ path, question, position }, value) {
    if (position !== null) this.#given.utterances[position] ??= {};
    const given = position === null ? this.#given.dialogue : this.#given.utterances[position];
    if (value === undefined) delete given[question.key];
    else given[question.key] = value;
    if (this.differing.has(path)) this.#decided.add(path);
    this.#settle(position);
  }

  /** The slot of the last answer, undefined if nothing can be undone. */
  get lastAnswered() {
    const last = this.#history.at(-1);
    return last && this.#byPath.get(last.path);
  }

  /** Undo the last answer. */
  undo() {
    const last = this.#history.pop();
    const slot = last && this.#byPath.get(last.path);
    if (!last || !slot) return;
    this.#give(slot, last.before);
    this.#decided.delete(slot.path);
  }

  // ---- what is left ------------------------------------------------------------------------------------------------

  /** @param {Slot} slot */
  isRequired(slot) {
    return this.rules.isRequired(slot.question, this.#answers, slot.position);
  }

  /** @param {Slot} slot */
  differs(slot) {
    return this.differing.has(slot.path);
  }

  /** Whose answer is shown beside ours: where people differ, and where they gave another reason. @param {Slot} slot */
  otherAnswers(slot) {
    if (this.spread) return undefined;
    if (this.differs(slot)) return this.others[0];
    const mine = JSON.stringify(this.givenValue(slot));
    return this.others.find(({ answers }) => ![undefined, mine].includes(JSON.stringify(this.valueIn(answers, slot))));
  }

  /** Whether a differing answer was kept or changed. @param {Slot} slot */
  isDecided(slot) {
    return this.spread ? this.valueAt(slot.path) !== undefined : this.#decided.has(slot.path);
  }

  /** @param {Slot} slot */
  isAnswered(slot) {
    return this.differs(slot) ? this.isDecided(slot) : this.valueAt(slot.path) !== undefined;
  }

  /** Whether another answer is the only one that counts. @param {Slot} slot */
  isUnchecked(slot) {
    return this.checked !== "" && slot.path !== this.checked;
  }

  /** Whether a required answer is missing. @param {Slot} slot */
  isMissing(slot) {
    if (this.#isPassedOver(slot)) return false;
    const isDemanded = this.differs(slot) && !this.spread;
    return !this.isAnswered(slot) && (isDemanded || this.isRequired(slot));
  }

  /** An unchecked question is not asked, unless the checked one shows only after its answer. @param {Slot} slot */
  #isPassedOver(slot) {
    return this.isUnchecked(slot) && this.slotAt(this.checked)?.isShown === true;
  }

  /** @returns {Slot[]} what has to be answered and is not */
  missing() {
    return this.slots.filter((slot) => slot.isShown && !slot.isFixed && this.isMissing(slot));
  }

  /** The next open question; after the end, the first one that is missing. @param {number} from  an index */
  nextOpen(from) {
    const isAsked = (/** @type {Slot} */ slot) => slot.isShown && !slot.isFixed && !this.isAnswered(slot);
    const after = this.slots.slice(from + 1).find((slot) => isAsked(slot) && this.#isWorthAsking(slot));
    if (after) return after;
    return this.slots.slice(0, from + 1).find((slot) => isAsked(slot) && this.isMissing(slot)) ?? null;
  }

  /** If people confirm or a trainer decides, only what differs is asked; an optional text only on request. @param {Slot} slot */
  #isWorthAsking(slot) {
    if (this.isMissing(slot)) return true;
    if (this.#isPassedOver(slot)) return false;
    return slot.question.kind !== "text" && (this.differing.size === 0 || this.differs(slot));
  }

  /** The question shown before or after an index. @param {number} from  @param {1 | -1} step  @returns {Slot | undefined} */
  neighbour(from, step) {
    let n = from + step;
    while (this.slots[n] && !(this.slots[n].isShown && !this.slots[n].isFixed)) n += step;
    return this.slots[n];
  }
}

// ---- options --------------------------------------------------------------------------------------------------------

/** A key for every option: its own, else the next free digit or letter. @param {Option[]} options */
function keysForOptions(options) {
  const taken = new Set(options.map((option) => option.key?.toLowerCase()));
  const free = [...DIGITS, ...LETTERS].filter((key) => !taken.has(key));
  return options.map((option) => option.key?.toLowerCase() || (free.shift() ?? ""));
}

/**
 * Several options with one put in, or taken out if it was there; in the order of the schema.
 * @param {Slot} slot  @param {Value | undefined} chosen  @param {number | string} value  @returns {Value | undefined}
 */
export function toggleOption(slot, chosen, value) {
  const before = Array.isArray(chosen) ? chosen : [];
  const isAlone = (/** @type {number | string} */ one) => slot.options.some((it) => it.value === one && it.alone);
  const others = before.filter((other) => other !== value && !isAlone(other) && !isAlone(value));
  const after = before.includes(value) ? before.filter((other) => other !== value) : [...others, value];
  const ordered = slot.options.map((option) => option.value).filter((option) => after.includes(option));
  return ordered.length > 0 ? ordered : undefined;
}

// ---- nuggets: consecutive utterances of one speaker with the same label (Zeng et al., DCH §3.5) ----------------------

/**
 * The piece of a bracket at a position.
 * @param {Utterance[]} utterances  @param {(position: number) => unknown} labelAt  @param {number} position
 * @returns {"" | "only" | "first" | "inner" | "last"} "": no label there
 */
export function pieceAt(utterances, labelAt, position) {
  const label = labelAt(position);
  if (label === undefined) return "";
  const joins = (/** @type {number} */ other) =>
    utterances[other]?.speaker === utterances[position].speaker && labelAt(other) === label;
  const [above, below] = [joins(position - 1), joins(position + 1)];
  if (above && below) return "inner";
  return above ? "last" : below ? "first" : "only";
}

/**
 * Speakers with more than one run labelled as their goal: only the first counts in UCH.
 * @param {Utterance[]} utterances  @param {(position: number) => Option | undefined} optionAt
 * @returns {{ speaker: string, n: number }[]}
 */
export function crowdedGoals(utterances, optionAt) {
  /** @type {Map<string, number>} */
  const goals = new Map();
  for (const [position, { speaker }] of utterances.entries()) {
    if (optionAt(position)?.nugget !== "goal") continue;
    const piece = pieceAt(utterances, (at) => optionAt(at)?.value, position);
    if (piece === "first" || piece === "only") goals.set(speaker, (goals.get(speaker) ?? 0) + 1);
  }
  return [...goals].filter(([, n]) => n > 1).map(([speaker, n]) => ({ speaker, n }));
}
