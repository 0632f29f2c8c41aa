// @ts-check
/**
 * Unsent words are kept twice: in this browser at every keystroke, on the server when the typing rests, so that another
 * device finds them. The server counts versions; when another tab or device has saved since, the person chooses.
 */
import { call, isPassing, isSignedOut, Problem } from "./api.js";
import { owner } from "./outbox.js";

/**
 * @typedef {import("./composer.js").Source} Source
 * @typedef {{ position: number, text: string, source: Source | null }} Words
 * @typedef {{ position: number, text: string, version: number, saved_at?: string, candidate_set?: number | null,
 *   source?: number | null }} Stored  as the server has it
 * @typedef {Words & { version: number, dirty: boolean, activity: { active_ms: number, idle_ms: number, trace: any[] } }} Local
 */

const REST_MS = 500;
const RETRY_MS = 5000;

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

/** Words that were not stored and have no place in the input now. @param {number} assignment  @returns {string[]} */
export function aside(assignment) {
  return recall(keyOf("aside", assignment)) ?? [];
}

/** @param {number} assignment  @param {string[]} texts */
export function setAside(assignment, texts) {
  remember(keyOf("aside", assignment), texts.length > 0 ? texts : null);
}

export class Drafts {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #saving = false;
  /** @type {string} what the server has, for telling whether anything changed */
  #known;
  /** Saving waits: a turn is on its way, or the person is choosing between two texts. */
  held = false;

  /**
   * @param {{ assignment: number, stored: Stored | null, read: () => Words, time: () => Local["activity"],
   *   onState: (state: "saved" | "local") => void, onConflict: (theirs: Stored) => void, onOther: () => void, onSignedOut: () => void }} options
   *   onOther: another device wrote, nothing was written here
   */
  constructor(options) {
    this.options = options;
    this.version = options.stored?.version ?? 0;
    this.#known = fingerprint(
      options.stored?.position ?? 0,
      options.stored?.text ?? "",
      options.stored?.candidate_set,
      options.stored?.source,
    );
    document.addEventListener("visibilitychange", () => document.hidden && this.#isDirty() && void this.#save());
    addEventListener("online", () => this.rest());
  }

  /** What this browser kept. @returns {Local | null} */
  local() {
    return recall(keyOf("draft", this.options.assignment));
  }

  #read() {
    const { position, text, source } = this.options.read();
    return { position, text, candidate_set: source?.set ?? null, source: source?.place ?? null };
  }

  #isDirty() {
    const { position, text, candidate_set, source } = this.#read();
    return fingerprint(position, text, candidate_set, source) !== this.#known;
  }

  /** At every change. */
  keep() {
    const dirty = this.#isDirty();
    remember(keyOf("draft", this.options.assignment), {
      ...this.options.read(),
      version: this.version,
      dirty,
      activity: this.options.time(),
    });
    if (dirty) this.rest();
  }

  rest(after = REST_MS) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#save(), after);
  }

  /** The words were sent, or taken back: the server's draft is another now. @param {number} version  @param {Words} words */
  moved(version, words) {
    this.version = Math.max(this.version, version);
    this.#known = fingerprint(words.position, words.text, words.source?.set, words.source?.place);
    this.keep();
  }

  async #save() {
    clearTimeout(this.#timer);
    if (this.held || this.#saving || !this.#isDirty()) return;
    this.#saving = true;
    const sent = this.#read();
    try {
      const stored = await call("PUT", `/assignments/${this.options.assignment}/draft/`, {
        ...sent,
        version: this.version,
      });
      this.version = Math.max(this.version, stored.version);
      this.#known = fingerprint(sent.position, sent.text, sent.candidate_set, sent.source);
      this.options.onState("saved");
    } catch (error) {
      this.#failed(error, sent);
    } finally {
      this.#saving = false;
    }
    this.keep();
  }

  /** @param {unknown} error  @param {{ position: number, text: string }} sent */
  #failed(error, sent) {
    this.options.onState("local");
    if (isSignedOut(error)) this.options.onSignedOut();
    if (isPassing(error) || isSignedOut(error)) this.rest(RETRY_MS);
    if (error instanceof Problem && error.code === "draft_conflict") this.#settle(error.body.draft, sent);
  }

  /** Nobody needs to choose between some words and none. @param {Stored} theirs  @param {{ text: string }} sent */
  #settle(theirs, sent) {
    const isChoice = theirs.text.trim() !== "" && theirs.text !== sent.text;
    if (!isChoice) this.version = theirs.version;
    else if (sent.text.trim() === "") this.options.onOther();
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

/** @param {number} position  @param {string} text  @param {number | null} [set]  @param {number | null} [place] */
function fingerprint(position, text, set = null, place = null) {
  return text === "" ? "" : JSON.stringify([position, text, set, place]);
}
