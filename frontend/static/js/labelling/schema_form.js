// @ts-check
/** The questions as a form: every change goes into the data at once; what is beside a field names its path. */
import { format, gettext } from "../shared/page.js";
import { flow, Raw } from "./schema_text.js";

/**
 * @typedef {Record<string, any>} Part  a question, an option, or a text in two languages
 * @typedef {{ path: string, line: number | null, message: string, remedy: string }} Problem
 * @typedef {{ list: HTMLElement, onChange: () => void, onShape: (said: string) => void }} Options
 *   onShape: something was added, removed or moved, after a picture of the data was kept (`before`)
 */

const WITH_OPTIONS = ["choice", "choices", "scale"];
/** @type {Record<string, string>} */
const KINDS = {
  choice: gettext("one option"),
  choices: gettext("several options"),
  scale: gettext("scale of numbers"),
  slider: gettext("slider"),
  text: gettext("words"),
};
/** @type {Record<string, string>} */
const SCOPES = { dialogue: gettext("the dialogue"), utterance: gettext("each utterance") };
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

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag  @param {string} [name]  @param {string} [text]  @returns {HTMLElementTagNameMap[T]}
 */
function make(tag, name = "", text) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
}

/** @param {string} text  a whole number where it looks like one */
const numberOrWord = (text) => (/^-?(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : text);

/** @param {unknown} value  @returns {value is Part} */
const isPart = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether the form can show it. @param {unknown} data  @returns {data is { questions: Part[] }} */
export function isFormable(data) {
  if (!isPart(data) || !Array.isArray(data.questions)) return false;
  return data.questions.every((/** @type {unknown} */ one) => {
    if (!isPart(one)) return false;
    return one.options === undefined || (Array.isArray(one.options) && one.options.every(isPart));
  });
}

export class Form {
  /** @type {{ questions: Part[] }} */
  data = { questions: [] };
  /** @type {Set<Part>} */
  #open = new Set();
  #ids = 0;

  /** @param {Options} options */
  constructor(options) {
    this.options = options;
    options.list.addEventListener("keydown", (event) => this.#onKey(event));
  }

  /** @param {{ questions: Part[] }} data  taken, not copied */
  show(data) {
    const open = new Set(this.data.questions.filter((one) => this.#open.has(one)).map((one) => one.key));
    this.data = data;
    this.#open = new Set(data.questions.filter((one) => open.has(one.key)));
    this.draw();
  }

  draw() {
    this.options.list.replaceChildren(...this.data.questions.map((question, n) => this.#question(question, n)));
  }

  /** @param {Problem[]} problems */
  mark(problems) {
    const { list } = this.options;
    for (const one of list.querySelectorAll(".field-problem")) one.remove();
    for (const one of list.querySelectorAll("[aria-invalid]")) {
      one.removeAttribute("aria-invalid");
      one.removeAttribute("aria-describedby");
    }
    for (const one of list.querySelectorAll(".has-problem")) one.classList.remove("has-problem");
    for (const problem of problems) this.#markOne(problem);
  }

  /** The field of a path, or of what contains it. @param {string} path  @returns {HTMLElement | null} */
  fieldOf(path) {
    for (let at = path; at; at = at.replace(/(?:\.[^.[\]]*|\[\d+\]|^[^.[]+)$/, "")) {
      /** @type {HTMLElement | null} */
      const found = this.options.list.querySelector(`[data-at="${CSS.escape(at)}"]`);
      if (found) return found;
    }
    return null;
  }

  /** Show where a problem is. @param {string} path */
  goTo(path) {
    const field = this.fieldOf(path);
    if (!field) return;
    for (let at = field.closest("details"); at; at = at.parentElement?.closest("details") ?? null) at.open = true;
    /** @type {HTMLElement} */
    const target = field.matches("li") ? (field.querySelector("summary") ?? field) : field;
    target.focus();
    target.scrollIntoView({ block: "center" });
  }

  /** @param {Problem} problem */
  #markOne({ path, message, remedy }) {
    const field = this.fieldOf(path);
    field?.closest("li.question-form")?.classList.add("has-problem");
    if (!field || field.matches("li")) return;
    const said = make("p", "field-problem", `${message} ${remedy}`.trim());
    said.id = `${field.id}-problem`;
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", said.id);
    field.after(said);
  }

  // ---- the list --------------------------------------------------------------------------------------------------

  add() {
    const taken = new Set(this.data.questions.map(({ key }) => key));
    let n = this.data.questions.length + 1;
    while (taken.has(`question_${n}`)) n += 1;
    const options = ["yes", "no"].map((value, at) => ({
      value,
      text: { en: ["Yes", "No"][at], zh: ["是", "否"][at] },
    }));
    const text = { en: "New question", zh: "新题目" };
    const made = { key: `question_${n}`, scope: "dialogue", kind: "choice", text, options };
    this.data.questions.push(made);
    this.#open.add(made);
    this.#shaped(gettext("Question {n} is added."), this.data.questions.length - 1);
    const at = `questions[${this.data.questions.length - 1}].text`;
    const fields = ["en", "zh"].map((side) => this.fieldOf(`${at}.${side}`));
    for (const field of fields)
      field?.addEventListener("focus", () => /** @type {HTMLTextAreaElement} */ (field).select(), { once: true });
    fields[0]?.focus();
    fields[0]?.scrollIntoView({ block: "center" });
  }

  /** @param {string} said  @param {number} n */
  #shaped(said, n) {
    this.draw();
    this.options.onShape(format(said, { n: n + 1 }));
  }

  /** @param {any[]} rows  @param {number} n  @param {1 | -1} step  @returns {boolean} */
  #swap(rows, n, step) {
    if (!rows[n + step]) return false;
    [rows[n], rows[n + step]] = [rows[n + step], rows[n]];
    return true;
  }

  /** @param {number} n  @param {1 | -1} step  @param {string} [act]  the button that keeps the focus */
  #move(n, step, act) {
    if (!this.#swap(this.data.questions, n, step)) return;
    this.#shaped(gettext("Now question {n}."), n + step);
    this.#focus(`questions[${n + step}]`, act);
  }

  /** @param {string} at  @param {string} [act] */
  #focus(at, act) {
    const item = this.options.list.querySelector(`[data-at="${CSS.escape(at)}"]`);
    /** @type {HTMLElement | null | undefined} */
    const button = act ? item?.querySelector(`[data-move=${act}]:not(:disabled)`) : null;
    (button ?? item?.querySelector("summary") ?? /** @type {HTMLElement | null} */ (item))?.focus();
  }

  /** @param {number} n */
  #copy(n) {
    const made = this.#plain(this.data.questions[n]);
    made.key = `${String(made.key ?? "question").slice(0, 30)}_${n + 2}`;
    this.data.questions.splice(n + 1, 0, made);
    this.#open.add(made);
    this.#shaped(gettext("Question {n} is added."), n + 1);
    this.#focus(`questions[${n + 1}]`);
  }

  /** A copy, with the lines of YAML as they are. @param {any} part  @returns {any} */
  #plain(part) {
    if (part instanceof Raw || !(part instanceof Object)) return part;
    if (Array.isArray(part)) return part.map((one) => this.#plain(one));
    return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, this.#plain(one)]));
  }

  /** @param {number} n */
  #remove(n) {
    this.data.questions.splice(n, 1);
    this.#shaped(gettext("Question {n} is removed."), n);
    if (this.data.questions.length > 0) this.#focus(`questions[${Math.min(n, this.data.questions.length - 1)}]`);
    else document.getElementById("add")?.focus();
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

  // ---- one question ----------------------------------------------------------------------------------------------

  /** @param {Part} question  @param {number} n */
  #question(question, n) {
    const at = `questions[${n}]`;
    const item = make("li", "question-form");
    const folded = make("details");
    const title = make("summary");
    item.dataset.at = at;
    folded.open = this.#open.has(question);
    const fillIn = () => {
      const body = make("div", "stack tight question-fields");
      body.append(...this.#fields(question, at, n, () => this.#title(title, question, n)));
      folded.append(body);
    };
    folded.addEventListener("toggle", () => {
      if (folded.open) this.#open.add(question);
      else this.#open.delete(question);
    });
    this.#title(title, question, n);
    folded.append(title);
    fillIn();
    item.append(folded);
    return item;
  }

  /** @param {HTMLElement} title  @param {Part} question  @param {number} n */
  #title(title, question, n) {
    const zh = document.documentElement.lang.startsWith("zh");
    const text = String((zh ? question.text?.zh : question.text?.en) || question.key || gettext("New question"));
    const words = make("span", "grow clip", text);
    words.dir = "auto";
    const kind = KINDS[question.kind] ?? question.kind ?? "";
    const scope = SCOPES[question.scope] ?? question.scope ?? "";
    title.replaceChildren(
      make("span", "num muted", String(n + 1)),
      words,
      make("span", "small muted kind", `${scope} · ${kind}`),
    );
  }

  /** @param {Part} question  @param {string} at  @param {number} n  @param {() => void} retitle  @returns {HTMLElement[]} */
  #fields(question, at, n, retitle) {
    const again = () => {
      this.#clean(question);
      const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.at;
      this.draw();
      this.options.onChange();
      if (focused) this.fieldOf(focused)?.focus();
    };
    const names = make("div", "field-row");
    names.append(
      this.#line(question, "key", gettext("Name in the data"), at, { mono: true, after: retitle }),
      this.#select(question, "scope", gettext("Asked about"), at, SCOPES, again),
      this.#select(question, "kind", gettext("Kind"), at, KINDS, again),
    );
    /** @type {HTMLElement[]} */
    const made = [
      this.#acts(n, this.data.questions.length),
      names,
      this.#both(question, "text", at, gettext("Text in English"), gettext("Text in Chinese"), retitle),
    ];
    if (WITH_OPTIONS.includes(question.kind)) made.push(this.#optionList(question, at));
    if (question.kind === "slider") made.push(...this.#slider(question, at));
    if (question.kind === "text")
      made.push(
        this.#line(question, "max_length", gettext("Most characters"), at, { read: numberOrWord, numeric: true }),
      );
    made.push(this.#more(question, at, again));
    return made;
  }

  /** What the new kind or scope cannot have. @param {Part} question */
  #clean(question) {
    const { kind, scope } = question;
    if (WITH_OPTIONS.includes(kind)) question.options ??= [];
    else delete question.options;
    if (kind !== "slider") for (const name of ["low", "high", "min", "max"]) delete question[name];
    if (kind !== "text") delete question.max_length;
    if (scope !== "utterance") delete question.speakers;
    if (scope !== "utterance" || kind !== "choice") delete question.runs;
  }

  /** @param {number} n  @param {number} of */
  #acts(n, of) {
    const row = make("div", "row acts");
    row.append(
      this.#act(`↑ ${gettext("Move up")}`, () => this.#move(n, -1, "up"), { move: "up", isOff: n === 0 }),
      this.#act(`↓ ${gettext("Move down")}`, () => this.#move(n, 1, "down"), { move: "down", isOff: n === of - 1 }),
      this.#act(gettext("Duplicate"), () => this.#copy(n)),
      this.#act(gettext("Remove"), () => this.#remove(n)),
    );
    return row;
  }

  /** @param {string} text  @param {() => void} run  @param {{ move?: string, isOff?: boolean, label?: string }} [how] */
  #act(text, run, { move, isOff = false, label } = {}) {
    const button = make("button", "button quiet", text);
    button.type = "button";
    button.disabled = isOff;
    if (move) button.dataset.move = move;
    if (label) button.setAttribute("aria-label", label);
    button.addEventListener("click", run);
    return button;
  }

  /** @param {Part} question  @param {string} at */
  #slider(question, at) {
    const row = make("div", "field-row");
    const how = { read: numberOrWord, numeric: true };
    row.append(
      this.#line(question, "min", gettext("From"), at, how),
      this.#line(question, "max", gettext("To"), at, how),
    );
    return [
      this.#both(question, "low", at, gettext("Low end in English"), gettext("Low end in Chinese")),
      this.#both(question, "high", at, gettext("High end in English"), gettext("High end in Chinese")),
      row,
    ];
  }

  /** @param {Part} question  @param {string} at  @param {() => void} again */
  #more(question, at, again) {
    const more = make("details", "more");
    const body = make("div", "stack tight");
    more.append(make("summary", "", gettext("Conditions, guideline and more")), body);
    body.append(
      this.#yaml(
        question,
        "when",
        gettext("Shown only when"),
        at,
        gettext("For example {question: quality, in: [1]}; empty: always."),
      ),
    );
    const how = make("div", "field-row");
    how.append(this.#required(question, at, again));
    if (isPart(question.required))
      how.append(
        this.#yaml(
          question,
          "required",
          gettext("Has to be answered when"),
          at,
          gettext("For example {question: quality, in: [1]}; empty: always."),
        ),
      );
    body.append(how);
    if (question.scope === "utterance") body.append(this.#speakers(question, at));
    body.append(
      this.#both(question, "guideline", at, gettext("Guideline in English"), gettext("Guideline in Chinese")),
    );
    body.append(
      this.#yaml(
        question,
        "sets",
        gettext("Answers that follow from others"),
        at,
        gettext("For example [{when: {question: coherent, in: [0]}, value: 0}]"),
      ),
    );
    const isAgreed = ["choice", "scale"].includes(question.kind);
    body.append(this.#tick(question, "agree", gettext("People are compared on it"), at, isAgreed));
    if (question.scope === "utterance" && question.kind === "choice")
      body.append(this.#tick(question, "runs", gettext("Equal labels in a row are one nugget"), at, false));
    more.open = ["when", "sets", "guideline", "speakers"].some((name) => question[name]) || isPart(question.required);
    return more;
  }

  /** @param {Part} question  @param {string} at  @param {() => void} again */
  #required(question, at, again) {
    const now = { how: question.required === false ? "no" : isPart(question.required) ? "when" : "yes" };
    return this.#select(now, "how", gettext("Has to be answered"), at, REQUIRED, () => {
      if (now.how === "yes") delete question.required;
      else question.required = now.how === "no" ? false : new Raw("{question: …, in: […]}");
      again();
    });
  }

  // ---- options ---------------------------------------------------------------------------------------------------

  /** @param {Part} question  @param {string} at */
  #optionList(question, at) {
    const box = make("fieldset", "stack tight options-form");
    const list = make("div", "stack tight");
    question.options ??= [];
    const rows = question.options;
    /** @param {string} [said]  @param {number} [n] */
    const drawn = (said, n = 0) => {
      list.replaceChildren(
        ...rows.map((/** @type {Part} */ option, /** @type {number} */ k) =>
          this.#option(question, option, k, at, drawn),
        ),
      );
      if (said !== undefined) this.options.onShape(said && format(said, { n: n + 1 }));
    };
    list.dataset.at = `${at}.options`;
    list.id = this.#id();
    list.tabIndex = -1;
    drawn();
    const add = this.#act(gettext("Add an option"), () => {
      const numbers = rows
        .map((/** @type {Part} */ one) => one.value)
        .filter((/** @type {unknown} */ one) => typeof one === "number");
      const isNumbers = question.kind === "scale" || (numbers.length > 0 && numbers.length === rows.length);
      const value = isNumbers ? Math.max(0, ...numbers) + 1 : `option_${rows.length + 1}`;
      rows.push({ value, text: { en: "", zh: "" } });
      drawn("");
      this.fieldOf(`${at}.options[${rows.length - 1}].value`)?.focus();
    });
    const foot = make("p", "row");
    foot.append(add);
    box.append(make("legend", "label", gettext("Options")), list, foot);
    return box;
  }

  /** @param {Part} question  @param {Part} option  @param {number} k  @param {string} above  @param {(said?: string, n?: number) => void} drawn */
  #option(question, option, k, above, drawn) {
    const [at, rows] = [`${above}.options[${k}]`, question.options];
    const item = make("div", "option-form");
    const acts = make("div", "row option-acts");
    const name = format(gettext("Option {n}"), { n: k + 1 });
    /** @param {1 | -1} step  @param {string} move */
    const go = (step, move) => {
      if (!this.#swap(rows, k, step)) return;
      drawn("");
      this.#focus(`${above}.options[${k + step}]`, move);
    };
    acts.append(
      this.#act("↑", () => go(-1, "up"), { move: "up", isOff: k === 0, label: `${name}: ${gettext("Move up")}` }),
      this.#act("↓", () => go(1, "down"), {
        move: "down",
        isOff: k === rows.length - 1,
        label: `${name}: ${gettext("Move down")}`,
      }),
      this.#act(
        "×",
        () => {
          rows.splice(k, 1);
          drawn(gettext("Option {n} is removed."), k);
          (
            this.fieldOf(`${above}.options[${Math.min(k, rows.length - 1)}].value`) ?? this.fieldOf(`${above}.options`)
          )?.focus();
        },
        { label: `${name}: ${gettext("Remove")}` },
      ),
    );
    item.dataset.at = at;
    item.tabIndex = -1;
    item.setAttribute("role", "group");
    item.setAttribute("aria-label", name);
    const line = make("div", "option-line");
    if (!isPart(option.text)) option.text = { en: "", zh: "" };
    const { text } = option;
    line.append(
      this.#line(option, "value", gettext("Value"), at, { read: numberOrWord, mono: true }),
      this.#line(text, "en", gettext("English"), `${at}.text`, { keep: true, lang: "en" }),
      this.#line(text, "zh", gettext("Chinese"), `${at}.text`, { keep: true, lang: "zh-Hans" }),
      acts,
    );
    item.append(line, this.#moreOfOption(question, option, at));
    return item;
  }

  /** @param {Part} question  @param {Part} option  @param {string} at */
  #moreOfOption(question, option, at) {
    const more = make("details", "more");
    const body = make("div", "stack tight");
    const row = make("div", "field-row");
    row.append(this.#line(option, "key", gettext("Key on the keyboard"), at, { mono: true }));
    if (question.scope === "utterance")
      row.append(this.#select(option, "nugget", gettext("Meaning as a nugget"), at, NUGGETS));
    row.append(
      this.#line(option, "counts_as", gettext("Counts as the option"), at, { read: numberOrWord, mono: true }),
    );
    body.append(row);
    if (question.scope === "utterance") body.append(this.#speakers(option, at));
    body.append(
      this.#both(option, "guideline", at, gettext("Guideline in English"), gettext("Guideline in Chinese")),
      this.#examples(option, at),
    );
    more.append(make("summary", "", gettext("More")), body);
    return more;
  }

  /** @param {Part} option  @param {string} at */
  #examples(option, at) {
    const rows = /** @type {Part[]} */ (Array.isArray(option.examples) ? option.examples : []);
    const sides = Object.fromEntries(
      ["en", "zh"].map((side) => [
        side,
        rows.map((one) => String(one?.[side] ?? "").replaceAll("\n", LINE_END)).join("\n"),
      ]),
    );
    const store = () => {
      const [en, zh] = [sides.en, sides.zh].map((text) => String(text ?? "").split("\n"));
      const made = Array.from({ length: Math.max(en.length, zh.length) }, (_none, n) => ({
        en: (en[n] ?? "").replaceAll(LINE_END, "\n"),
        zh: (zh[n] ?? "").replaceAll(LINE_END, "\n"),
      })).filter((one) => one.en.trim() || one.zh.trim());
      if (made.length > 0) option.examples = made;
      else delete option.examples;
    };
    const pair = make("div", "field-row two");
    pair.append(
      this.#line(sides, "en", gettext("Examples in English, one a line"), `${at}.examples`, {
        keep: true,
        rows: 2,
        lang: "en",
        after: store,
      }),
      this.#line(sides, "zh", gettext("Examples in Chinese, one a line"), `${at}.examples`, {
        keep: true,
        rows: 2,
        lang: "zh-Hans",
        after: store,
      }),
    );
    return pair;
  }

  // ---- fields ----------------------------------------------------------------------------------------------------

  #id() {
    this.#ids += 1;
    return `field-${this.#ids}`;
  }

  /** @param {string} label  @param {HTMLElement} control  @param {string} [help] */
  #field(label, control, help) {
    const holder = make("div", "field");
    const name = make("label", "", label);
    control.id = this.#id();
    name.htmlFor = control.id;
    holder.append(name, control);
    if (help) holder.append(make("p", "help", help));
    return holder;
  }

  /**
   * @param {Part} part  @param {string} name  @param {string} label  @param {string} at  the path of part
   * @param {{ read?: (text: string) => any, show?: (value: any) => string, keep?: boolean, rows?: number, mono?: boolean,
   *   numeric?: boolean, lang?: string, help?: string, after?: () => void }} [how]  keep: an empty one too
   */
  #line(part, name, label, at, { read, show, keep = false, rows = 0, mono, numeric, lang, help, after } = {}) {
    const control = rows > 0 ? make("textarea") : make("input");
    if (control instanceof HTMLTextAreaElement) control.rows = rows;
    const value = part[name];
    control.value =
      value === undefined || value === null ? "" : show ? show(value) : isPart(value) ? flow(value) : String(value);
    control.dataset.at = `${at}.${name}`;
    control.autocomplete = "off";
    if (mono) {
      control.classList.add("mono");
      control.spellcheck = false;
    }
    if (numeric) control.inputMode = "numeric";
    if (lang) control.lang = lang;
    control.addEventListener("input", () => {
      const text = control.value;
      if (text.trim() || keep) part[name] = read ? read(text.trim()) : text;
      else delete part[name];
      after?.();
      this.options.onChange();
    });
    return this.#field(label, control, help);
  }

  /** A text in two languages; without both it is none. @param {Part} part  @param {string} name  @param {string} at  @param {string} en  @param {string} zh  @param {() => void} [after] */
  #both(part, name, at, en, zh, after) {
    const text = isPart(part[name]) ? part[name] : { en: "", zh: "" };
    const store = () => {
      if (text.en || text.zh || name === "text") part[name] = text;
      else delete part[name];
      after?.();
    };
    const pair = make("div", "field-row two");
    const rows = name === "guideline" ? 3 : name === "text" ? 2 : 1;
    pair.append(
      this.#line(text, "en", en, `${at}.${name}`, { keep: true, rows, lang: "en", after: store }),
      this.#line(text, "zh", zh, `${at}.${name}`, { keep: true, rows, lang: "zh-Hans", after: store }),
    );
    return pair;
  }

  /** YAML in one line. @param {Part} part  @param {string} name  @param {string} label  @param {string} at  @param {string} help */
  #yaml(part, name, label, at, help) {
    return this.#line(part, name, label, at, { read: (text) => new Raw(text), show: flow, mono: true, help });
  }

  /** @param {Part} part  @param {string} at */
  #speakers(part, at) {
    const read = (/** @type {string} */ text) =>
      text
        .split(/[,，、]/)
        .map((one) => one.trim())
        .filter(Boolean);
    const show = (/** @type {unknown} */ value) => [value].flat().join(", ");
    return this.#line(part, "speakers", gettext("Only for utterances of"), at, {
      read,
      show,
      help: gettext("Speakers with commas between; empty: everybody."),
    });
  }

  /**
   * @param {Part} part  @param {string} name  @param {string} label  @param {string} at  @param {Record<string, string>} choices
   * @param {() => void} [after]
   */
  #select(part, name, label, at, choices, after) {
    const control = make("select");
    const now = String(part[name] ?? "");
    const all = now in choices ? choices : { [now]: now || "–", ...choices };
    for (const [value, text] of Object.entries(all))
      control.append(new Option(text, value, value === now, value === now));
    control.dataset.at = `${at}.${name}`;
    control.addEventListener("change", () => {
      if (control.value) part[name] = control.value;
      else delete part[name];
      if (after) after();
      else this.options.onChange();
    });
    return this.#field(label, control);
  }

  /** @param {Part} part  @param {string} name  @param {string} label  @param {string} at  @param {boolean} usual */
  #tick(part, name, label, at, usual) {
    const holder = make("label", "choice");
    const control = make("input");
    control.type = "checkbox";
    control.id = this.#id();
    control.checked = part[name] ?? usual;
    control.dataset.at = `${at}.${name}`;
    control.addEventListener("change", () => {
      if (control.checked === usual) delete part[name];
      else part[name] = control.checked;
      this.options.onChange();
    });
    holder.append(control, make("span", "", label));
    return holder;
  }
}
