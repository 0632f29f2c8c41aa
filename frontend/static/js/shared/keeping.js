// @ts-check
/** Words that are not stored and have no place in the input: shown above it, each with its ways back. Loaded on need. */

import { button, note } from "./conversation.js";
import { aside, setAside } from "./drafts.js";
import { gettext } from "./messages.js";

/**
 * @typedef {{ id: number, composer: import("../authoring/composer.js").Composer }} Bench
 */

/** @param {string} text  @param {string} [label]  @param {HTMLElement[]} [actions] */
function quoted(text, label = "", actions = []) {
  const row = document.createElement("p");
  const [name, said] = [document.createElement("b"), document.createElement("q")];
  row.className = "kept-words";
  name.textContent = label;
  said.textContent = text;
  said.dir = "auto";
  row.append(...(label ? [name] : []), said, ...actions);
  return row;
}

/** @param {Bench} bench */
export function showAside(bench) {
  const { id, composer } = bench;
  const kept = aside(id);
  /** @param {string[]} texts */
  const keep = (texts) => {
    setAside(id, texts);
    showAside(bench);
  };
  const use = (/** @type {number} */ n) => {
    const others = kept.filter((_, m) => m !== n);
    keep(composer.text ? [...others, composer.text] : others); // what is in the input changes places with it
    composer.fill(kept[n]);
  };
  const more = kept.map((text, n) =>
    quoted(text, "", [
      button(gettext("Put into the input"), () => use(n)),
      button(gettext("Discard"), () => keep(kept.filter((_, m) => m !== n))),
    ]),
  );
  note(
    "aside",
    kept.length > 0 ? { tone: "warn", text: gettext("Kept for you: words that are not stored."), more } : null,
  );
}

/**
 * @param {Bench} bench  @param {string} theirs
 * @param {{ keepMine: () => void, takeTheirs: () => void }} choice
 */
export function chooseDraft({ composer }, theirs, { keepMine, takeTheirs }) {
  const done = (/** @type {() => void} */ run) => () => {
    note("conflict", null);
    composer.field.focus();
    run();
  };
  note("conflict", {
    tone: "warn",
    text: gettext("This draft was changed in another tab or on another device."),
    more: [quoted(theirs, gettext("There:")), quoted(composer.text, gettext("Here:"))],
    actions: [
      { label: gettext("Keep this one"), run: done(keepMine) },
      { label: gettext("Take the one there"), run: done(takeTheirs) },
    ],
  });
}
