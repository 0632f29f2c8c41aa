// @ts-check
/**
 * The questions of a schema over a dialogue: those about utterances beside them, the others in a panel. Drawn from
 * (schema content, utterances, answers) alone, so that a schema can be tried before it is used.
 *
 * One question is active: it has the frame, shows its keys, and takes them. Only what an answer changes is drawn again.
 */
import { format, PAGE_MESSAGES } from "../shared/messages.js";
import { isComposing, isTyping } from "../shared/shortcuts.js";
import { Rules } from "./schema.js";

/**
 * @typedef {{ en: string, zh: string }} Text
 * @typedef {{ value: number | string, text: Text, key?: string, speakers?: string[], guideline?: Text, examples?: Text[],
 *   nugget?: string }} Option
 * @typedef {{ key: string, scope: "dialogue" | "utterance", kind: "choice" | "choices" | "scale" | "slider" | "text",
 *   text: Text, options?: Option[], required?: any, speakers?: string[], runs?: boolean, guideline?: Text,
 *   low?: Text, high?: Text, min?: number, max?: number, max_length?: number }} Question
 * @typedef {{ questions: Question[] }} Content
 * @typedef {number | string | (number | string)[]} Value
 * @typedef {{ dialogue: Record<string, Value>, utterances: Record<string, Record<string, Value>> }} Answers
 * @typedef {{ position: number, speaker: string, text: string, time?: string }} Utterance
 * @typedef {{ index: number, path: string, question: Question, position: number | null, options: Option[], keys: string[],
 *   isShown: boolean, isFixed: boolean, home: HTMLElement, face: HTMLElement, control: HTMLElement | null }} Slot
 *   home: what is framed; face: where the answer is read; control: where it is given, where that is on the page
 * @typedef {{ answers: Answers, note: string }} Other  somebody's, nameless
 * @typedef {{ words: string, by: string, value: Value | null }} Said  an answer, in words too, and who gave it
 * @typedef {{ schema: Content, utterances: Utterance[], lang?: string, answers?: Answers, differences?: string[],
 *   others?: Other[], spread?: Record<string, Said[]> | null, isOpen?: boolean }} Shown
 *   spread: by differing question who answered what, for a trainer who decides
 */

const EMPTY = { isShown: true, isFixed: false, control: null };
const DIGITS = "123456789";
const LETTERS = "abcdfhilnopqrsuvwxyz0"; // without those of the page: e, g, j, k, m, t
const COLOURS = 6;
/** @type {Record<string, string>} */
const OF_ROLE = { trigger: "c4", regular: "c1", goal: "c3" };
const LONG_TEXT = 2000; // characters shown before "Show all"
const TYPED_NUMBER_MS = 1000;
const PAGE_STEP = 10;

/** @type {"en" | "zh"} */
let reads = document.documentElement.lang.startsWith("zh") ? "zh" : "en";
let messages = PAGE_MESSAGES;

/** Questions drawn from now on are in this language. @param {"en" | "zh"} language  @param {import("../shared/messages.js").Messages} itsMessages */
export function readIn(language, itsMessages) {
  reads = language;
  messages = itsMessages;
}

/** @param {Text | null | undefined} text */
const say = (text) => text?.[reads] ?? "";

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag  @param {string} [name]  its class  @param {string} [text]
 * @returns {HTMLElementTagNameMap[T]}
 */
function make(tag, name = "", text) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
}

/** @param {string} name  @param {string} text  @param {() => void} run */
function button(name, text, run) {
  const control = make("button", name, text);
  control.type = "button";
  control.addEventListener("click", run);
  return control;
}

/** @param {string} name */
function cap(name) {
  const key = make("kbd", "key", name.toUpperCase());
  key.setAttribute("aria-hidden", "true");
  return key;
}

/** A key for every option: its own, else the next free digit or letter. @param {Option[]} options */
export function keysOf(options) {
  const taken = new Set(options.map((option) => option.key?.toLowerCase()));
  const free = [...DIGITS, ...LETTERS].filter((key) => !taken.has(key));
  return options.map((option) => option.key?.toLowerCase() || (free.shift() ?? ""));
}

/**
 * An answer as people read it.
 * @param {Question} question  @param {Value | undefined} value  @param {string} unanswered  where there is none
 */
export function inWords({ kind, options = [] }, value, unanswered) {
  if (value === undefined) return unanswered;
  const name = (/** @type {number | string} */ one) => {
    const option = options.find((each) => each.value === one);
    return option ? say(option.text) : String(one);
  };
  if (Array.isArray(value)) return value.map(name).join(reads === "zh" ? "、" : ", ");
  return kind === "text" ? value.toString() : name(value);
}

// ---- nuggets ---------------------------------------------------------------------------------------------------------
// Consecutive utterances of one speaker with the same label are one nugget (Zeng et al., DCH §3.5). Each row draws its own
// piece of the bracket, so that an answer redraws three rows, however long the dialogue is.

