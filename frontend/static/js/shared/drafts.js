// @ts-check
/**
 * Unsent work, words or answers, is kept twice: in this browser at every change, on the server when the person rests, so
 * that another device finds it. The server counts versions; when another tab or device has saved since, the person
 * chooses. The time that the work takes is measured and kept with it.
 */
import { call, isPassing, isSignedOut, Problem } from "./api.js";
import { owner } from "./outbox_store.js";

/**
 * @typedef {import("../authoring/composer.js").Source} Source
 * @typedef {{ position: number, text: string, source: Source | null }} Words
 * @typedef {{ position: number, text: string, version: number, saved_at?: string, candidate_set?: number | null,
 *   source?: number | null }} Stored  as the server has it
 * @typedef {{ active_ms: number, idle_ms: number, trace: any[] }} Time
 * @typedef {Words & { version: number, dirty: boolean, activity: Time }} Local
 * @typedef {{ answers: { dialogue: Record<string, any>, utterances: Record<string, Record<string, any>> }, note: string }} Labels
 */

const REST_MS = 500;
const RETRY_MS = 5000;
const IDLE_AFTER_MS = 30_000;
const LONGEST_TRACE = 400;

/** @param {string} kind  @param {number} assignment */
const keyOf = (kind, assignment) => `lapidary.${kind}.${owner}.${assignment}`;

/** @param {string} key  @returns {any} */
function recall(key) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} key  @param {unknown} value */
function remember(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Full or forbidden: the copy on the server remains.
  }
}

/**
 * What this tab sent last. Sending may have been cut off by a reload while the server stored it all the same; kept by tab,
 * since another tab's words are another's. @param {number} assignment  @returns {string | null}
 */
function lastSent(assignment) {
  try {
    return sessionStorage.getItem(keyOf("sent", assignment));
  } catch {
    return null;
  }
}

/** @param {number} assignment  @param {string} said */
function setLastSent(assignment, said) {
  try {
    sessionStorage.setItem(keyOf("sent", assignment), said);
  } catch {
    // Then a person may be asked to choose between two wordings that are both their own.
  }
}

/** Words that were not stored and have no place in the input now. @param {number} assignment  @returns {string[]} */
export function textsSetAside(assignment) {
  return recall(keyOf("aside", assignment)) ?? [];
}

/** @param {number} assignment  @param {string[]} texts */
export function setAside(assignment, texts) {
  remember(keyOf("aside", assignment), texts.length > 0 ? texts : null);
}

/**
 * What drafts of one kind are. body: what is sent of what is read; print: equal for equal drafts, "" for an empty one;
 * said: what a person would have to choose between.
 * @typedef {{ address: string, body: (words: any) => any, print: (body: any) => string, said: (body: any) => string }} Kind
 */

/** @type {Kind} */
const TURN = {
  address: "assignments",
  body: ({ position, text, source }) => ({
    ...{ position, text },
    ...{ candidate_set: source?.set ?? null, source: source?.place ?? null },
  }),
  print: ({ position, text, candidate_set = null, source = null }) =>
    text === "" ? "" : JSON.stringify([position, text, candidate_set, source]),
  said: ({ text }) => text.trim(),
};

/** @param {Labels} labels  the order of the keys says nothing */
function printOfLabels({ answers, note }) {
  const flat = Object.entries({ "": answers.dialogue, ...answers.utterances }).flatMap(([place, given]) =>
    Object.entries(given).map(([question, value]) => JSON.stringify([place, question, value])),
  );
  return flat.length > 0 || note.trim() ? JSON.stringify([flat.sort(), note]) : "";
}

/** @type {Kind} */
export const LABELS = {
  address: "labelling",
  body: ({ answers, note }) => ({ answers, note }),
  print: printOfLabels,
  said: printOfLabels,
};

export class Drafts {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #saving = false;
  /** @type {string} what the server has, for telling whether anything changed */
  #known;
  /** Saving waits: a turn is on its way, or the person is choosing between two texts. */
  held = false;

  #ended = new AbortController();

  /**
   * @param {{ assignment: number, stored: any, read: () => any, time: () => Time,
   *   onState: (state: "saved" | "local") => void, onConflict: (theirs: any) => void, onOther: () => void,
   *   onSignedOut: () => void }} options
   *   stored: as the server has it, or null; read: what is there now; onOther: another device wrote, nothing was
   *   written here
   * @param {Kind} [kind]
   */
  constructor(options, kind = TURN) {
    this.options = options;
    this.kind = kind;
    this.version = options.stored?.version ?? 0;
    this.#known = options.stored ? kind.print(options.stored) : "";
    const { signal } = this.#ended;
    const onHidden = () => document.hidden && this.#isDirty() && void this.#save();
    document.addEventListener("visibilitychange", onHidden, { signal });
    addEventListener("online", () => this.rest(), { signal });
  }

