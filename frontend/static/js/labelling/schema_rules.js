// @ts-check
/**
 * What answers mean under a schema: the mirror of annotation/labelling/schema/answers.py, so that a page shows, sets and asks for
 * exactly what the server will. A test runs both over the same cases.
 */

/**
 * @typedef {number | string} One
 * @typedef {One | One[]} Value
 * @typedef {{ question: string, in: One[] } | { question: string, includes: One } | { speaker: string | string[] }
 *   | { all: Condition[] } | { any: Condition[] } | { not: Condition }} Condition
 * @typedef {{ value: One, speakers?: string[], alone?: boolean }} Option
 * @typedef {{ key: string, scope: "dialogue" | "utterance", kind: "choice" | "choices" | "scale" | "slider" | "text",
 *   options?: Option[], when?: Condition, required?: boolean | Condition, speakers?: string[],
 *   sets?: { when: Condition, value: One }[], min?: number, max?: number, max_length?: number }} Question
 * @typedef {Record<string, Value>} Given
 * @typedef {{ dialogue: Given, utterances: Record<string, Given> }} Answers
 */

const MAX_LENGTH = 10_000;
const BLANK = /^[ \t\r\n\u00a0\u3000]*$/; // an answer in words of nothing else does not count
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]/u;

/**
 * @param {Condition} condition  @param {Given} given  answers of the dialogue and of the utterance
 * @param {string | null} speaker  @returns {boolean}
 */
export function holds(condition, given, speaker) {
  if ("all" in condition) return condition.all.every((part) => holds(part, given, speaker));
  if ("any" in condition) return condition.any.some((part) => holds(part, given, speaker));
  if ("not" in condition) return !holds(condition.not, given, speaker);
  if ("speaker" in condition) return speaker !== null && [condition.speaker].flat().includes(speaker);
  const value = Object.hasOwn(given, condition.question) ? given[condition.question] : undefined;
  if ("includes" in condition) return Array.isArray(value) && value.includes(condition.includes);
  return value !== undefined && !Array.isArray(value) && condition.in.includes(value);
}

/** @param {{ speakers?: string[] }} asked  @param {string | null} speaker */
const isFor = ({ speakers }, speaker) => !speakers?.length || (speaker !== null && speakers.includes(speaker));

/** @param {Condition} condition  @returns {string[]} the questions that it asks about */
function references(condition) {
  if ("all" in condition) return condition.all.flatMap(references);
  if ("any" in condition) return condition.any.flatMap(references);
  if ("not" in condition) return references(condition.not);
  return "question" in condition ? [condition.question] : [];
}

/** Every question after those that its answer rests on. @param {Question[]} questions */
function inSettlingOrder(questions) {
  /** @type {Set<string>} */
  const done = new Set();
  /** @type {Question[]} */
  const order = [];
  let waiting = questions.map((question) => {
    const conditions = [question.when, ...(question.sets ?? []).map((one) => one.when)].filter(
      (one) => one !== undefined,
    );
    return { question, needed: conditions.flatMap(references) };
  });
  while (waiting.length > 0) {
    const ready = waiting.filter(({ needed }) => needed.every((key) => done.has(key)));
    if (ready.length === 0) throw new Error("the conditions go round in a circle");
    for (const { question } of ready) {
      done.add(question.key);
      order.push(question);
    }
    waiting = waiting.filter(({ question }) => !done.has(question.key));
  }
  return order;
}

/** @param {Question} question  @param {unknown} raw  @param {string | null} speaker  @returns {Value | undefined} */
function checked(question, raw, speaker) {
  if (question.kind === "text") {
    if (typeof raw !== "string" || BLANK.test(raw) || CONTROL.test(raw)) return undefined;
    const most = question.max_length ?? MAX_LENGTH;
    return raw.length <= most || [...raw].length <= most ? raw : undefined;
  }
  if (question.kind === "slider") {
    const { min = 0, max = 100 } = question;
    return typeof raw === "number" && Number.isInteger(raw) && raw >= min && raw <= max ? raw : undefined;
  }
  const options = (question.options ?? []).filter((option) => isFor(option, speaker));
  const offered = options.map(({ value }) => value);
  if (question.kind !== "choices") return offered.find((value) => value === raw);
  if (!Array.isArray(raw) || raw.length === 0 || !raw.every((one) => offered.includes(one))) return undefined;
  const chosen = options.filter(({ value }) => raw.includes(value));
  const held = chosen.length > 1 ? chosen.filter(({ alone }) => !alone) : chosen;
  return held.length > 0 ? held.map(({ value }) => value) : undefined;
}

