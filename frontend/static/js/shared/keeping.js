// @ts-check
/** Words that are not stored and have no place in the input: shown above it, each with its ways back. Loaded on need. */
import { button, note } from "./conversation.js";
import { aside, setAside } from "./drafts.js";

/**
 * @typedef {{ id: number, words: Record<string, string>, composer: import("../authoring/composer.js").Composer }} Bench
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
  const { id, words, composer } = bench;
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
      button(words.use, () => use(n)),
      button(words.discard, () => keep(kept.filter((_, m) => m !== n))),
    ]),
  );
  note("aside", kept.length > 0 ? { tone: "warn", text: words.aside, more } : null);
}

/**
 * @param {Bench} bench  @param {string} theirs
 * @param {{ keepMine: () => void, takeTheirs: () => void }} choice
 */
export function chooseDraft({ words, composer }, theirs, { keepMine, takeTheirs }) {
  const done = (/** @type {() => void} */ run) => () => {
    note("conflict", null);
    composer.field.focus();
    run();
  };
  note("conflict", {
    tone: "warn",
    text: words.conflict,
    more: [quoted(theirs, words.conflict_theirs), quoted(composer.text, words.conflict_mine)],
    actions: [
      { label: words.keep_mine, run: done(keepMine) },
      { label: words.use_theirs, run: done(takeTheirs) },
    ],
  });
}
