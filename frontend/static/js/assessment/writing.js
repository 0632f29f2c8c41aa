// @ts-check
/** How an input is written (announced on the consent page), and gentle hints, which never block. */
import { format, gettext, ngettext } from "../shared/page.js";

/** @typedef {import("./memory.js").Writing} Writing */

const PAUSE_MS = 5000; // a longer gap between two keys is not typing
const LEAST_COPIED = 12; // characters of a reply that count as copied
const HAN = /\p{Script=Han}/gu;

/** @param {string} text  a Chinese character counts as a word */
export function countWords(text) {
  const characters = text.match(HAN)?.length ?? 0;
  return characters + text.replace(HAN, " ").split(/\s+/).filter(Boolean).length;
}

/** @param {string} text */
const plain = (text) => text.trim().toLocaleLowerCase();

/**
 * @param {string} text
 * @param {{ inputs: string[], replies: string[], minWords: number }} before
 * @returns {string} a hint about an input; "" if there is nothing to say
 */
export function hintAbout(text, { inputs, replies, minWords }) {
  if (inputs.some((input) => plain(input) === plain(text))) return gettext("You have already written exactly that.");
  if (replies.some((reply) => isCopied(plain(text), plain(reply))))
    return gettext("That looks copied from the chatbot. Please use your own words.");
  if (countWords(text) < minWords)
    return format(
      ngettext("Messages of at least {n} word help most.", "Messages of at least {n} words help most.", minWords),
      { n: minWords },
    );
  return "";
}

/** @param {string} text  @param {string} reply */
function isCopied(text, reply) {
  return text === reply || (text.length >= LEAST_COPIED && reply.includes(text));
}

/** Typing time, pasted characters and page leaves since the last input. */
export class WritingLog {
  #lastKey = Number.NEGATIVE_INFINITY;

  /** @param {HTMLTextAreaElement} field  @param {Writing} kept  of before a reload */
  constructor(field, kept) {
    this.writing = { ...{ typing_ms: 0, pasted: 0, left_page: 0 }, ...kept };
    field.addEventListener("input", () => this.#onInput());
    field.addEventListener("paste", (event) => {
      this.writing.pasted += event.clipboardData?.getData("text").length ?? 0;
    });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.writing.left_page += 1;
    });
  }

  #onInput() {
    const now = performance.now();
    const gap = now - this.#lastKey;
    if (gap < PAUSE_MS) this.writing.typing_ms += Math.round(gap);
    this.#lastKey = now;
  }

  /** @returns {Writing} of the input that is sent now; the next one begins */
  take() {
    const taken = this.writing;
    this.writing = { typing_ms: 0, pasted: 0, left_page: 0 };
    this.#lastKey = Number.NEGATIVE_INFINITY;
    return taken;
  }
}
