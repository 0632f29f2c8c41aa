// @ts-check
/** Words that are not stored and have no place in the input: shown above it, each with its ways back. Loaded on need. */

import { aside, setAside } from "../shared/drafts.js";
import { createButton } from "../shared/elements.js";
import { gettext } from "../shared/messages.js";
import { showNotice } from "../shared/notices.js";

/**
 * @typedef {{ id: number, composer: import("./composer.js").Composer }} Bench
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
      createButton("button", gettext("Put into the input"), () => use(n)),
      createButton("button", gettext("Discard"), () => keep(kept.filter((_, m) => m !== n))),
    ]),
  );
  showNotice(
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
    showNotice("conflict", null);
    composer.field.focus();
    run();
  };
  showNotice("conflict", {
    tone: "warn",
    text: gettext("This draft was changed in another tab or on another device."),
    more: [quoted(theirs, gettext("There:")), quoted(composer.text, gettext("Here:"))],
    actions: [
      { label: gettext("Keep this one"), run: done(keepMine) },
      { label: gettext("Take the one there"), run: done(takeTheirs) },
    ],
  });
}
