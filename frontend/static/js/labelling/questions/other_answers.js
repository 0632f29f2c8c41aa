// @ts-check
/** Answers of other people beside one's own: in a confirmation, or for a trainer who decides a dispute. */
import { createButton, createElement, createKeyCap } from "../../shared/elements.js";

/** @typedef {import("./answer_sheet.js").PersonsAnswer} PersonsAnswer */

/**
 * The other answer, with buttons to take it or to keep one's own.
 * @param {string} text  @param {import("./language.js").Language} language
 * @param {{ take: () => void, keep: () => void }} actions
 */
export function createOtherAnswer(text, language, { take, keep }) {
  const row = createElement("div", "theirs");
  const answer = createElement("p");
  answer.append(createElement("b", "", language.gettext("The other answer:")), " ", text);
  const takeButton = createButton("button", language.gettext("Take it"), take);
  const keepButton = createButton("button", language.gettext("Keep mine"), keep);
  takeButton.append(createKeyCap("t"));
  keepButton.append(createKeyCap("m"));
  row.append(answer, takeButton, keepButton);
  return row;
}

/** Who answered what. @param {PersonsAnswer[]} answers  @returns {HTMLElement[]} a list, or nothing */
export function createSpread(answers) {
  if (answers.length === 0) return [];
  const list = createElement("ul", "spread");
  for (const { words, by } of answers) {
    const row = createElement("li");
    const answer = createElement("b", "", words);
    answer.dir = "auto";
    row.append(answer, " ", createElement("bdi", "", by));
    list.append(row);
  }
  return [list];
}

/** The notes of the others, above the questions. @param {string[]} notes  @param {import("./language.js").Language} language */
export function createNotes(notes, language) {
  return notes.map((note) => {
    const line = createElement("p", "their-note");
    const quote = createElement("q", "", note);
    quote.dir = "auto";
    line.append(createElement("b", "", language.gettext("Their note")), quote);
    return line;
  });
}
