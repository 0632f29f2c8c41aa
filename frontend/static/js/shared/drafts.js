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
 * @typedef {{ position: number | null, text: string }} KeptWords  position: of the turn that they were written for, if known
 * @typedef {{ position: number, text: string, version: number, saved_at?: string, candidate_set?: number | null,
 *   source?: number | null }} Stored  as the server has it
 * @typedef {{ active_ms: number, idle_ms: number, trace: any[] }} Time
 * @typedef {Words & { version: number, dirty: boolean, activity: Time }} Local
 * @typedef {{ answers: { dialogue: Record<string, any>, utterances: Record<string, Record<string, any>> }, note: string }} Labels
 */

const REST_MS = 500;
export const RETRY_MS = 5000;
const IDLE_AFTER_MS = 30_000;
const LONGEST_TRACE = 400;

/** @param {string} kind  @param {number} assignment */
const storageKey = (kind, assignment) => `lapidary.${kind}.${owner}.${assignment}`;

/** @param {string} key  @returns {any} */
function readStored(key) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} key  @param {unknown} value */
function writeStored(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Full or forbidden: the server has the draft too.
  }
}

/**
 * What this tab sent last. Sending may have been cut off by a reload while the server stored it all the same; kept by tab,
 * since another tab's words are another's. @param {number} assignment  @returns {string | null}
 */
function lastSent(assignment) {
  try {
    return sessionStorage.getItem(storageKey("sent", assignment));
  } catch {
    return null;
  }
}

/** @param {number} assignment  @param {string} content */
function setLastSent(assignment, content) {
  try {
    sessionStorage.setItem(storageKey("sent", assignment), content);
  } catch {
    // Then a person may have to choose between two texts of their own.
  }
}

/** Words that are not stored and do not fit into the input now. @param {number} assignment  @returns {KeptWords[]} */
export function wordsSetAside(assignment) {
  /** @type {(KeptWords | string)[]} */
  const kept = readStored(storageKey("aside", assignment)) ?? [];
  // Earlier versions kept the text only.
  return kept.map((words) => (typeof words === "string" ? { position: null, text: words } : words));
}

/** @param {number} assignment  @param {KeptWords[]} words */
export function setAside(assignment, words) {
  writeStored(storageKey("aside", assignment), words.length > 0 ? words : null);
}

/**
 * What drafts of one kind are. body: what is sent of what is read; fingerprint: equal for equal drafts, "" for an empty one;
 * content: what a person would have to choose between.
 * @typedef {{ address: string, body: (words: any) => any, fingerprint: (body: any) => string,
 *   content: (body: any) => string }} Kind
 */

/** @type {Kind} */
const TURN = {
  address: "assignments",
  body: ({ position, text, source }) => ({
    ...{ position, text },
    ...{ candidate_set: source?.set ?? null, source: source?.place ?? null },
  }),
  fingerprint: ({ position, text, candidate_set = null, source = null }) =>
    text === "" ? "" : JSON.stringify([position, text, candidate_set, source]),
  content: ({ text }) => text.trim(),
};

/** @param {Labels} labels  the order of the keys says nothing */
function fingerprintLabels({ answers, note }) {
  const flat = Object.entries({ "": answers.dialogue, ...answers.utterances }).flatMap(([place, given]) =>
    Object.entries(given).map(([question, value]) => JSON.stringify([place, question, value])),
  );
  return flat.length > 0 || note.trim() ? JSON.stringify([flat.sort(), note]) : "";
}

/** @type {Kind} */
export const LABELS = {
  address: "labelling",
  body: ({ answers, note }) => ({ answers, note }),
  fingerprint: fingerprintLabels,
  content: fingerprintLabels,
};

export class Drafts {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #saving = false;
  /** @type {string} what the server has, for telling whether anything changed */
  #known;
  /** Saving is paused: a turn is being sent, or the person is choosing between two texts. */
  isPaused = false;

  #ended = new AbortController();
  #isForgotten = false;

  /**
   * @param {{ assignment: number, stored: any, read: () => any, time: () => Time,
   *   onState: (state: "saved" | "local") => void, onConflict: (theirs: any) => void, onOther: () => void,
   *   onPassed?: (theirs: any) => void, onSignedOut: () => void }} options
   *   stored: as the server has it, or null; read: what is there now; onOther: another device wrote, nothing was
   *   written here; onPassed: the server is at another turn; theirs: its draft, if it has one
   * @param {Kind} [kind]
   */
  constructor(options, kind = TURN) {
    this.options = options;
    this.kind = kind;
    this.version = options.stored?.version ?? 0;
    this.#known = options.stored ? kind.fingerprint(options.stored) : "";
    /** What a person saved or found here last; "" is nothing. */
    this.savedLast = options.stored ? kind.content(options.stored) : "";
    const { signal } = this.#ended;
    const onHidden = () => document.hidden && this.isDirty && void this.#save();
    document.addEventListener("visibilitychange", onHidden, { signal });
    addEventListener("online", () => this.saveLater(), { signal });
  }

