// @ts-check
/** Words that are not stored and have no place in the input: shown above it, each with its ways back. Loaded on need. */
import { copyTextOf } from "../shared/copy.js";
import { setAside, wordsSetAside } from "../shared/drafts.js";
import { createButton, createElement, format, gettext, showNotice } from "../shared/page.js";
import { forgetKeptWords, speakerOf } from "./dialogue.js";

/**
 * @typedef {import("./composer.js").Composer} Composer
 * @typedef {import("../shared/drafts.js").KeptWords} KeptWords
 */

/** @param {string} text  @param {string} label  @param {(quote: HTMLElement) => HTMLElement[]} [actions] */
function createQuote(text, label, actions = () => []) {
  const row = createElement("p", "kept-words");
  const quote = createElement("q", "", text);
  quote.dir = "auto";
  row.append(...(label ? [createElement("b", "", label)] : []), quote);
  const buttons = createElement("span", "row");
  buttons.append(...actions(quote));
  if (buttons.hasChildNodes()) row.append(buttons);
  return row;
}

/** @param {number} assignment  @param {Composer} composer  @param {() => number} positionNow  of the turn that is written */
export function showSetAside(assignment, composer, positionNow) {
  const all = wordsSetAside(assignment);
  const keep = (/** @type {KeptWords[]} */ kept) => {
    setAside(assignment, kept);
    showSetAside(assignment, composer, positionNow);
  };
  const without = (/** @type {number} */ n) => all.filter((_, m) => m !== n);
  const use = (/** @type {number} */ n) => {
    const words = { position: positionNow(), text: composer.text };
    keep(words.text ? [...without(n), words] : without(n)); // what is in the input changes places with it
    composer.fill(all[n].text);
  };
  const more = all.map(({ text, position }, n) =>
    createQuote(text, position === null ? "" : turnLabel(position), (quote) => [
      createButton("button", gettext("Put into the input"), () => use(n)),
      createButton("button", gettext("Copy"), () => void copyTextOf(quote, gettext("Copied"))),
      createButton("button", gettext("Discard"), () => keep(without(n))),
    ]),
  );
  const text = gettext("Your unsaved text is kept here:");
  showNotice("aside", all.length > 0 ? { tone: "warn", text, more } : null);
  if (all.length === 0) forgetKeptWords();
}

/** Whose words they were. @param {number} position */
const turnLabel = (position) =>
  format(gettext("{speaker}, turn {n}:"), { speaker: speakerOf(position), n: position + 1 });

/**
 * @param {Composer} composer  @param {string} theirs
 * @param {{ keepMine: () => void, takeTheirs: () => void }} choices
 */
export function offerDraftChoice(composer, theirs, { keepMine, takeTheirs }) {
  const choose = (/** @type {() => void} */ run) => () => {
    showNotice("conflict", null);
    composer.focus();
    run();
  };
  showNotice("conflict", {
    tone: "warn",
    text: gettext("This draft was changed in another tab or on another device."),
    more: [
      createQuote(theirs, gettext("In the other tab or on the other device:")),
      createQuote(composer.text, gettext("In this tab:")),
    ],
    actions: [
      { label: gettext("Keep this one"), run: choose(keepMine) },
      { label: gettext("Use the other one"), run: choose(takeTheirs) },
    ],
  });
}