/**
 * The piece of a bracket at a position.
 * @param {Utterance[]} utterances  @param {(position: number) => unknown} labelAt  @param {number} position
 * @returns {"" | "only" | "first" | "inner" | "last"} "": no label there
 */
function pieceAt(utterances, labelAt, position) {
  const label = labelAt(position);
  if (label === undefined) return "";
  const joins = (/** @type {number} */ other) =>
    utterances[other]?.speaker === utterances[position].speaker && labelAt(other) === label;
  const [above, below] = [joins(position - 1), joins(position + 1)];
  if (above && below) return "inner";
  return above ? "last" : below ? "first" : "only";
}

/** c1 to c6: by what the label means in UCH, else by its place. @param {Option[]} options  @param {Option} option */
function colourOf(options, option) {
  return OF_ROLE[option.nugget ?? ""] ?? `c${(options.indexOf(option) % COLOURS) + 1}`;
}

/**
 * Draw what stands beside one utterance.
 * @param {HTMLElement} cell  @param {ReturnType<typeof pieceAt>} piece  @param {Option[]} options
 * @param {Option | undefined} option  the one that is chosen
 */
function drawPiece(cell, piece, options, option) {
  const isNugget = option !== undefined && option.nugget !== "none";
  cell.className = ["nugget", isNugget ? colourOf(options, option) : ""].join(" ").trim();
  if (isNugget && piece) cell.dataset.piece = piece;
  else delete cell.dataset.piece;
}

/**
 * Speakers with more than one run labelled as their goal: only the first counts in UCH.
 * @param {Utterance[]} utterances  @param {(position: number) => Option | undefined} optionAt
 * @returns {{ speaker: string, n: number }[]}
 */
function crowdedGoals(utterances, optionAt) {
  /** @type {Map<string, number>} */
  const goals = new Map();
  for (const [position, { speaker }] of utterances.entries()) {
    if (optionAt(position)?.nugget !== "goal") continue;
    const piece = pieceAt(utterances, (at) => optionAt(at)?.value, position);
    if (piece === "first" || piece === "only") goals.set(speaker, (goals.get(speaker) ?? 0) + 1);
  }
  return [...goals].filter(([, n]) => n > 1).map(([speaker, n]) => ({ speaker, n }));
}

// ---- questions -------------------------------------------------------------------------------------------------------

/** @returns {Answers} */
const nothing = () => ({ dialogue: {}, utterances: {} });

export class Questions {
  /** @type {Slot[]} in the order in which they are asked */
  #slots = [];
  /** @type {Map<string, Slot>} */
  #byPath = new Map();
  /** @type {Slot | null} */
  #active = null;
  /** @type {Answers} what was given, hidden questions included, so that nothing is lost by a change of mind */
  #given = nothing();
  /** @type {Answers} what holds of it */
  #answers = nothing();
  /** @type {{ path: string, before: Value | undefined }[]} */
  #done = [];
  /** @type {Set<string>} paths */
  #differing = new Set();
  /** @type {Set<string>} differing answers that were kept or changed */
  #decided = new Set();
  #typed = { at: 0, text: "" };
  #isGuideOpen = false;
  /** @type {HTMLElement[]} */
  #rows = [];

