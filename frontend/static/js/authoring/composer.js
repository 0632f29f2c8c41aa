// @ts-check
/**
 * What is being written: the field, the candidate that the text was started from, and what changed against it. The
 * action that is shown is derived from the text exactly as the server derives it (annotation/authoring/services/provenance.py).
 */
import { isComposing, keyWords, matches, TOUCH } from "../shared/keys.js";
import { createElement, format, gettext, ngettext } from "../shared/page.js";

/**
 * @typedef {{ set: number, place: number, text: string, ordinal: number }} Source
 * @typedef {{ id: number, ordinal: number, texts: string[] }} CandidateSet
 * @typedef {{ action: "select" | "revise" | "rewrite", set: number | null, place: number | null, distance: number | null,
 *   ordinal: number }} Derived
 */

const UNDO_TAKES_MS = 40;
const NEARLY_FULL = 0.8;
const ACTIONS = { select: gettext("select"), revise: gettext("revise"), rewrite: gettext("rewrite") };
const COSTLY = 4_000_000; // cells of the table of distances; more would be felt while typing

// ---- texts compared --------------------------------------------------------------------------------------------------

/** Characters of Chinese, Japanese and Korean stand alone; elsewhere a word is one piece. */
const ALONE = "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}]";
const PIECES = new RegExp(`${ALONE}|(?:(?!${ALONE})[\\p{L}\\p{M}\\p{N}'’])+|\\s+|.`, "gsu");

/**
 * How to get from one text to the other: pieces kept, taken away and added.
 * @param {string} before  @param {string} after
 * @returns {{ kind: "same" | "del" | "ins", text: string }[]}
 */
function difference(before, after) {
  const [from, to] = [before.match(PIECES) ?? [], after.match(PIECES) ?? []];
  const [head, tail] = commonEnds(from, to);
  const [a, b] = [from.slice(head, from.length - tail), to.slice(head, to.length - tail)];
  /** @type {{ kind: "same" | "del" | "ins", text: string }[]} */
  const steps = [{ kind: "same", text: from.slice(0, head).join("") }];
  const add = (/** @type {"same" | "del" | "ins"} */ kind, /** @type {string} */ text) => {
    const last = steps[steps.length - 1];
    if (last.kind === kind) last.text += text;
    else steps.push({ kind, text });
  };
  for (const [kind, text] of a.length * b.length > COSTLY ? replaced(a, b) : alignment(a, b)) add(kind, text);
  add("same", to.slice(to.length - tail).join(""));
  return steps.filter((step) => step.text);
}

/** @param {string[]} a  @param {string[]} b  @returns {["del" | "ins", string][]} */
function replaced(a, b) {
  return [
    ["del", a.join("")],
    ["ins", b.join("")],
  ];
}

/** @param {ArrayLike<string>} a  @param {ArrayLike<string>} b  how many pieces are equal at the beginning and the end */
function commonEnds(a, b) {
  const most = Math.min(a.length, b.length);
  let head = 0;
  while (head < most && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < most - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  return [head, tail];
}

/** Along a longest common subsequence, deletions before insertions. @param {string[]} a  @param {string[]} b */
function alignment(a, b) {
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const [here, right, below] = [i * width + j, i * width + j + 1, (i + 1) * width + j];
      common[here] = a[i] === b[j] ? common[below + 1] + 1 : Math.max(common[right], common[below]);
    }
  }
  /** @type {["same" | "del" | "ins", string][]} */
  const steps = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) steps.push(["same", a[i++]]) && j++;
    else if (i < a.length && (j === b.length || common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      steps.push(["del", a[i++]]);
    } else steps.push(["ins", b[j++]]);
  }
  return steps;
}

/** Levenshtein distance in characters; null where it would take too long. @param {string} before  @param {string} after */
function distance(before, after) {
  const [from, to] = [[...before], [...after]];
  const [head, tail] = commonEnds(from, to);
  const [a, b] = [from.slice(head, from.length - tail), to.slice(head, to.length - tail)];
  if (a.length * b.length > COSTLY) return null;
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (const [i, character] of a.entries()) {
    const next = [i + 1];
    for (const [j, other] of b.entries()) {
      next.push(character === other ? row[j] : 1 + Math.min(row[j], row[j + 1], next[j]));
    }
    row = next;
  }
  return row[b.length];
}

