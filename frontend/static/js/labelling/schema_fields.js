// @ts-check
/**
 * Fields of a form, each for one name of a part of the questions: a change goes into the part at once. data-path is the
 * path of the name in the questions, as problems give it: "questions[0].options[1].text.en".
 */
import { createElement, gettext } from "../shared/page.js";
import { flow, Raw } from "./schema_text.js";

/** @typedef {Record<string, any>} Part  a question, an option, or a text in two languages */

/** @param {string} text  a whole number where it looks like one */
export const numberOrWord = (text) => (/^-?(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : text);

/** @param {unknown} value  @returns {value is Part} */
export const isPart = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @param {string} text  speakers with commas between */
const splitSpeakers = (text) =>
  text
    .split(/[,，、]/)
    .map((speaker) => speaker.trim())
    .filter(Boolean);

/** @param {unknown} value  @returns {string} as a field shows it */
function textOf(value) {
  if (value === undefined || value === null) return "";
  return isPart(value) ? flow(value) : String(value);
}

export class Fields {
  #count = 0;

  /** @param {() => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
  }

  createId() {
    this.#count += 1;
    return `field-${this.#count}`;
  }

  /** @param {string} label  @param {HTMLElement} control  @param {string} [help] */
  #createField(label, control, help) {
    const holder = createElement("div", "field");
    const name = createElement("label", "", label);
    control.id = this.createId();
    name.htmlFor = control.id;
    holder.append(name, control);
    if (help) holder.append(createElement("p", "help", help));
    return holder;
  }

  /**
   * @param {Part} part  @param {string} name  @param {string} label  @param {string} path  of part
   * @param {{ read?: (text: string) => any, show?: (value: any) => string, keep?: boolean, rows?: number, mono?: boolean,
   *   numeric?: boolean, lang?: string, help?: string, after?: () => void }} [how]  keep: an empty one too
   */
  createLine(part, name, label, path, { read, show = textOf, keep = false, help, after, ...look } = {}) {
    const control = createLineControl(look);
    control.value = part[name] === undefined || part[name] === null ? "" : show(part[name]);
    control.dataset.path = `${path}.${name}`;
    control.addEventListener("input", () => {
      const text = control.value;
      if (text.trim() || keep) part[name] = read ? read(text.trim()) : text;
      else delete part[name];
      after?.();
      this.onChange();
    });
    return this.#createField(label, control, help);
  }

  /** A text in two languages; removed if both are empty. @param {Part} part  @param {string} name  @param {string} path  @param {string} en  @param {string} zh  @param {() => void} [after] */
  createTranslated(part, name, path, en, zh, after) {
    const text = isPart(part[name]) ? part[name] : { en: "", zh: "" };
    const store = () => {
      if (text.en || text.zh || name === "text") part[name] = text;
      else delete part[name];
      after?.();
    };
    const rows = name === "guideline" ? 3 : name === "text" ? 2 : 1;
    return this.createLanguages(text, `${path}.${name}`, [en, zh], { rows, after: store });
  }

  /** @param {Part} text  en and zh  @param {string} path  @param {[string, string]} labels  @param {{ rows: number, after: () => void }} how */
  createLanguages(text, path, [en, zh], { rows, after }) {
    const pair = createElement("div", "field-row two");
    pair.append(
      this.createLine(text, "en", en, path, { keep: true, rows, lang: "en", after }),
      this.createLine(text, "zh", zh, path, { keep: true, rows, lang: "zh-Hans", after }),
    );
    return pair;
  }

  /** YAML in one line. @param {Part} part  @param {string} name  @param {string} label  @param {string} path  @param {string} help */
  createYaml(part, name, label, path, help) {
    return this.createLine(part, name, label, path, { read: (text) => new Raw(text), show: flow, mono: true, help });
  }

  /** @param {Part} part  @param {string} path */
  createSpeakers(part, path) {
    return this.createLine(part, "speakers", gettext("Only for utterances of"), path, {
      read: splitSpeakers,
      show: (value) => [value].flat().join(", "),
      help: gettext("Speakers, separated by commas; empty: everybody."),
    });
  }

  /**
   * @param {Part} part  @param {string} name  @param {string} label  @param {string} path  @param {Record<string, string>} choices
   * @param {() => void} [after]  in place of onChange
   */
  createSelect(part, name, label, path, choices, after = this.onChange) {
    const control = createElement("select");
    const current = String(part[name] ?? "");
    const all = current in choices ? choices : { [current]: current || "–", ...choices };
    for (const [value, text] of Object.entries(all))
      control.append(new Option(text, value, value === current, value === current));
    control.dataset.path = `${path}.${name}`;
    control.addEventListener("change", () => {
      if (control.value) part[name] = control.value;
      else delete part[name];
      after();
    });
    return this.#createField(label, control);
  }

  /** @param {Part} part  @param {string} name  @param {string} label  @param {string} path  @param {boolean} usual  not stored */
  createTick(part, name, label, path, usual) {
    const holder = createElement("label", "choice");
    const control = createElement("input");
    control.type = "checkbox";
    control.id = this.createId();
    control.checked = part[name] ?? usual;
    control.dataset.path = `${path}.${name}`;
    control.addEventListener("change", () => {
      if (control.checked === usual) delete part[name];
      else part[name] = control.checked;
      this.onChange();
    });
    holder.append(control, createElement("span", "", label));
    return holder;
  }
}

/** @param {{ rows?: number, mono?: boolean, numeric?: boolean, lang?: string }} look */
function createLineControl({ rows = 0, mono, numeric, lang }) {
  const control = createElement(rows > 0 ? "textarea" : "input");
  if (control instanceof HTMLTextAreaElement) control.rows = rows;
  control.autocomplete = "off";
  if (mono) {
    control.classList.add("mono");
    control.spellcheck = false;
  }
  if (numeric) control.inputMode = "numeric";
  if (lang) control.lang = lang;
  return control;
}

/** A button that moves, adds or removes something. @param {string} text  @param {() => void} run  @param {{ move?: string, isOff?: boolean, label?: string }} [how] */
export function createAction(text, run, { move, isOff = false, label } = {}) {
  const button = createElement("button", "button quiet", text);
  button.type = "button";
  button.disabled = isOff;
  if (move) button.dataset.move = move;
  if (label) button.setAttribute("aria-label", label);
  button.addEventListener("click", run);
  return button;
}

/** @param {any[]} rows  @param {number} n  @param {1 | -1} step  @returns {boolean} whether there is a row to change places with */
export function swapRows(rows, n, step) {
  if (!rows[n + step]) return false;
  [rows[n], rows[n + step]] = [rows[n + step], rows[n]];
  return true;
}
