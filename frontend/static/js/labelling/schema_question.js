// @ts-check
/** One question in the form: its fields, and the list of its options. */
import { createElement, format, gettext } from "../shared/page.js";
import { createAction, isPart, numberOrWord, swapRows } from "./schema_fields.js";
import { Raw } from "./schema_text.js";

/** @typedef {import("./schema_fields.js").Part} Part */

const WITH_OPTIONS = ["choice", "choices", "scale"];
/** @type {Record<string, string>} */
export const KINDS = {
  choice: gettext("one option"),
  choices: gettext("several options"),
  scale: gettext("scale of numbers"),
  slider: gettext("slider"),
  text: gettext("words"),
};
/** @type {Record<string, string>} */
export const SCOPES = { dialogue: gettext("the dialogue"), utterance: gettext("each utterance") };
/** @type {Record<string, string>} */
const REQUIRED = { yes: gettext("always"), no: gettext("never"), when: gettext("only when…") };
/** @type {Record<string, string>} */
const NUGGETS = {
  "": "–",
  trigger: gettext("trigger"),
  regular: gettext("regular"),
  goal: gettext("goal"),
  none: gettext("no nugget"),
};
const LINE_END = " ↵ "; // within an example, whose textarea has one a line
const NUMERIC = { read: numberOrWord, numeric: true };

/** Take away what the kind or scope of a question cannot have. @param {Part} question */
function removeImpossible(question) {
  const { kind, scope } = question;
  if (WITH_OPTIONS.includes(kind)) question.options ??= [];
  else delete question.options;
  if (kind !== "choices") for (const option of question.options ?? []) delete option.alone;
  if (kind !== "slider") for (const name of ["low", "high", "min", "max"]) delete question[name];
  if (kind !== "text") delete question.max_length;
  if (scope !== "utterance") delete question.speakers;
  if (scope !== "utterance" || kind !== "choice") delete question.runs;
}

export class QuestionFields {
  /** @param {import("./schema_form.js").Form} form */
  constructor(form) {
    this.form = form;
    this.fields = form.fields;
  }

  /** @param {Part} question  @param {string} path  @param {() => void} retitle  @returns {HTMLElement[]} */
  create(question, path, retitle) {
    const { fields } = this;
    const redraw = () => {
      removeImpossible(question);
      this.form.redraw();
    };
    const names = createElement("div", "field-row");
    names.append(
      fields.createLine(question, "key", gettext("Name in the data"), path, { mono: true, after: retitle }),
      fields.createSelect(question, "scope", gettext("Asked about"), path, SCOPES, redraw),
      fields.createSelect(question, "kind", gettext("Kind"), path, KINDS, redraw),
    );
    return [
      names,
      fields.createTranslated(question, "text", path, gettext("Text in English"), gettext("Text in Chinese"), retitle),
      ...this.#createKind(question, path),
      this.#createMore(question, path, redraw),
    ];
  }

