// @ts-check
/** The questions as a form: every change goes into the data at once, and problems are shown beside their fields. */
import { createElement, format, gettext, joinSentences } from "../shared/page.js";
import { createAction, Fields, isPart, swapRows } from "./schema_fields.js";
import { KINDS, QuestionFields, SCOPES } from "./schema_question.js";
import { Raw } from "./schema_text.js";

/**
 * @typedef {import("./schema_fields.js").Part} Part
 * @typedef {{ path: string, line: number | null, message: string, remedy: string }} Problem
 * @typedef {{ list: HTMLElement, onChange: () => void, onShape: (message: string) => void }} Options
 *   onShape: something was added, removed or moved
 */

/** Whether the form can show it. @param {unknown} data  @returns {data is { questions: Part[] }} */
export function isFormable(data) {
  if (!isPart(data) || !Array.isArray(data.questions)) return false;
  return data.questions.every((/** @type {unknown} */ question) => {
    if (!isPart(question)) return false;
    return question.options === undefined || (Array.isArray(question.options) && question.options.every(isPart));
  });
}

/** A copy, with the lines of YAML as they are. @param {any} part  @returns {any} */
function copyPart(part) {
  if (part instanceof Raw || !(part instanceof Object)) return part;
  if (Array.isArray(part)) return part.map(copyPart);
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, copyPart(value)]));
}

export class Form {
  /** @type {{ questions: Part[] }} */
  data = { questions: [] };
  /** @type {Set<Part>} */
  #open = new Set();

  /** @param {Options} options */
  constructor(options) {
    this.options = options;
    this.fields = new Fields(options.onChange);
    this.questionFields = new QuestionFields(this);
    options.list.addEventListener("keydown", (event) => this.#onKey(event));
  }

  /** @param {{ questions: Part[] }} data  taken, not copied */
  show(data) {
    const open = new Set(this.data.questions.filter((question) => this.#open.has(question)).map(({ key }) => key));
    this.data = data;
    this.#open = new Set(data.questions.filter(({ key }) => open.has(key)));
    this.#draw();
  }

  #draw() {
    const items = this.data.questions.map((question, n) => this.#createQuestion(question, n));
    this.options.list.replaceChildren(...items);
  }

  /** Draw the data again after a change that other fields follow; the focus stays. */
  redraw() {
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.path;
    this.#draw();
    this.options.onChange();
    if (focused) this.fieldOf(focused)?.focus();
  }

  // ---- problems ----------------------------------------------------------------------------------------------------

  /** @param {Problem[]} problems */
  markProblems(problems) {
    const { list } = this.options;
    for (const message of list.querySelectorAll(".field-problem")) message.remove();
    for (const field of list.querySelectorAll("[aria-invalid]")) {
      field.removeAttribute("aria-invalid");
      field.removeAttribute("aria-describedby");
    }
    for (const item of list.querySelectorAll(".has-problem")) item.classList.remove("has-problem");
    for (const problem of problems) this.#markProblem(problem);
  }

  /** @param {Problem} problem */
  #markProblem({ path, message, remedy }) {
    const field = this.fieldOf(path);
    field?.closest("li.question-form")?.classList.add("has-problem");
    if (!field || field.matches("li")) return;
    const text = createElement("p", "field-problem", joinSentences(message, remedy));
    text.id = `${field.id}-problem`;
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", text.id);
    field.after(text);
  }

  /** The field of a path, or of what contains it. @param {string} path  @returns {HTMLElement | null} */
  fieldOf(path) {
    for (let part = path; part; part = part.replace(/(?:\.[^.[\]]*|\[\d+\]|^[^.[]+)$/, "")) {
      /** @type {HTMLElement | null} */
      const field = this.options.list.querySelector(`[data-path="${CSS.escape(part)}"]`);
      if (field) return field;
    }
    return null;
  }

  /** Show where a problem is. @param {string} path */
  goTo(path) {
    const field = this.fieldOf(path);
    if (!field) return;
    for (let fold = field.closest("details"); fold; fold = fold.parentElement?.closest("details") ?? null)
      fold.open = true;
    /** @type {HTMLElement} */
    const target = field.matches("li") ? (field.querySelector("summary") ?? field) : field;
    target.focus();
    target.scrollIntoView({ block: "center" });
  }

  // ---- the list of questions ---------------------------------------------------------------------------------------

  addQuestion() {
    const keys = new Set(this.data.questions.map(({ key }) => key));
    let n = this.data.questions.length + 1;
    while (keys.has(`question_${n}`)) n += 1;
    const options = [
      { value: "yes", text: { en: "Yes", zh: "是" } },
      { value: "no", text: { en: "No", zh: "否" } },
    ];
    const text = { en: "New question", zh: "新题目" };
    const question = { key: `question_${n}`, scope: "dialogue", kind: "choice", text, options };
    this.#insert(this.data.questions.length, question);
    this.#focusNewText(`questions[${this.data.questions.length - 1}].text`);
  }

  /** What is typed takes the place of the text that a new question has. @param {string} path */
  #focusNewText(path) {
    const fields = ["en", "zh"].map((code) => this.fieldOf(`${path}.${code}`));
    for (const field of fields)
      field?.addEventListener("focus", () => /** @type {HTMLTextAreaElement} */ (field).select(), { once: true });
    fields[0]?.focus();
    fields[0]?.scrollIntoView({ block: "center" });
  }

  /** @param {number} n  @param {Part} question */
  #insert(n, question) {
    this.data.questions.splice(n, 0, question);
    this.#open.add(question);
    this.#onShape(gettext("Question {n} is added."), n);
  }

  /** @param {string} message  @param {number} n */
  #onShape(message, n) {
    this.#draw();
    this.options.onShape(format(message, { n: n + 1 }));
  }