  /**
   * @param {{ turns: HTMLElement, panel: HTMLElement, decided?: string, keyboard?: HTMLElement | Document,
   *   onChange?: (path: string, value: Value | undefined) => void, onActive?: (slot: Slot | null) => void,
   *   onDone?: () => void }} options
   *   turns: an <ol>; keyboard: whose keys are listened to; onDone: nothing is left to be answered
   */
  constructor(options) {
    this.options = options;
    const { keyboard = document, turns, panel } = options;
    keyboard.addEventListener("keydown", (event) => this.#onKey(/** @type {KeyboardEvent} */ (event)), true);
    for (const holder of [turns, panel]) holder.addEventListener("focusin", (event) => this.#onFocus(event));
  }

  // ---- what is shown -----------------------------------------------------------------------------------------------

  /** @param {Shown} shown */
  show(shown) {
    this.shown = { differences: [], others: [], spread: null, isOpen: true, lang: "", ...shown };
    this.#differing = new Set(this.shown.differences);
    this.rules = new Rules(
      shown.schema,
      shown.utterances.map((utterance) => utterance.speaker),
    );
    this.#given = structuredClone(shown.answers ?? nothing());
    this.#done = [];
    this.#decided = new Set();
    this.#active = null;
    this.#slots = [];
    this.#byPath = new Map();
    this.#drawRows();
    this.#drawPanel();
    this.#order();
    this.#settle(null);
    for (const slot of this.#slots) this.#paint(slot);
    for (const row of this.#rows.keys()) this.#drawNuggets(row);
  }

  /** Begin with the first question that is open. @param {{ focus?: boolean }} [how] */
  begin({ focus = true } = {}) {
    this.activate(this.#nextOpen(-1), { focus });
    if (!this.#active) this.options.onDone?.();
  }

  get answers() {
    return structuredClone(this.#answers);
  }

  get active() {
    return this.#active;
  }

  /** Other answers in place of those that are shown. @param {Answers} answers */
  load(answers) {
    this.#given = structuredClone(answers);
    this.#done = [];
    this.#settle(null);
    for (const slot of this.#slots) this.#paint(slot);
    for (const row of this.#rows.keys()) this.#drawNuggets(row);
  }

  #drawRows() {
    const { utterances, schema, lang } = this.#now;
    const asked = schema.questions.filter((question) => question.scope === "utterance");
    const hasRuns = asked.some((question) => question.runs);
    const first = utterances[0]?.speaker;
    const longest = utterances.reduce((most, { speaker }) => Math.max(most, speaker.length), 1);
    this.options.turns.style.setProperty("--speaker", `${Math.min(longest + 1, 11)}ch`);
    this.options.turns.classList.toggle("has-runs", hasRuns);
    this.#rows = utterances.map((utterance, position) => {
      const row = make("li", utterance.speaker === first ? "turn" : "turn other");
      const speaker = make("span", "turn-speaker clip", utterance.speaker);
      const main = make("div", "turn-main");
      speaker.title = [utterance.speaker, utterance.time].filter(Boolean).join(" · ");
      speaker.dir = "auto";
      main.append(this.#words(utterance, lang));
      row.append(speaker, main);
      row.dataset.position = String(position);
      for (const question of asked) this.#askBeside(row, main, question, position, utterance.speaker);
      return row;
    });
    this.options.turns.replaceChildren(...this.#rows);
  }

  get #now() {
    return /** @type {Required<Shown>} */ (this.shown);
  }

  /** @param {Utterance} utterance  @param {string} lang */
  #words({ text }, lang) {
    const words = make("p", "turn-text");
    words.dir = "auto";
    words.lang = lang;
    const length = text.length;
    words.textContent = length > LONG_TEXT * 1.2 ? `${text.slice(0, LONG_TEXT)}…` : text;
    if (!text.trim()) {
      words.textContent = messages.gettext("(nothing was said)");
      words.classList.add("muted");
      words.removeAttribute("lang");
    }
    if (length <= LONG_TEXT * 1.2) return words;
    const all = make("div");
    const more = button(
      "button quiet show-all",
      format(messages.gettext("Show all {n} characters"), { n: length.toLocaleString() }),
      () => {
        words.textContent = text;
        more.remove();
      },
    );
    all.append(words, more);
    return all;
  }

  /** @param {HTMLElement} row  @param {HTMLElement} main  @param {Question} question  @param {number} position  @param {string} speaker */
  #askBeside(row, main, question, position, speaker) {
    if (question.speakers?.length && !question.speakers.includes(speaker)) return;
    const options = (question.options ?? []).filter((one) => !one.speakers?.length || one.speakers.includes(speaker));
    if (question.options?.length && options.length === 0) return;
    const asks = main.querySelector(".asks") ?? main.appendChild(make("div", "asks"));
    const face = button("chip", "", () => this.activate(slot, { focus: true }));
    const home = question.runs ? make("div", "nugget") : make("div", "ask");
    home.append(face);
    (question.runs ? row : asks).append(home);
    const slot = this.#slot(`${position}/${question.key}`, question, position, options, home, face);
    home.append(...this.#spread(slot));
  }

  #drawPanel() {
    const asked = this.#now.schema.questions.filter((question) => question.scope === "dialogue");
    const notes = this.#now.others.map(({ note }) => note).filter((note) => note.trim());
    const sections = asked.map((question) => {
      const home = make("section", "question");
      const head = make("div", "question-head");
      const title = make("h2", "", say(question.text));
      const face = make("span", "question-state");
      title.id = `question-${question.key}`;
      home.tabIndex = -1;
      home.setAttribute("role", "group");
      home.setAttribute("aria-labelledby", title.id);
      head.append(title, face);
      home.append(head);
      const slot = this.#slot(question.key, question, null, question.options ?? [], home, face);
      slot.control = this.#control(slot);
      home.append(...this.#spread(slot), slot.control);
      home.addEventListener("pointerdown", () => this.activate(slot));
      return home;
    });
    const theirs = notes.map((note) => {
      const line = make("p", "their-note");
      const said = make("q", "", note);
      said.dir = "auto";
      line.append(make("b", "", messages.gettext("Their note")), said);
      return line;
    });
    this.options.panel.replaceChildren(...theirs, ...sections);
  }

  /** @param {Question} question */
  #hasGuide({ guideline, options = [] }) {
    return Boolean(guideline) || options.some((option) => option.guideline || option.examples?.length);
  }

  /** @param {Slot} slot */
  #guideButton(slot) {
    const open = button("button quiet guide-button", messages.gettext("Guide"), () => {
      this.activate(slot);
      this.toggleGuide();
    });
    open.append(cap("g"));
    open.setAttribute("aria-expanded", "false");
    return open;
  }

  /**
   * @param {string} path  @param {Question} question  @param {number | null} position  @param {Option[]} options
   * @param {HTMLElement} home  @param {HTMLElement} face
   */
  #slot(path, question, position, options, home, face) {
    /** @type {Slot} */
    const slot = { index: 0, path, question, position, options, home, face, ...EMPTY, keys: keysOf(options) };
    home.dataset.path = path;
    this.#byPath.set(path, slot);
    return slot;
  }

  /** As the schema lists them; utterance questions that follow each other are asked utterance by utterance. */
  #order() {
    const { questions } = this.#now.schema;
    for (let n = 0; n < questions.length; ) {
      const { scope } = questions[n];
      let end = n + 1;
      while (scope === "utterance" && questions[end]?.scope === scope) end += 1;
      const places = scope === "utterance" ? [...this.#rows.keys()].map((position) => `${position}/`) : [""];
      for (const place of places) {
        for (const { key } of questions.slice(n, end)) {
          const slot = this.#byPath.get(place + key);
          if (slot) slot.index = this.#slots.push(slot) - 1;
        }
      }
      n = end;
    }
  }

  // ---- one question ------------------------------------------------------------------------------------------------

  /** Where the answer is given. @param {Slot} slot */
  #control(slot) {
    const holder = make("div", "control");
    const { kind } = slot.question;
    if (kind === "slider") holder.append(this.#slider(slot));
    else if (kind === "text") holder.append(this.#field(slot));
    else holder.append(this.#options(slot));
    if (this.#hasGuide(slot.question)) (holder.querySelector(".options") ?? holder).append(this.#guideButton(slot));
    if (this.#differs(slot) && !this.#now.spread) holder.append(this.#theirs(slot));
    return holder;
  }

  /** @param {Slot} slot */
  #options(slot) {
    const list = make("div", "options");
    for (const [n, option] of slot.options.entries()) {
      const control = button("option", "", () => this.choose(slot, option.value));
      const words = make("span", "", say(option.text));
      words.dir = "auto";
      control.dataset.place = String(n);
      if (slot.question.runs && option.nugget !== "none")
        control.classList.add("is-nugget", colourOf(slot.options, option));
      if (slot.keys[n]) control.append(cap(slot.keys[n]));
      if (slot.keys[n]) control.setAttribute("aria-keyshortcuts", slot.keys[n]);
      control.append(words);
      list.append(control);
    }
    return list;
  }

  /** @param {Slot} slot */
  #slider(slot) {
    const { min = 0, max = 100, low, high, text } = slot.question;
    const row = make("div", "slider");
    const range = make("input");
    const [left, right, value] = [make("span", "", say(low)), make("span", "", say(high)), make("output")];
    Object.assign(range, { type: "range", min: String(min), max: String(max), step: "1" });
    range.setAttribute("aria-label", say(text));
    const take = () => this.#set(slot, Number(range.value));
    range.addEventListener("input", take);
    range.addEventListener("change", take);
    range.addEventListener("pointerup", take); // where the pointer meets the invisible start, nothing changes
    row.append(left, range, right, value);
    return row;
  }

  /** @param {Slot} slot */
  #field(slot) {
    const field = make("textarea");
    field.rows = 2;
    field.dir = "auto";
    field.maxLength = slot.question.max_length ?? 10_000;
    field.setAttribute("aria-label", say(slot.question.text));
    field.addEventListener("input", () => this.#set(slot, field.value.trim() ? field.value : undefined));
    return field;
  }

  /** The other's answer beside one's own. @param {Slot} slot */
  #theirs(slot) {
    const row = make("div", "theirs");
    const said = make("p");
    const values = this.#now.others.map(({ answers }) => this.#wordsOf(slot, this.#valueIn(answers, slot)));
    said.append(make("b", "", messages.gettext("The other answer:")), " ", values.join(" · "));
    const take = button("button", messages.gettext("Take it"), () => this.takeTheirs(slot));
    const keep = button("button", messages.gettext("Keep mine"), () => this.keepMine(slot));
    take.append(cap("t"));
    keep.append(cap("m"));
    row.append(said, take, keep);
    return row;
  }

  /** Who answered what, where a trainer decides. @param {Slot} slot  @returns {HTMLElement[]} a list, or nothing */
  #spread({ path }) {
    const said = this.#now.spread?.[path] ?? [];
    const rows = said.map(({ words, by }) => {
      const row = make("li");
      const [answer, people] = [make("b", "", words), make("bdi", "", by)];
      answer.dir = "auto";
      row.append(answer, " ", people);
      return row;
    });
    const list = make("ul", "spread");
    list.append(...rows);
    return rows.length > 0 ? [list] : [];
  }

  /** @param {Slot} slot  @param {Value | undefined} value */
  #wordsOf({ question }, value) {
    return inWords(question, value, messages.gettext("not answered"));
  }

  /** Draw what an answer changes of its question. @param {Slot} slot */
  #paint(slot) {
    const value = this.valueAt(slot.path);
    const answered = value !== undefined;
    const isRequired = !answered && slot.isShown && this.#isRequired(slot);
    slot.home.hidden = !slot.isShown;
    slot.home.toggleAttribute("data-answered", answered);
    slot.home.toggleAttribute("data-fixed", slot.isFixed);
    slot.home.toggleAttribute("data-differs", this.#differs(slot) && !this.#isDecided(slot));
    if (slot.position === null) slot.face.textContent = this.#state(slot, answered, isRequired);
    else {
      const label = make("span", "chip-label", say(slot.question.text));
      const said = make("b", answered ? "" : "unset", answered ? this.#wordsOf(slot, value) : "–");
      slot.face.replaceChildren(...(slot.question.runs ? [] : [label]), said, ...this.#signs(slot));
      slot.face.setAttribute(
        "aria-label",
        format(messages.gettext("{question}, utterance {n}: {answer}"), {
          question: say(slot.question.text),
          n: slot.position + 1,
          answer: this.#wordsOf(slot, value),
        }),
      );
      /** @type {HTMLButtonElement} */ (slot.face).disabled = slot.isFixed || !this.#now.isOpen;
    }
    if (slot.control) this.#paintControl(slot, slot.control, value);
  }

  /** @param {Slot} slot */
  #signs(slot) {
    const differs = this.#differs(slot);
    if (!differs && !slot.isFixed) return [];
    if (slot.isFixed) return [make("small", "sign follows", messages.gettext("follows from the other answers"))];
    const isDecided = this.#isDecided(slot);
    return [make("small", isDecided ? "sign decided" : "sign differs", this.#differing_(isDecided))];
  }

  /** @param {boolean} isDecided */
  #differing_(isDecided) {
    return isDecided ? (this.options.decided ?? messages.gettext("decided")) : messages.gettext("differs");
  }

  /** @param {Slot} slot  @param {boolean} answered  @param {boolean} isRequired */
  #state(slot, answered, isRequired) {
    if (this.#differs(slot)) return this.#differing_(this.#isDecided(slot));
    if (slot.isFixed) return messages.gettext("follows from the other answers");
    if (answered || !this.#now.isOpen) return "";
    return isRequired
      ? slot.question.kind === "choices"
        ? messages.gettext("any number, then Enter")
        : ""
      : messages.gettext("optional");
  }

  /** @param {Slot} slot  @param {HTMLElement} control  @param {Value | undefined} value */
  #paintControl(slot, control, value) {
    const isClosed = slot.isFixed || !this.#now.isOpen;
    for (const one of /** @type {NodeListOf<HTMLButtonElement>} */ (control.querySelectorAll(".option"))) {
      const { value: own } = slot.options[Number(one.dataset.place)];
      one.setAttribute("aria-pressed", String(Array.isArray(value) ? value.includes(own) : value === own));
      one.disabled = isClosed;
    }
    const range = control.querySelector("input");
    const output = control.querySelector("output");
    if (range && output) {
      range.classList.toggle("unset", value === undefined);
      if (value !== undefined) range.value = String(value);
      range.setAttribute("aria-valuetext", value === undefined ? messages.gettext("not answered") : String(value));
      range.disabled = isClosed;
      output.textContent = value === undefined ? "–" : String(value);
    }
    const field = control.querySelector("textarea");
    if (field && field !== document.activeElement) field.value = String(value ?? "");
    if (field) field.readOnly = isClosed;
  }

  /** @param {number} position */
  #drawNuggets(position) {
    for (const { key, runs } of this.#now.schema.questions) {
      const slot = runs ? this.#byPath.get(`${position}/${key}`) : undefined;
      if (!slot) continue;
      const labelAt = (/** @type {number} */ at) => this.#answers.utterances[at]?.[key];
      const option = slot.options.find((one) => one.value === labelAt(position));
      const isActive = slot.home.hasAttribute("data-active");
      drawPiece(slot.home, pieceAt(this.#now.utterances, labelAt, position), slot.options, option);
      slot.home.toggleAttribute("data-active", isActive);
    }
  }

  /** Speakers with more goal nuggets than are counted. @returns {{ speaker: string, n: number }[]} */
  crowdedGoals() {
    const keys = this.#now.schema.questions.filter(({ runs }) => runs).map(({ key }) => key);
    return keys.flatMap((key) =>
      crowdedGoals(this.#now.utterances, (at) => {
        const value = this.#answers.utterances[at]?.[key];
        return value === undefined
          ? undefined
          : this.#byPath.get(`${at}/${key}`)?.options.find((one) => one.value === value);
      }),
    );
  }

  // ---- what holds --------------------------------------------------------------------------------------------------

  /** @param {Answers} answers  @param {Slot} slot */
  #valueIn(answers, { question, position }) {
    return position === null ? answers.dialogue[question.key] : answers.utterances[position]?.[question.key];
  }

  /** @param {string} path */
  valueAt(path) {
    const slot = this.#byPath.get(path);
    return slot && this.#valueIn(this.#answers, slot);
  }

  /** What the conditions make of the answers. @param {number | null} position  of the only utterance that changed */
  #settle(position) {
    const rules = /** @type {Rules} */ (this.rules);
    if (position === null) this.#answers = rules.settle(this.#given);
    else {
      const own = rules.settleUtterance(this.#answers.dialogue, this.#given.utterances[position] ?? {}, position);
      if (Object.keys(own).length > 0) this.#answers.utterances[position] = own;
      else delete this.#answers.utterances[position];
    }
    for (const slot of this.#affected(position)) {
      slot.isShown = rules.applies(slot.question, this.#answers, slot.position);
      slot.isFixed = slot.isShown && rules.isFixed(slot.question, this.#answers, slot.position);
    }
  }

  /** @param {number | null} position  @returns {Slot[]} the questions that an answer there may change */
  #affected(position) {
    if (position === null) return this.#slots;
    const { questions } = this.#now.schema;
    return questions.map(({ key }) => this.#byPath.get(`${position}/${key}`)).filter((slot) => slot !== undefined);
  }

  /** @param {Slot} slot */
  #isRequired(slot) {
    return /** @type {Rules} */ (this.rules).isRequired(slot.question, this.#answers, slot.position);
  }

  /** @param {Slot} slot */
  #differs(slot) {
    return this.#differing.has(slot.path);
  }

  /** Whether an answer that differs was settled. @param {Slot} slot */
  #isDecided(slot) {
    return this.#now.spread ? this.valueAt(slot.path) !== undefined : this.#decided.has(slot.path);
  }

  // ---- answering ---------------------------------------------------------------------------------------------------

  /** @param {Slot} slot  @param {Value | undefined} value */
  #set(slot, value) {
    if (!this.#now.isOpen || slot.isFixed) return;
    const before = this.#valueIn(this.#given, slot);
    const isSameField = slot.question.kind === "text" || slot.question.kind === "slider";
    if (!isSameField || this.#done.at(-1)?.path !== slot.path) this.#done.push({ path: slot.path, before });
    this.#give(slot, value);
  }

  /** @param {Slot} slot  @param {Value | undefined} value */
  #give(slot, value) {
    const { question, position } = slot;
    const shown = new Map(this.#affected(position).map((one) => [one, this.#print(one)]));
    if (position !== null) this.#given.utterances[position] ??= {};
    const given = position === null ? this.#given.dialogue : this.#given.utterances[position];
    if (value === undefined) delete given[question.key];
    else given[question.key] = value;
    if (this.#differs(slot)) this.#decided.add(slot.path);
    this.#settle(position);
    for (const [one, print] of shown) if (one === slot || this.#print(one) !== print) this.#paint(one);
    if (position !== null) for (const at of [position - 1, position, position + 1]) this.#drawNuggets(at);
    this.options.onChange?.(slot.path, value);
  }

  /** Equal where nothing has to be drawn again. @param {Slot} slot */
  #print(slot) {
    const required = slot.isShown && this.#isRequired(slot);
    return JSON.stringify([slot.isShown, slot.isFixed, required, this.valueAt(slot.path)]);
  }

  /** An option was chosen. One of several is put in or taken out; else the next question follows. @param {Slot} slot  @param {number | string} value */
  choose(slot, value) {
    if (slot.question.kind !== "choices") {
      if (this.valueAt(slot.path) !== value || this.#differs(slot)) this.#set(slot, value);
      this.goOn(slot);
      return;
    }
    const now = /** @type {(number | string)[]} */ (this.valueAt(slot.path) ?? []);
    const wanted = now.includes(value) ? now.filter((one) => one !== value) : [...now, value];
    const ordered = slot.options.map((option) => option.value).filter((one) => wanted.includes(one));
    this.activate(slot);
    this.#set(slot, ordered.length > 0 ? ordered : undefined);
  }

  /** Take the active answer away. */
  clear() {
    if (this.#active && this.valueAt(this.#active.path) !== undefined) this.#set(this.#active, undefined);
  }

  /** Undo the last answer. @returns {boolean} false: there is none */
  undo() {
    const last = this.#done.pop();
    const slot = last && this.#byPath.get(last.path);
    if (!last || !slot) return false;
    this.#give(slot, last.before);
    if (this.#differs(slot)) this.#decided.delete(slot.path);
    this.#paint(slot);
    this.activate(slot, { focus: true });
    return true;
  }

  /** @param {Slot | null} [slot]  the other's answer in place of one's own */
  takeTheirs(slot = this.#active) {
    if (!slot || !this.#differs(slot) || this.#now.spread) return;
    this.#set(slot, this.#valueIn(this.#now.others[0].answers, slot));
    this.goOn(slot);
  }

  /** Where a trainer decides: what somebody answered, and at the next call what the next one did. */
  takeNext() {
    const slot = this.#active;
    const said = (slot && this.#now.spread?.[slot.path]) ?? [];
    if (!slot || said.length === 0) return;
    const now = JSON.stringify(this.valueAt(slot.path) ?? null);
    const place = said.findIndex(({ value }) => JSON.stringify(value) === now);
    this.#set(slot, said[(place + 1) % said.length].value ?? undefined);
  }

  /** @param {Slot | null} [slot] */
  keepMine(slot = this.#active) {
    if (!slot || !this.#differs(slot)) return;
    this.#set(slot, this.#valueIn(this.#given, slot));
    this.goOn(slot);
  }

  // ---- moving ------------------------------------------------------------------------------------------------------

  /** @param {Slot} slot */
  #isAnswered(slot) {
    if (this.#differs(slot)) return this.#isDecided(slot);
    return this.valueAt(slot.path) !== undefined;
  }

  /** What has to be answered and is not. @returns {Slot[]} */
  missing() {
    return this.#slots.filter((slot) => slot.isShown && !slot.isFixed && this.#isMissing(slot));
  }

  /** @param {Slot} slot */
  #isMissing(slot) {
    const isDemanded = this.#differs(slot) && !this.#now.spread;
    return !this.#isAnswered(slot) && (isDemanded || this.#isRequired(slot));
  }

  /** The next question without an answer, from the beginning again if need be. @param {number} from */
  #nextOpen(from) {
    const isAsked = (/** @type {Slot} */ slot) => slot.isShown && !slot.isFixed && !this.#isAnswered(slot);
    const isWorth = (/** @type {Slot} */ slot) =>
      isAsked(slot) && (slot.question.kind !== "text" || this.#isMissing(slot)) && this.#isOfStage(slot);
    for (let n = from + 1; n < this.#slots.length; n++) if (isWorth(this.#slots[n])) return this.#slots[n];
    for (let n = 0; n <= from; n++)
      if (isAsked(this.#slots[n]) && this.#isMissing(this.#slots[n])) return this.#slots[n];
    return null;
  }

  /** Where people confirm or a trainer decides, only what differs is asked. @param {Slot} slot */
  #isOfStage(slot) {
    return this.#differing.size === 0 || this.#differs(slot) || this.#isMissing(slot);
  }

  /** @param {Slot | null} [slot] */
  goOn(slot = this.#active) {
    const next = this.#nextOpen(slot?.index ?? -1);
    this.activate(next, { focus: true });
    if (!next) this.options.onDone?.();
  }

  /** @param {1 | -1} step */
  move(step) {
    const last = this.#slots.length - 1;
    let n = this.#active ? this.#active.index + step : step > 0 ? 0 : last;
    while (n >= 0 && n <= last && !(this.#slots[n].isShown && !this.#slots[n].isFixed)) n += step;
    if (n >= 0 && n <= last) this.activate(this.#slots[n], { focus: true, type: false });
  }

  /** @param {string} path  @param {string} [problem]  what is wrong there */
  goTo(path, problem = "") {
    const slot = this.#byPath.get(path);
    if (!slot) return;
    this.activate(slot, { focus: true });
    const place = slot.control ?? slot.home;
    place.querySelector(":scope > .question-problem")?.remove();
    const said = make("p", "question-problem", problem);
    said.setAttribute("role", "alert");
    if (problem) place.prepend(said);
  }

  /**
   * @param {Slot | null} slot
   * @param {{ focus?: boolean, type?: boolean }} [how]  type: put the cursor into a text, if it is one
   */
  activate(slot, { focus = false, type = true } = {}) {
    if (slot !== this.#active) {
      this.#leave();
      this.#active = slot;
      if (slot) this.#enter(slot);
      this.options.onActive?.(slot);
    }
    if (!slot || !focus) return;
    const isText = type && slot.question.kind === "text" && this.#now.isOpen;
    const target = isText ? slot.control?.querySelector("textarea") : slot.position === null ? slot.home : slot.control;
    target?.focus({ preventScroll: true });
    (slot.position === null ? slot.home : this.#rows[slot.position]).scrollIntoView({ block: "nearest" });
  }

  #leave() {
    const slot = this.#active;
    if (!slot) return;
    slot.home.removeAttribute("data-active");
    slot.control?.querySelector(".guide")?.remove();
    for (const one of document.querySelectorAll(".question-problem")) one.remove();
    if (slot.position === null) return;
    this.#rows[slot.position].removeAttribute("aria-current");
    slot.control?.remove();
    slot.control = null;
    slot.face.setAttribute("aria-expanded", "false");
  }

  /** @param {Slot} slot */
  #enter(slot) {
    slot.home.setAttribute("data-active", "");
    if (slot.position !== null) {
      const row = this.#rows[slot.position];
      row.setAttribute("aria-current", "true");
      slot.control = this.#control(slot);
      slot.control.tabIndex = -1;
      slot.control.setAttribute("role", "group");
      slot.control.setAttribute("aria-label", slot.face.getAttribute("aria-label") ?? "");
      slot.face.setAttribute("aria-expanded", "true");
      (slot.question.runs ? row : slot.home).append(slot.control);
      this.#paintControl(slot, slot.control, this.valueAt(slot.path));
    }
    if (this.#isGuideOpen) this.#showGuide(slot);
  }

  /** Show all of the active utterance's text. */
  expand() {
    const row = this.#active?.position === null ? undefined : this.#rows[this.#active?.position ?? 0];
    const more = (row ?? this.options.turns).querySelector(".show-all");
    if (more instanceof HTMLElement) more.click();
  }

  // ---- guidelines --------------------------------------------------------------------------------------------------

  toggleGuide() {
    this.#isGuideOpen = !this.#isGuideOpen;
    const slot = this.#active;
    slot?.control?.querySelector(".guide")?.remove();
    if (slot && this.#isGuideOpen) this.#showGuide(slot);
    slot?.control?.querySelector(".guide-button")?.setAttribute("aria-expanded", String(this.#isGuideOpen));
  }

  /** @param {Slot} slot */
  #showGuide({ question, options, control }) {
    if (!this.#hasGuide(question)) return;
    const guide = make("div", "guide");
    if (question.guideline) guide.append(make("p", "", say(question.guideline)));
    const list = make("dl");
    for (const { text, guideline, examples = [] } of options) {
      if (!guideline && examples.length === 0) continue;
      const said = make("dd", "", say(guideline));
      for (const example of examples) {
        const quoted = make("q", "", say(example));
        quoted.dir = "auto";
        said.append(quoted);
      }
      list.append(make("dt", "", say(text)), said);
    }
    if (list.childElementCount > 0) guide.append(list);
    control?.append(guide);
  }

  // ---- keys --------------------------------------------------------------------------------------------------------

  /** What has the focus is the active question. @param {Event} event */
  #onFocus(event) {
    const home = /** @type {Element} */ (event.target).closest("section[data-path]");
    const slot = home instanceof HTMLElement ? this.#byPath.get(home.dataset.path ?? "") : undefined;
    if (slot) this.activate(slot);
  }

  /** The keys of the options come before those of the page. @param {KeyboardEvent} event */
  #onKey(event) {
    const slot = this.#active;
    const isOurs = !event.defaultPrevented && !isComposing(event) && !document.querySelector("dialog:modal");
    if (!isOurs || !slot || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = /** @type {Element} */ (event.target);
    if (isTyping(target)) {
      if (event.key === "Escape" && slot.home.contains(target)) {
        event.preventDefault();
        (slot.position === null ? slot.home : slot.control)?.focus();
      }
    } else if (!event.repeat || slot.question.kind === "slider") {
      if (this.#take(slot, event.key.toLowerCase(), target)) event.preventDefault();
    }
  }

  /** @param {Slot} slot  @param {string} key  @param {Element} target  @returns {boolean} whether it was taken */
  #take(slot, key, target) {
    if (key === "enter") return this.#onEnter(slot, target);
    if (slot.question.kind === "slider") return this.#slide(slot, key);
    const place = slot.keys.indexOf(key);
    if (place < 0 || key === "") return false;
    if (!slot.isFixed && this.#now.isOpen) this.choose(slot, slot.options[place].value);
    return true;
  }

  /** Enter goes on; on a link or a button elsewhere it is that button's. @param {Slot} slot  @param {Element} target */
  #onEnter(slot, target) {
    const control = target.closest("a, button, summary");
    if (control && !control.matches(".option")) return false;
    if (slot.question.kind === "text" && this.valueAt(slot.path) === undefined) this.activate(slot, { focus: true });
    else this.goOn(slot);
    return true;
  }

  /** @param {Slot} slot  @param {string} key */
  #slide(slot, key) {
    const { min = 0, max = 100 } = slot.question;
    const now = /** @type {number | undefined} */ (this.valueAt(slot.path)) ?? Math.round((min + max) / 2);
    /** @type {Record<string, number>} */
    const steps = {
      arrowleft: -1,
      arrowright: 1,
      pagedown: -PAGE_STEP,
      pageup: PAGE_STEP,
      home: min - now,
      end: max - now,
    };
    let value = key in steps ? now + steps[key] : undefined;
    if (/^[0-9]$/.test(key)) {
      const isMore = performance.now() - this.#typed.at < TYPED_NUMBER_MS && Number(this.#typed.text + key) <= max;
      this.#typed = { at: performance.now(), text: isMore ? this.#typed.text + key : key };
      value = Number(this.#typed.text);
    }
    if (value === undefined) return false;
    this.#set(slot, Math.max(min, Math.min(max, value)));
    return true;
  }
}