  /** What only questions of this kind have. @param {Part} question  @param {string} path  @returns {HTMLElement[]} */
  #createKind(question, path) {
    if (WITH_OPTIONS.includes(question.kind)) return [new OptionList(this.form, question, path).element];
    if (question.kind === "slider") return this.#createSlider(question, path);
    if (question.kind !== "text") return [];
    return [this.fields.createLine(question, "max_length", gettext("Most characters"), path, NUMERIC)];
  }

  /** @param {Part} question  @param {string} path */
  #createSlider(question, path) {
    const { fields } = this;
    const row = createElement("div", "field-row");
    row.append(
      fields.createLine(question, "min", gettext("From"), path, NUMERIC),
      fields.createLine(question, "max", gettext("To"), path, NUMERIC),
    );
    return [
      fields.createTranslated(question, "low", path, gettext("Low end in English"), gettext("Low end in Chinese")),
      fields.createTranslated(question, "high", path, gettext("High end in English"), gettext("High end in Chinese")),
      row,
    ];
  }

  /** @param {Part} question  @param {string} path  @param {() => void} redraw */
  #createMore(question, path, redraw) {
    const { fields } = this;
    const more = createElement("details", "more");
    const body = createElement("div", "stack tight");
    const example = gettext("For example {question: quality, in: [1]}; empty: always.");
    body.append(fields.createYaml(question, "when", gettext("Shown only when"), path, example));
    const required = createElement("div", "field-row");
    required.append(this.#createRequired(question, path, redraw));
    if (isPart(question.required))
      required.append(fields.createYaml(question, "required", gettext("Required when"), path, example));
    body.append(required);
    if (question.scope === "utterance") body.append(fields.createSpeakers(question, path));
    body.append(createGuidelines(fields, question, path), this.#createSets(question, path));
    const isCompared = ["choice", "scale"].includes(question.kind);
    body.append(fields.createTick(question, "agree", gettext("Counts towards agreement"), path, isCompared));
    if (question.scope === "utterance" && question.kind === "choice")
      body.append(fields.createTick(question, "runs", gettext("Equal labels in a row are one nugget"), path, false));
    more.append(createElement("summary", "", gettext("Conditions, guideline and more")), body);
    more.open = ["when", "sets", "guideline", "speakers"].some((name) => question[name]) || isPart(question.required);
    return more;
  }

  /** @param {Part} question  @param {string} path */
  #createSets(question, path) {
    const example = gettext("For example [{when: {question: coherent, in: [0]}, value: 0}]");
    return this.fields.createYaml(question, "sets", gettext("Answers that follow from others"), path, example);
  }

  /** @param {Part} question  @param {string} path  @param {() => void} redraw */
  #createRequired(question, path, redraw) {
    const choice = { how: question.required === false ? "no" : isPart(question.required) ? "when" : "yes" };
    return this.fields.createSelect(choice, "how", gettext("Required"), path, REQUIRED, () => {
      if (choice.how === "yes") delete question.required;
      else question.required = choice.how === "no" ? false : new Raw("{question: …, in: […]}");
      redraw();
    });
  }
}

/** @param {import("./schema_fields.js").Fields} fields  @param {Part} part  @param {string} path */
function createGuidelines(fields, part, path) {
  const [en, zh] = [gettext("Guideline in English"), gettext("Guideline in Chinese")];
  return fields.createTranslated(part, "guideline", path, en, zh);
}

class OptionList {
  /** @param {import("./schema_form.js").Form} form  @param {Part} question  @param {string} path  of the question */
  constructor(form, question, path) {
    this.form = form;
    this.fields = form.fields;
    this.question = question;
    this.path = `${path}.options`;
    question.options ??= [];
    /** @type {Part[]} */
    this.rows = question.options;
    this.list = createElement("div", "stack tight");
    this.list.dataset.path = this.path;
    this.list.id = this.fields.createId();
    this.list.tabIndex = -1;
    this.#draw();
    this.element = createElement("fieldset", "stack tight options-form");
    const foot = createElement("p", "row");
    foot.append(createAction(gettext("Add an option"), () => this.#add()));
    this.element.append(createElement("legend", "label", gettext("Options")), this.list, foot);
  }

  #draw() {
    this.list.replaceChildren(...this.rows.map((option, n) => this.#createOption(option, n)));
  }

  /** @param {string} [message] */
  #onShape(message = "") {
    this.#draw();
    this.form.options.onShape(message);
  }

  // ---- changes -----------------------------------------------------------------------------------------------------

  #add() {
    const numbers = this.rows.map(({ value }) => value).filter((value) => typeof value === "number");
    const areNumbers = this.question.kind === "scale" || (numbers.length > 0 && numbers.length === this.rows.length);
    const value = areNumbers ? Math.max(0, ...numbers) + 1 : `option_${this.rows.length + 1}`;
    this.rows.push({ value, text: { en: "", zh: "" } });
    this.#onShape();
    this.form.fieldOf(`${this.path}[${this.rows.length - 1}].value`)?.focus();
  }

  /** @param {number} n  @param {1 | -1} step  @param {string} move  the button that keeps the focus */
  #move(n, step, move) {
    if (!swapRows(this.rows, n, step)) return;
    this.#onShape();
    this.form.focusPart(`${this.path}[${n + step}]`, move);
  }