export class Rules {
  /** @param {{ questions: Question[] }} schema  @param {string[]} speakers  of the utterances, in order */
  constructor(schema, speakers) {
    this.questions = schema.questions;
    this.speakers = speakers;
    this.order = inSettlingOrder(schema.questions);
  }

  /** The answers that hold of those given. @param {Answers} given  @returns {Answers} */
  settle(given) {
    const dialogue = this.#settle("dialogue", given.dialogue, {}, null);
    /** @type {Record<string, Given>} */
    const utterances = {};
    if (this.questions.some(({ scope }) => scope === "utterance")) {
      for (const position of this.speakers.keys()) {
        const own = this.settleUtterance(dialogue, given.utterances[position] ?? {}, position);
        if (Object.keys(own).length > 0) utterances[position] = own;
      }
    }
    return { dialogue, utterances };
  }

  /** @param {Given} dialogue  settled  @param {Given} given  of the utterance  @param {number} position */
  settleUtterance(dialogue, given, position) {
    return this.#settle("utterance", given, dialogue, this.speakers[position] ?? null);
  }

  /**
   * @param {Question["scope"]} scope  @param {Given} sent  @param {Given} around  @param {string | null} speaker
   * @returns {Given} in the order of the schema
   */
  #settle(scope, sent, around, speaker) {
    const given = { ...around };
    /** @type {Given} */
    const held = {};
    for (const question of this.order) {
      if (question.scope !== scope || !this.#applies(question, given, speaker)) continue;
      const implied = this.#implied(question, given, speaker);
      const raw = Object.hasOwn(sent, question.key) ? sent[question.key] : undefined;
      const value = implied ? implied.value : checked(question, raw, speaker);
      if (value !== undefined) given[question.key] = held[question.key] = value;
    }
    const keys = this.questions.map(({ key }) => key).filter((key) => Object.hasOwn(held, key));
    return Object.fromEntries(keys.map((key) => [key, held[key]]));
  }

  /** @param {Question} question  @param {Given} given  @param {string | null} speaker */
  #applies(question, given, speaker) {
    if (question.scope === "utterance") {
      const { options = [] } = question;
      if (!isFor(question, speaker)) return false;
      if (options.length > 0 && !options.some((option) => isFor(option, speaker))) return false;
    }
    return !question.when || holds(question.when, given, speaker);
  }

  /** @param {Question} question  @param {Given} given  @param {string | null} speaker */
  #implied(question, given, speaker) {
    return question.sets?.find(({ when }) => holds(when, given, speaker));
  }

  /** @param {Answers} answers  settled  @param {number | null} position  @returns {[Given, string | null]} */
  #around(answers, position) {
    if (position === null) return [answers.dialogue, null];
    return [{ ...answers.dialogue, ...answers.utterances[position] }, this.speakers[position] ?? null];
  }

  /** Whether the question is shown. @param {Question} question  @param {Answers} answers  settled  @param {number | null} position */
  applies(question, answers, position) {
    return this.#applies(question, ...this.#around(answers, position));
  }

  /** Whether its answer follows from others. @param {Question} question  @param {Answers} answers  settled  @param {number | null} position */
  isFixed(question, answers, position) {
    return this.#implied(question, ...this.#around(answers, position)) !== undefined;
  }

  /** Whether it is shown and has to be answered. @param {Question} question  @param {Answers} answers  settled  @param {number | null} position */
  isRequired(question, answers, position) {
    const [given, speaker] = this.#around(answers, position);
    const { required = true } = question;
    if (!this.#applies(question, given, speaker)) return false;
    return typeof required === "boolean" ? required : holds(required, given, speaker);
  }

  /** What is still to be answered. @param {Answers} answers  settled  @returns {string[]} "quality", "3/nugget" */
  missing(answers) {
    const of = (/** @type {number | null} */ position) => {
      const scope = position === null ? "dialogue" : "utterance";
      const held = position === null ? answers.dialogue : (answers.utterances[position] ?? {});
      return this.questions
        .filter((question) => question.scope === scope && !Object.hasOwn(held, question.key))
        .filter((question) => this.isRequired(question, answers, position))
        .map(({ key }) => (position === null ? key : `${position}/${key}`));
    };
    return [...of(null), ...[...this.speakers.keys()].flatMap(of)];
  }
}