  /** Another piece of work is shown from now on. @param {{ forget?: boolean }} [how]  forget: this one was sent */
  end({ forget = false } = {}) {
    this.held = true;
    this.#ended.abort();
    clearTimeout(this.#timer);
    if (forget) remember(keyOf("draft", this.options.assignment), null);
  }

  /** Save what is not saved yet, and nothing after it. */
  async finish() {
    while (this.#saving) await new Promise((resolve) => setTimeout(resolve, 20));
    await this.#save();
    this.end();
  }

  /** What this browser kept. @returns {any} what `read` gave, with version, dirty and activity; or null */
  local() {
    return recall(keyOf("draft", this.options.assignment));
  }

  #read() {
    return this.kind.body(this.options.read());
  }

  #isDirty() {
    return this.kind.print(this.#read()) !== this.#known;
  }

  /** At every change. @param {{ rest?: boolean }} [how]  rest: save on the server, too, once the person rests */
  keep({ rest = true } = {}) {
    const dirty = this.#isDirty();
    remember(keyOf("draft", this.options.assignment), {
      ...this.options.read(),
      version: this.version,
      dirty,
      activity: this.options.time(),
    });
    if (dirty && rest) this.rest();
  }

  rest(after = REST_MS) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#save(), after);
  }

  /** The words were sent, or taken back: the server's draft is another now. @param {number} version  @param {any} words */
  moved(version, words) {
    this.version = Math.max(this.version, version);
    this.#known = this.kind.print(this.kind.body(words));
    this.keep();
  }

  async #save() {
    clearTimeout(this.#timer);
    if (this.held || this.#saving || !this.#isDirty()) return;
    this.#saving = true;
    let isStored = false;
    const sent = this.#read();
    const before = lastSent(this.options.assignment);
    setLastSent(this.options.assignment, this.kind.said(sent));
    try {
      const address = `/${this.kind.address}/${this.options.assignment}/draft/`;
      const stored = await call("PUT", address, { ...sent, version: this.version });
      this.version = Math.max(this.version, stored.version);
      this.#known = this.kind.print(sent);
      isStored = true;
      if (!this.#ended.signal.aborted) this.options.onState("saved");
    } catch (error) {
      if (!this.#ended.signal.aborted) this.#failed(error, sent, before);
    } finally {
      this.#saving = false;
    }
    if (!this.#ended.signal.aborted) this.keep({ rest: isStored });
  }

  /** What no repetition heals waits for the next change. @param {unknown} error  @param {any} sent  @param {string | null} before  what was sent before that */
  #failed(error, sent, before) {
    this.options.onState("local");
    if (isSignedOut(error)) this.options.onSignedOut();
    if (isPassing(error) || isSignedOut(error)) this.rest(RETRY_MS);
    if (error instanceof Problem && error.code === "draft_conflict") this.#settle(error.body.draft, sent, before);
  }

  /**
   * Nobody needs to choose between some words and none, or between their own of now and of before a reload.
   * @param {any} theirs  @param {any} sent  @param {string | null} before
   */
  #settle(theirs, sent, before) {
    const { said } = this.kind;
    const isChoice = ![before, said(sent), ""].includes(said(theirs));
    if (!isChoice) this.keepMine(theirs.version);
    else if (said(sent) === "") this.options.onOther();
    else {
      this.held = true;
      this.options.onConflict(theirs);
    }
  }

  /** The person has chosen this text. @param {number} version  of the other one */
  keepMine(version) {
    this.version = version;
    this.held = false;
    this.rest(0);
  }
}

// ---- time ------------------------------------------------------------------------------------------------------------

/** Time with and without input since the work was shown, and what was clicked when. */
export class Activity {
  active = 0;
  idle = 0;
  /** @type {Record<string, unknown>[]} */
  trace = [];
  last = performance.now();
  away = document.hidden;
  inputs = 0; // since the lease was renewed

  constructor() {
    for (const name of ["keydown", "pointerdown", "pointermove", "wheel", "touchmove"]) {
      addEventListener(name, () => this.touch(), { capture: true, passive: true });
    }
    document.addEventListener("visibilitychange", () => {
      this.pass();
      this.away = document.hidden;
    });
  }

  touch() {
    this.inputs += 1;
    this.pass();
  }

  /** Book the time since the last input: the first 30 s as active, the rest, and all of it in another tab, as idle. */
  pass() {
    const now = performance.now();
    const gap = now - this.last;
    const active = this.away ? 0 : Math.min(gap, IDLE_AFTER_MS);
    this.active += active;
    this.idle += gap - active;
    this.last = now;
  }

  /** @param {string} kind  @param {Record<string, unknown>} [more] */
  note(kind, more) {
    this.pass();
    if (this.trace.length < LONGEST_TRACE) this.trace.push({ at: Math.round(this.active + this.idle), kind, ...more });
  }

  /** Another piece of work is shown. @param {Time} [kept]  of before a reload */
  begin(kept) {
    this.active = kept?.active_ms ?? 0;
    this.idle = kept?.idle_ms ?? 0;
    this.trace = kept?.trace ?? [];
    this.last = performance.now();
  }

  report() {
    this.pass();
    return { active_ms: Math.round(this.active), idle_ms: Math.round(this.idle), trace: this.trace };
  }
}