  /** @param {number} n */
  #remove(n) {
    this.rows.splice(n, 1);
    this.#onShape(format(gettext("Option {n} is removed."), { n: n + 1 }));
    const next = this.form.fieldOf(`${this.path}[${Math.min(n, this.rows.length - 1)}].value`);
    (next ?? this.form.fieldOf(this.path))?.focus();
  }

  // ---- one option --------------------------------------------------------------------------------------------------

  /** @param {Part} option  @param {number} n */
  #createOption(option, n) {
    const path = `${this.path}[${n}]`;
    const name = format(gettext("Option {n}"), { n: n + 1 });
    const item = createElement("div", "option-form");
    item.dataset.path = path;
    item.tabIndex = -1;
    item.setAttribute("role", "group");
    item.setAttribute("aria-label", name);
    item.append(this.#createOptionLine(option, n, path, name), this.#createMore(option, path));
    return item;
  }

  /** @param {Part} option  @param {number} n  @param {string} path  @param {string} name */
  #createOptionLine(option, n, path, name) {
    const { fields } = this;
    const line = createElement("div", "option-line");
    const actions = createElement("div", "row option-acts");
    const isLast = n === this.rows.length - 1;
    const actionNames = [gettext("Move up"), gettext("Move down"), gettext("Remove")];
    const [up, down, remove] = actionNames.map((action) => `${name}: ${action}`);
    if (!isPart(option.text)) option.text = { en: "", zh: "" };
    actions.append(
      createAction("↑", () => this.#move(n, -1, "up"), { move: "up", isOff: n === 0, label: up }),
      createAction("↓", () => this.#move(n, 1, "down"), { move: "down", isOff: isLast, label: down }),
      createAction("×", () => this.#remove(n), { label: remove }),
    );
    line.append(
      fields.createLine(option, "value", gettext("Value"), path, { read: numberOrWord, mono: true }),
      fields.createLine(option.text, "en", gettext("English"), `${path}.text`, { keep: true, lang: "en" }),
      fields.createLine(option.text, "zh", gettext("Chinese"), `${path}.text`, { keep: true, lang: "zh-Hans" }),
      actions,
    );
    return line;
  }

  /** @param {Part} option  @param {string} path */
  #createMore(option, path) {
    const { fields } = this;
    const isOfUtterance = this.question.scope === "utterance";
    const more = createElement("details", "more");
    const body = createElement("div", "stack tight");
    const row = createElement("div", "field-row");
    row.append(fields.createLine(option, "key", gettext("Key on the keyboard"), path, { mono: true }));
    if (isOfUtterance) row.append(fields.createSelect(option, "nugget", gettext("Meaning as a nugget"), path, NUGGETS));
    const countsAs = { read: numberOrWord, mono: true };
    row.append(fields.createLine(option, "counts_as", gettext("Counts as the option"), path, countsAs));
    body.append(row);
    if (this.question.kind !== "choices")
      body.append(fields.createTick(option, "apart", gettext("Not on the scale: shown below the others"), path, false));
    else body.append(fields.createTick(option, "alone", gettext("Excludes the others"), path, false));
    if (isOfUtterance) body.append(fields.createSpeakers(option, path));
    body.append(createGuidelines(fields, option, path), this.#createExamples(option, path));
    more.append(createElement("summary", "", gettext("More")), body);
    return more;
  }

  /** Examples in two languages, one a line in each. @param {Part} option  @param {string} path */
  #createExamples(option, path) {
    const examples = /** @type {Part[]} */ (Array.isArray(option.examples) ? option.examples : []);
    const linesIn = (/** @type {string} */ code) =>
      examples.map((example) => String(example?.[code] ?? "").replaceAll("\n", LINE_END)).join("\n");
    const text = { en: linesIn("en"), zh: linesIn("zh") };
    const store = () => {
      const [en, zh] = [text.en, text.zh].map((lines) => String(lines ?? "").split("\n"));
      const pairs = Array.from({ length: Math.max(en.length, zh.length) }, (_none, n) => ({
        en: (en[n] ?? "").replaceAll(LINE_END, "\n"),
        zh: (zh[n] ?? "").replaceAll(LINE_END, "\n"),
      }));
      const written = pairs.filter((pair) => pair.en.trim() || pair.zh.trim());
      if (written.length > 0) option.examples = written;
      else delete option.examples;
    };
    return this.fields.createLanguages(
      text,
      `${path}.examples`,
      [gettext("Examples in English, one per line"), gettext("Examples in Chinese, one per line")],
      { rows: 2, after: store },
    );
  }
}