  /** Stop keeping this draft: another assignment is shown. @param {{ forget?: boolean }} [how]  forget: this one was sent */
  end({ forget = false } = {}) {
    this.isPaused = true;
    this.#ended.abort();
    clearTimeout(this.#timer);
    if (!forget) return;
    this.#isForgotten = true;
    writeStored(storageKey("draft", this.options.assignment), null);
  }

  /** Save what is not saved yet, then stop. */
  async finish() {
    while (this.#saving) await new Promise((resolve) => setTimeout(resolve, 20));
    await this.#save();
    this.end();
  }

  /** What this browser kept. @returns {any} what `read` gave, with version, dirty and activity; or null */
  local() {
    return readStored(storageKey("draft", this.options.assignment));
  }

  #read() {
    return this.kind.body(this.options.read());
  }

  /** Whether there is something that the server does not have. */
  get isDirty() {
    return this.kind.fingerprint(this.#read()) !== this.#known;
  }

  /** At every change. @param {{ rest?: boolean }} [how]  rest: save on the server, too, once the person rests */
  keep({ rest = true } = {}) {
    if (this.#isForgotten) return; // what was sent must not come back as a draft
    const dirty = this.isDirty;
    writeStored(storageKey("draft", this.options.assignment), {
      ...this.options.read(),
      version: this.version,
      dirty,
      activity: this.options.time(),
    });
    if (dirty && rest) this.saveLater();
  }

  saveLater(after = REST_MS) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#save(), after);
  }

  /** The server has another draft now, because a turn was sent or undone. @param {number} version  @param {any} words */
  adoptVersion(version, words) {
    this.version = Math.max(this.version, version);
    this.#setKnown(this.kind.body(words));
    this.keep();
  }

  /** @param {any} body  as the server has it */
  #setKnown(body) {
    this.#known = this.kind.fingerprint(body);
    if (this.#known) this.savedLast = this.kind.content(body); // sending a turn empties its draft
  }

  async #save() {
    clearTimeout(this.#timer);
    if (this.isPaused || this.#saving || !this.isDirty) return;
    this.#saving = true;
    let isStored = false;
    const sent = this.#read();
    const before = lastSent(this.options.assignment);
    setLastSent(this.options.assignment, this.kind.content(sent));
    try {
      const address = `/${this.kind.address}/${this.options.assignment}/draft/`;
      const stored = await call("PUT", address, { ...sent, version: this.version });
      this.version = Math.max(this.version, stored.version);
      this.#setKnown(sent);
      isStored = true;
      if (!this.#ended.signal.aborted && !this.isDirty) this.options.onState("saved");
    } catch (error) {
      if (!this.#ended.signal.aborted) this.#onSaveFailed(error, sent, before);
    } finally {
      this.#saving = false;
    }
    if (!this.#ended.signal.aborted) this.keep({ rest: isStored });
  }

  /** Errors that a retry cannot fix wait for the next change. @param {unknown} error  @param {any} sent  @param {string | null} before  what was sent before that */
  #onSaveFailed(error, sent, before) {
    this.options.onState("local");
    if (isSignedOut(error)) this.options.onSignedOut();
    if (isPassing(error) || isSignedOut(error)) this.saveLater(RETRY_MS);
    if (!(error instanceof Problem)) return;
    const theirs = error.code === "draft_conflict" ? error.body.draft : null;
    if (!theirs && error.code !== "written_elsewhere") return;
    if (sent.position !== this.#read().position)
      this.saveLater(); // the page is at another turn by now
    else if (!theirs || theirs.position !== sent.position) this.options.onPassed?.(theirs);
    else this.#resolveConflict(theirs, sent, before);
  }

  /**
   * Nobody needs to choose between some words and none, or between their own words before and after a reload.
   * @param {any} theirs  @param {any} sent  @param {string | null} before
   */
  #resolveConflict(theirs, sent, before) {
    const { content } = this.kind;
    const isChoice = ![before, content(sent), ""].includes(content(theirs));
    if (!isChoice) this.keepMine(theirs.version);
    else if (content(sent) === "") this.options.onOther();
    else {
      this.isPaused = true;
      this.options.onConflict(theirs);
    }
  }

  /** The person chose the text of this page. @param {number} version  of the other one */
  keepMine(version) {
    this.version = version;
    this.isPaused = false;
    this.saveLater(0);
  }
}

// ---- time ------------------------------------------------------------------------------------------------------------

/** Active and idle time since the assignment was shown, and a trace of what was done when. */
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
      addEventListener(name, () => this.onInput(), { capture: true, passive: true });
    }
    document.addEventListener("visibilitychange", () => {
      this.bookTime();
      this.away = document.hidden;
    });
  }

  onInput() {
    this.inputs += 1;
    this.bookTime();
  }

  /** Book the time since the last input: the first 30 s as active, the rest, and all of it in another tab, as idle. */
  bookTime() {
    const now = performance.now();
    const gap = now - this.last;
    const active = this.away ? 0 : Math.min(gap, IDLE_AFTER_MS);
    this.active += active;
    this.idle += gap - active;
    this.last = now;
  }

  /** @param {string} kind  @param {Record<string, unknown>} [more] */
  record(kind, more) {
    this.bookTime();
    if (this.trace.length < LONGEST_TRACE) this.trace.push({ at: Math.round(this.active + this.idle), kind, ...more });
  }

  /** Start over for another assignment. @param {Time} [kept]  of before a reload */
  begin(kept) {
    this.active = kept?.active_ms ?? 0;
    this.idle = kept?.idle_ms ?? 0;
    this.trace = kept?.trace ?? [];
    this.last = performance.now();
  }

  report() {
    this.bookTime();
    return { active_ms: Math.round(this.active), idle_ms: Math.round(this.idle), trace: this.trace };
  }
}
