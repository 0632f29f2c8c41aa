// @ts-check
/** What was judged and is not stored yet: kept in this browser, sent in order, tried again until the server has answered. */

import { call, isPassing, isSignedOut } from "../shared/api.js";
import { note } from "../shared/conversation.js";
import { gettext } from "../shared/messages.js";

/**
 * @typedef {import("../labelling/questions.js").Answers} Answers
 * @typedef {{ item: import("./sample_review.js").Item,
 *   body: { id: string, answers: Answers | null, reason: string, active_ms: number }, at?: number }} Entry
 * @typedef {{ keptAs: string, login: string,
 *   asks: () => { next: number, held: number[] }, onStored: (entry: Entry, answer: any) => void,
 *   onRefused: (entry: Entry, problem: import("../shared/api.js").Problem) => Promise<void>, onQuiet: () => void }} Options
 *   asks: what to send along, so that the answer brings the next dialogues
 */

const AGAIN_MS = 4000;
const MOST_HELD = 20;

/** What this tab keeps. @param {string} keptAs  @param {string} what */
export function kept(keptAs, what) {
  try {
    return JSON.parse(sessionStorage.getItem(`${keptAs}:${what}`) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} keptAs  @param {string} what  @param {unknown} value */
export function keep(keptAs, what, value) {
  try {
    sessionStorage.setItem(`${keptAs}:${what}`, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing: it stays on the page.
  }
}

/** One key an entry: two tabs with the same sample lose nothing of each other's. @param {string} keptAs  @param {Entry} entry */
const keyOf = (keptAs, entry) => `${keptAs}:unsent:${entry.body.id}`;

/** @param {string} keptAs  @returns {Entry[]} in the order in which they were judged */
function recalled(keptAs) {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(`${keptAs}:unsent:`));
    const found = keys.map((key) => JSON.parse(localStorage.getItem(key) ?? "null"));
    return found.filter(Boolean).sort((one, other) => one.at - other.at);
  } catch {
    return [];
  }
}

/** @param {string} keptAs  @param {Entry} entry */
function remember(keptAs, entry) {
  try {
    localStorage.setItem(keyOf(keptAs, entry), JSON.stringify(entry));
  } catch {
    // Full or forbidden: it stays on the page.
  }
}

/** @param {string} keptAs  @param {Entry} entry */
function forget(keptAs, entry) {
  try {
    localStorage.removeItem(keyOf(keptAs, entry));
  } catch {
    // Nothing was kept.
  }
}

/** Ends after a while, or when the connection is back. */
function patience() {
  return new Promise((done) => {
    setTimeout(done, AGAIN_MS);
    addEventListener("online", done, { once: true });
  });
}

export class Judgements {
  #isSending = false;

  /** @param {Options} options */
  constructor(options) {
    this.options = options;
    /** @type {Entry[]} */
    this.unsent = recalled(options.keptAs);
  }

  get waiting() {
    return this.unsent.length;
  }

  /** @param {number} id  of a dialogue */
  has(id) {
    return this.unsent.some(({ item }) => item.id === id);
  }

  /** @param {Entry} entry */
  send(entry) {
    this.unsent.push(entry);
    remember(this.options.keptAs, { ...entry, at: Date.now() });
    this.pump();
  }

  /** One after another, as long as something waits. */
  async pump() {
    if (this.#isSending) return;
    this.#isSending = true;
    while (this.unsent.length > 0) await this.#sendFirst();
    this.#isSending = false;
    this.options.onQuiet();
  }

  async #sendFirst() {
    const [entry, ...later] = this.unsent;
    const { next, held } = this.options.asks();
    const known = [...held, ...later.map(({ item }) => item.id)].slice(0, MOST_HELD);
    try {
      const body = { ...entry.body, next, held: known };
      const answer = await call("POST", `/sample-items/${entry.item.id}/judgements/`, body);
      this.#done();
      this.options.onStored(entry, answer);
    } catch (error) {
      if (isSignedOut(error) || isPassing(error)) {
        this.warn(error);
        await patience();
        return;
      }
      this.#done();
      await this.options.onRefused(entry, /** @type {import("../shared/api.js").Problem} */ (error));
    }
  }

  #done() {
    const [sent] = this.unsent.splice(0, 1);
    forget(this.options.keptAs, sent);
    note("network", null);
  }

  /** There is no connection, or nobody is signed in. @param {unknown} error */
  warn(error) {
    const { login } = this.options;
    const isOut = isSignedOut(error);
    const signIn = { label: gettext("Sign in"), run: () => window.open(login, "_blank", "noopener") };
    note("network", {
      tone: "warn",
      text: isOut ? gettext("You are signed out.") : gettext("No connection."),
      remedy: isOut
        ? gettext("Sign in again, also in another tab: what waits here is sent then.")
        : gettext("What you judged is kept in this browser and sent when the connection is back."),
      actions: isOut ? [signIn] : [],
    });
  }
}