  /** @param {number} n  @param {1 | -1} step  @param {string} [move]  the button that keeps the focus */
  #move(n, step, move) {
    if (!swapRows(this.data.questions, n, step)) return;
    this.#onShape(gettext("Now question {n}."), n + step);
    this.focusPart(`questions[${n + step}]`, move);
  }

  /** @param {number} n */
  #duplicate(n) {
    const copy = copyPart(this.data.questions[n]);
    copy.key = `${String(copy.key ?? "question").slice(0, 30)}_${n + 2}`;
    this.#insert(n + 1, copy);
    this.focusPart(`questions[${n + 1}]`);
  }

  /** @param {number} n */
  #remove(n) {
    this.data.questions.splice(n, 1);
    this.#onShape(gettext("Question {n} is removed."), n);
    if (this.data.questions.length > 0) this.focusPart(`questions[${Math.min(n, this.data.questions.length - 1)}]`);
    else document.getElementById("add")?.focus();
  }

  /** Focus a question or an option, or a button that moves it. @param {string} path  @param {string} [move] */
  focusPart(path, move) {
    const item = this.options.list.querySelector(`[data-path="${CSS.escape(path)}"]`);
    /** @type {HTMLElement | null | undefined} */
    const button = move ? item?.querySelector(`[data-move=${move}]:not(:disabled)`) : null;
    (button ?? item?.querySelector("summary") ?? /** @type {HTMLElement | null} */ (item))?.focus();
  }

  /** Alt with an arrow moves the question that has the focus. @param {KeyboardEvent} event */
  #onKey(event) {
    if (!event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
    const target = /** @type {Element} */ (event.target);
    const item = target.closest("li.question-form");
    if (!item || target.matches("select")) return;
    event.preventDefault();
    this.#move([...this.options.list.children].indexOf(item), event.key === "ArrowUp" ? -1 : 1);
  }

  // ---- one question ------------------------------------------------------------------------------------------------

  /** @param {Part} question  @param {number} n */
  #createQuestion(question, n) {
    const path = `questions[${n}]`;
    const item = createElement("li", "question-form");
    const fold = createElement("details");
    const title = createElement("summary");
    const body = createElement("div", "stack tight question-fields");
    const retitle = () => this.#drawTitle(title, question, n);
    item.dataset.path = path;
    fold.open = this.#open.has(question);
    fold.addEventListener("toggle", () => {
      if (fold.open) this.#open.add(question);
      else this.#open.delete(question);
    });
    retitle();
    body.append(this.#createActions(n), ...this.questionFields.create(question, path, retitle));
    fold.append(title, body);
    item.append(fold);
    return item;
  }

  /** @param {HTMLElement} title  @param {Part} question  @param {number} n */
  #drawTitle(title, question, n) {
    const isChinese = document.documentElement.lang.startsWith("zh");
    const text = (isChinese ? question.text?.zh : question.text?.en) || question.key || gettext("New question");
    const words = createElement("span", "grow clip", String(text));
    words.dir = "auto";
    const kind = KINDS[question.kind] ?? question.kind ?? "";
    const scope = SCOPES[question.scope] ?? question.scope ?? "";
    title.replaceChildren(
      createElement("span", "num muted", String(n + 1)),
      words,
      createElement("span", "small muted kind", `${scope} · ${kind}`),
    );
  }

  /** @param {number} n */
  #createActions(n) {
    const isLast = n === this.data.questions.length - 1;
    const row = createElement("div", "row acts");
    row.append(
      createAction(`↑ ${gettext("Move up")}`, () => this.#move(n, -1, "up"), { move: "up", isOff: n === 0 }),
      createAction(`↓ ${gettext("Move down")}`, () => this.#move(n, 1, "down"), { move: "down", isOff: isLast }),
      createAction(gettext("Duplicate"), () => this.#duplicate(n)),
      createAction(gettext("Remove"), () => this.#remove(n)),
    );
    return row;
  }
}
