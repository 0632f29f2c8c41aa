// @ts-check
/** What the page of a batch's sample knows: what is to be judged, what was judged, and the dialogue that is shown. */
import { answerText } from "../labelling/questions/slot_view.js";
import { gettext } from "../shared/page.js";

/**
 * @typedef {import("../labelling/questions/answer_sheet.js").Answers} Answers
 * @typedef {import("../labelling/questions/answer_sheet.js").Content} Content
 * @typedef {import("../labelling/questions/answer_sheet.js").Value} Value
 * @typedef {{ answers: Answers, is_right: boolean, reason: string }} GivenAnswers
 * @typedef {GivenAnswers & { later: GivenAnswers | null }} Judgement  later: after the label was shown; does not count
 * @typedef {{ id: number, place: number, schema: number, language: string, label: Answers | null,
 *   utterances: import("../labelling/questions/answer_sheet.js").Utterance[], judgement: Judgement | null }} Item
 * @typedef {"choose" | "answer" | "sent" | "compare" | "loading" | "end"} Stage
 *   choose: agree or not; answer: the questions are open; sent: the comparison is on its way; compare: it is shown
 * @typedef {{ item: number, answers: Answers, reason: string }} Draft
 * @typedef {{ sample: string, me: number, question: string, isBlind: boolean, schemas: Record<string, Content>,
 *   items: Item[], progress: import("./sample_view.js").Progress, mine: number[],
 *   urls: { batch: string, sample: string, login: string } }} PageData
 */

const MOST_REMEMBERED = 20; // more than a page sends while it is loaded again

export class SampleState {
  /** @type {Map<number, Item>} what was judged on this page */
  judged = new Map();
  /** @type {Set<number>} what was judged and is not stored yet */
  unsent = new Set();
  /** @type {Item | null} */
  item = null;
  /** @type {Stage} */
  stage = "loading";
  shownAt = 0;

  /** @param {PageData} data */
  constructor(data) {
    this.sample = data.sample;
    this.checked = data.question; // the question whose answer is checked; "": all of them
    this.isBlind = data.isBlind;
    this.schemas = data.schemas;
    this.urls = data.urls;
    this.progress = data.progress;
    /** Dialogues to judge, in order. */
    this.queue = data.items;
    /** Ids of judged dialogues, in order. */
    this.judgedIds = data.mine;
    this.lane = `sample-${data.sample}`;
    this.draftKey = `lapidary-sample:${data.sample}:${data.me}:draft`;
    this.storedKey = `lapidary-sample:${data.sample}:${data.me}:stored`;
    // While a page is loaded again, the one before it may still send: then the server's list is older than that answer.
    for (const id of this.#recentlyStored()) this.removeFromQueue(id);
  }

  /** @param {Item[]} items  that the server gave */
  addToQueue(items) {
    const known = new Set([...this.queue.map(({ id }) => id), ...this.judged.keys(), ...this.unsent]);
    this.queue.push(...items.filter(({ id }) => !known.has(id)));
  }

  /** @param {number} id */
  removeFromQueue(id) {
    this.queue = this.queue.filter((item) => item.id !== id);
  }

  /** Remember that the server has the judgement of a dialogue. @param {number} id */
  rememberStored(id) {
    try {
      sessionStorage.setItem(this.storedKey, JSON.stringify([...this.#recentlyStored(), id].slice(-MOST_REMEMBERED)));
    } catch {
      // A browser that keeps nothing: the dialogue may be shown once more.
    }
  }

  /** @returns {number[]} */
  #recentlyStored() {
    try {
      return JSON.parse(sessionStorage.getItem(this.storedKey) ?? "[]");
    } catch {
      return [];
    }
  }

  /** The dialogue judged before the one that is shown. */
  get judgedBefore() {
    const place = this.item ? this.judgedIds.indexOf(this.item.id) : -1;
    return place < 0 ? this.judgedIds.at(-1) : this.judgedIds[place - 1];
  }

  /** A person who saw the label and disagrees has to say why. */
  get isReasonNeeded() {
    return !this.isBlind && this.item?.judgement === null;
  }

  // ---- in words ----------------------------------------------------------------------------------------------------

  /** @param {number} version  @param {string} key */
  questionOf(version, key) {
    return this.schemas[version]?.questions.find((question) => question.key === key);
  }

  /** An answer in words. @param {Item} item  @param {Answers} answers  @param {string} path */
  textAt(item, answers, path) {
    const question = this.questionOf(item.schema, path.split("/").at(-1) ?? "");
    const value = valueAt(answers, path);
    return question ? answerText(question, value) : String(value ?? gettext("not answered"));
  }

  /** The checked answer in words, "" if all are checked. @param {Item} item  @param {Answers} answers */
  checkedText(item, answers) {
    return this.checked ? this.textAt(item, answers, this.checked) : "";
  }

  /** A class of labels in words, "" if there are no classes. @param {string} label */
  classText(label) {
    for (const version of Object.keys(this.schemas).reverse()) {
      const question = this.questionOf(Number(version), this.checked);
      const option = question?.options?.find(({ value }) => String(value) === label);
      if (question && option) return answerText(question, option.value);
    }
    return this.checked ? label : "";
  }

  // ---- the draft, kept by tab --------------------------------------------------------------------------------------

  /** @param {Draft | null} draft */
  keepDraft(draft) {
    try {
      sessionStorage.setItem(this.draftKey, JSON.stringify(draft));
    } catch {
      // A browser that keeps nothing: it stays on the page.
    }
  }

  /** @param {Item} item  @returns {Draft | null} */
  draftFor(item) {
    try {
      /** @type {Draft | null} */
      const draft = JSON.parse(sessionStorage.getItem(this.draftKey) ?? "null");
      return draft?.item === item.id ? draft : null;
    } catch {
      return null;
    }
  }
}

// ---- answers compared -----------------------------------------------------------------------------------------------

/** @param {Answers} answers  @param {string} path  @returns {Value | undefined} */
export function valueAt(answers, path) {
  const [key, position] = path.split("/").reverse();
  return position === undefined ? answers.dialogue[key] : answers.utterances[position]?.[key];
}

/** What two people answered differently. @param {Answers} one  @param {Answers} other  @returns {string[]} paths */
function differingPaths(one, other) {
  /** @type {Set<string>} */
  const paths = new Set();
  for (const { dialogue, utterances } of [one, other]) {
    for (const key of Object.keys(dialogue)) paths.add(key);
    for (const [position, answers] of Object.entries(utterances))
      for (const key of Object.keys(answers)) paths.add(`${position}/${key}`);
  }
  return [...paths].filter((path) => JSON.stringify(valueAt(one, path)) !== JSON.stringify(valueAt(other, path)));
}

/**
 * If one question is checked, what only one of them was asked or answered is not a disagreement.
 * @param {Answers} own  @param {Answers} label  @param {string} checked  the checked question; "": every compared answer
 */
export function disagreements(own, label, checked) {
  const paths = differingPaths(own, label);
  if (!checked) return paths;
  return paths.filter((path) => [own, label].every((answers) => valueAt(answers, path) !== undefined));
}

/** Whether the answers equal the label in all that is checked. @param {Answers} own  @param {Answers} label  @param {string} checked */
export function isSameAsLabel(own, label, checked) {
  const paths = differingPaths(own, label);
  return checked ? !paths.includes(checked) : paths.length === 0;
}
