// @ts-check
/** Words that are not stored and have no place in the input: shown above it, each with its ways back. Loaded on need. */
import { setAside, textsSetAside } from "../shared/drafts.js";
import { createButton, createElement, gettext, showNotice } from "../shared/page.js";

/** @typedef {import("./composer.js").Composer} Composer */

/** @param {string} text  @param {string} [label]  @param {HTMLElement[]} [actions] */
function createQuote(text, label = "", actions = []) {
  const row = createElement("p", "kept-words");
  const quote = createElement("q", "", text);
  quote.dir = "auto";
  row.append(...(label ? [createElement("b", "", label)] : []), quote, ...actions);
  return row;
}

/** @param {number} assignment  @param {Composer} composer */
export function showSetAside(assignment, composer) {
  const texts = textsSetAside(assignment);
  const keep = (/** @type {string[]} */ kept) => {
    setAside(assignment, kept);
    showSetAside(assignment, composer);
  };
  const without = (/** @type {number} */ n) => texts.filter((_, m) => m !== n);
  const use = (/** @type {number} */ n) => {
    keep(composer.text ? [...without(n), composer.text] : without(n)); // what is in the input changes places with it
    composer.fill(texts[n]);
  };
  const more = texts.map((text, n) =>
    createQuote(text, "", [
      createButton("button", gettext("Put into the input"), () => use(n)),
      createButton("button", gettext("Discard"), () => keep(without(n))),
    ]),
  );
  const text = gettext("Kept for you: words that are not stored.");
  showNotice("aside", texts.length > 0 ? { tone: "warn", text, more } : null);
}

/**
 * @param {Composer} composer  @param {string} theirs
 * @param {{ keepMine: () => void, takeTheirs: () => void }} choices
 */
export function offerDraftChoice(composer, theirs, { keepMine, takeTheirs }) {
  const choose = (/** @type {() => void} */ run) => () => {
    showNotice("conflict", null);
    composer.field.focus();
    run();
  };
  showNotice("conflict", {
    tone: "warn",
    text: gettext("This draft was changed in another tab or on another device."),
    more: [createQuote(theirs, gettext("There:")), createQuote(composer.text, gettext("Here:"))],
    actions: [
      { label: gettext("Keep this one"), run: choose(keepMine) },
      { label: gettext("Take the one there"), run: choose(takeTheirs) },
    ],
  });
}