// ---- the field -------------------------------------------------------------------------------------------------------

export class Composer {
  /** @type {Source | null} */
  source = null;
  /** Nothing was typed since the text was put there. */
  pristine = true;
  /** @type {Source | null} the source of a text that was emptied; undo typing brings both back */
  #emptied = null;
  /** @type {Map<string, Source | null>} of texts that were put there or replaced as a whole: undo typing returns to them */
  #sources = new Map();
  /** @type {number | null} the place of what was picked last, a candidate or an idea */
  #picked = null;
  /** The digits pressed so far in an untouched field: they pick, and become text when the person types on. */
  #digits = "";
  #filling = false;
  /** @type {EventTarget | null} the control that took the focus from the field */
  #leftFor = null;
  #draftState = "";
  #message = "";

  /**
   * @param {{ form: HTMLFormElement, limit: number, submitOnEnter: boolean,
   *   sets: () => CandidateSet[], onChange: (why: "typed" | "picked" | "cleared") => void, onPick: (place: number) => boolean,
   *   onSubmit: () => void, onUndoTurn: () => void }} options
   */
  constructor(options) {
    this.options = options;
    this.field = /** @type {HTMLTextAreaElement} */ (options.form.querySelector("textarea"));
    this.changes = /** @type {HTMLElement} */ (options.form.querySelector("[data-changes]"));
    this.notes = /** @type {HTMLElement} */ (options.form.querySelector("[data-note]"));
    /** @type {HTMLElement} read aloud after an action; the notes change at every key */
    this.spoken = /** @type {HTMLElement} */ (options.form.querySelector("[data-spoken]"));
    this.field.addEventListener("input", (event) => this.#onInput(/** @type {InputEvent} */ (event)));
    this.field.addEventListener("beforeinput", (event) => this.#onBeforeInput(/** @type {InputEvent} */ (event)));
    this.field.addEventListener("keydown", (event) => this.#onKey(event));
    // On phones and with voice, an input method begins without a key that says so.
    this.field.addEventListener("compositionstart", () => this.#typeDigits());
    this.field.addEventListener("blur", ({ relatedTarget }) => {
      this.#leftFor = relatedTarget;
    });
    this.field.addEventListener("pointerdown", () => this.#touchPick());
  }

  get text() {
    return this.field.value.trim();
  }

  /** Whether the field holds a picked candidate that nobody has touched. */
  get holdsUntouchedPick() {
    return this.#picked !== null && this.pristine && this.field.value !== "";
  }

  /** Set a text that was not typed in this turn: a draft, an undone turn, or nothing. */
  load(/** @type {string} */ text, /** @type {Source | null} */ source = null) {
    if (this.field.value !== text) this.field.value = text; // the caret stays where it is in the same text
    this.source = source;
    this.#emptied = null;
    this.#sources.clear();
    this.#picked = null;
    this.#digits = "";
    this.pristine = true;
    this.show();
  }

  /**
   * Ready to type on. On a touch screen the focus brings up a keyboard that hides the candidates: there it only comes back
   * from the button that took it.
   */
  focus() {
    const isTaken = this.#leftFor !== null && this.#leftFor === document.activeElement;
    if (!TOUCH.matches || isTaken) this.field.focus();
  }

  /** Ready to type on, at the end. */
  focusEnd() {
    this.focus();
    this.#toEnd();
  }

  get #isFocused() {
    return document.activeElement === this.field;
  }

  #toEnd() {
    if (!this.#isFocused) return; // Safari would focus it
    const { length } = this.field.value;
    this.field.setSelectionRange(length, length);
  }

  /** @param {string} text  @param {Source | null} [source]  @param {number | null} [place]  where it was picked from */
  fill(text, source = null, place = null) {
    this.#replace(text);
    this.source = source;
    this.#sources.set(text, source);
    this.#picked = place;
    if (Number(this.#digits.at(-1)) - 1 !== place) this.#digits = ""; // picked in another way
    this.pristine = place !== null;
    this.#toEnd();
    this.show();
    this.options.onChange("picked");
  }

  /** @returns {(() => void) | null}  brings the text back, unless the turn has ended; null if there was none */
  clear() {
    const { value } = this.field;
    this.#digits = "";
    if (!value) return null;
    this.focus();
    this.#replace("");
    const byKey = format(gettext("Cleared. {keys} brings it back."), { keys: keyWords("mod+z") });
    this.show(TOUCH.matches ? gettext("Cleared.") : byKey);
    this.options.onChange("cleared");
    return () => this.#bringBack(value);
  }

  /** @param {string} text  one that was put there or cleared in this turn */
  #bringBack(text) {
    const source = this.#sources.get(text);
    if (source === undefined) return;
    this.#replace(text);
    this.source = source;
    this.#toEnd();
    this.show();
    this.options.onChange("typed");
  }

  /** @param {string} text */
  #replace(text) {
    this.#sources.set(this.field.value, this.source);
    if (TOUCH.matches && !this.#isFocused) this.field.value = text;
    else this.#typeOver(text);
    if (!text) this.#empty();
    this.pristine = false;
  }

  /** Replace the text as if it was typed, so that the browser's undo works. @param {string} text */
  #typeOver(text) {
    this.#filling = true;
    this.field.focus();
    this.field.select();
    // Deprecated and without a successor: setting `value` would empty the list that Ctrl+Z goes through.
    const done = document.execCommand(text ? "insertText" : "delete", false, text);
    if (!done || this.field.value !== text) this.field.value = text;
    this.#filling = false;
  }

  #empty() {
    this.#emptied = this.source ?? this.#emptied;
    this.source = null;
  }

  /** The pick stays, and what is typed now changes it. */
  #touchPick() {
    this.#digits = "";
    if (this.holdsUntouchedPick) this.pristine = false;
    this.show(this.#message);
  }

  /** @param {InputEvent} event */
  #onInput(event) {
    if (this.#filling) return;
    this.pristine = false;
    if (!this.field.value) this.#empty();
    else if (event.inputType.startsWith("history")) this.#restoreSource();
    this.show();
    this.options.onChange("typed");
  }

  /** Undo typing returned to an earlier text, which the browser selects as a whole if it was replaced as a whole. */
  #restoreSource() {
    const { value, selectionStart, selectionEnd } = this.field;
    const known = this.#sources.get(value);
    if (known !== undefined) this.source = known;
    else this.source ??= this.#emptied;
    if (selectionStart === 0 && selectionEnd === value.length) this.#toEnd(); // the next key adds to it
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (isComposing(event)) {
      if (event.key === "Process" || event.key.length === 1) this.#typeDigits();
      return;
    }
    if (matches(event, "mod+z")) this.#onUndoKey(event);
    else if (matches(event, "enter") && this.options.submitOnEnter) {
      event.preventDefault();
      if (!event.repeat) this.options.onSubmit();
    } else if (/^[1-9]$/.test(event.key) && !event.altKey && !event.ctrlKey && !event.metaKey) this.#onDigit(event);
    else if (/^(Arrow|Home|End|Page)/.test(event.key) || matches(event, "mod+a")) this.#touchPick();
  }

  /** @param {KeyboardEvent} event */
  #onDigit(event) {
    const isUntouched = !this.field.value || (this.#digits !== "" && this.holdsUntouchedPick);
    const isAgain = this.field.value !== "" && Number(event.key) - 1 === this.#picked;
    if (!isUntouched || isAgain || event.repeat) return;
    if (this.pickByDigit(event.key)) event.preventDefault();
  }

  /** A digit picks while nothing else was typed; another one changes the pick. @param {string} digit */
  pickByDigit(digit) {
    const digits = this.field.value && !this.#digits ? "" : this.#digits + digit;
    this.#digits = digits;
    const isPicked = this.options.onPick(Number(digit) - 1);
    this.#digits = isPicked ? digits : digits.slice(0, -1);
    this.show();
    return isPicked;
  }

  /** @param {InputEvent} event */
  #onBeforeInput(event) {
    if (event.inputType === "insertText" && !this.#filling) this.#typeDigits();
    else if (event.inputType !== "insertCompositionText" && !this.#filling) this.#digits = "";
  }

  /** The person types on: the digits before were the beginning of a text, not picks. */
  #typeDigits() {
    const digits = this.#digits;
    if (!digits) return;
    this.#digits = "";
    this.#replace(digits);
    this.source = null;
    this.#sources.set(digits, null);
    this.#picked = null;
    this.show();
  }

  /** Undo typing first; undo the turn if nothing was typed. @param {KeyboardEvent} event */
  #onUndoKey(event) {
    if (this.pristine && !this.holdsUntouchedPick) return; // the undo button handles it
    event.stopPropagation();
    if (this.field.value) return;
    let undone = false;
    const note = () => {
      undone = this.field.value !== "";
    };
    this.field.addEventListener("input", note, { once: true });
    setTimeout(() => {
      this.field.removeEventListener("input", note);
      if (!undone) this.options.onUndoTurn();
    }, UNDO_TAKES_MS);
  }

  /** The action that the current text amounts to. @returns {Derived} */
  derive() {
    const { text, source } = this;
    const sets = [...this.options.sets()].sort(
      (one, other) => Number(other.id === source?.set) - Number(one.id === source?.set),
    );
    for (const set of sets) {
      const place = set.texts.findIndex((candidate) => candidate.trim() === text);
      if (place >= 0) return { action: "select", set: set.id, place, distance: 0, ordinal: set.ordinal };
    }
    if (source) {
      const changed = distance(source.text.trim(), text);
      return { action: "revise", set: source.set, place: source.place, distance: changed, ordinal: source.ordinal };
    }
    return { action: "rewrite", set: sets.at(-1)?.id ?? null, place: null, distance: null, ordinal: 0 };
  }

  /** @param {string} [message]  above what the text is */
  show(message = "") {
    this.#message = message;
    const derived = this.derive();
    const length = [...this.text].length;
    const isTooLong = length > this.options.limit;
    const notes = [message, ...this.#describeAction(derived), ...this.#describeLength(length), this.#describePick()];
    this.spoken.textContent = message;
    const draftState = this.text ? this.#draftState : "";
    this.notes.replaceChildren(
      ...[...notes, draftState].filter(Boolean).map((text) => createElement("span", "", text)),
    );
    this.notes.classList.toggle("is-bad", isTooLong);
    this.field.setAttribute("aria-invalid", String(isTooLong));
    this.#showChanges(derived);
  }

  /** @param {Derived} derived  @returns {string[]} */
  #describeAction(derived) {
    const { action, place, distance: changed } = derived;
    const count = this.options.sets().length;
    if (!this.text || (place === null && count === 0)) return [];
    return [
      place === null ? "" : this.#origin(derived, count),
      ACTIONS[action],
      action === "revise" && changed !== null ? format(gettext("{n} changed"), { n: changed }) : "",
    ];
  }

  /** @param {number} length  in characters  @returns {string[]} */
  #describeLength(length) {
    const { limit } = this.options;
    if (length === 0) return [];
    const message =
      length > limit * NEARLY_FULL
        ? gettext("{n} of {limit} characters")
        : ngettext("{n} character", "{n} characters", length);
    const tooLong = ngettext(
      "Too long by {n} character. Shorten it; nothing is cut off.",
      "Too long by {n} characters. Shorten it; nothing is cut off.",
      length - limit,
    );
    return [format(message, { n: length, limit }), length > limit ? format(tooLong, { n: length - limit }) : ""];
  }

  #describePick() {
    if (!this.#digits) return "";
    return format(gettext("type on for “{digits}…”, → or End to change the pick"), { digits: this.#digits });
  }

  /** @param {Derived} derived  @param {number} sets */
  #origin({ place, ordinal }, sets) {
    if (TOUCH.matches) return ""; // candidates show no numbers there
    return format(sets > 1 ? gettext("from {n} of set {set}") : gettext("from {n}"), {
      n: Number(place) + 1,
      set: ordinal + 1,
    });
  }

  /** @param {Derived} derived */
  #showChanges({ action }) {
    const isShown = action === "revise" && this.source !== null && this.text !== "";
    this.changes.hidden = !isShown;
    const steps = isShown && this.source ? difference(this.source.text.trim(), this.text) : [];
    this.changes.replaceChildren(
      ...steps.map(({ kind, text }) => {
        return createElement(kind === "same" ? "span" : kind, "", text);
      }),
    );
  }

  /** @param {string} state  "draft saved" */
  showDraft(state) {
    if (state === this.#draftState) return;
    this.#draftState = state;
    this.show(this.#message);
  }
}
