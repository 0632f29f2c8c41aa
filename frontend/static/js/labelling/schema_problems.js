// @ts-check
/** What is wrong with the text of a schema: the list of problems, and the lines of the text that have one. */
import { byId, createElement, format, gettext, joinSentences, ngettext } from "../shared/page.js";

/** @typedef {import("./schema_form.js").Problem} Problem */

const LINES_ABOVE = 5;

export class ProblemList {
  /** @type {Problem[]} */
  problems = [];

  /** @param {HTMLTextAreaElement} yaml  @param {(problem: Problem) => void} onOpen  a problem was clicked */
  constructor(yaml, onOpen) {
    this.yaml = yaml;
    this.onOpen = onOpen;
    yaml.addEventListener("scroll", () => this.#scrollGutter());
  }

  /** Nothing is written yet, so missing parts are not listed as problems. @param {Problem[]} problems */
  showBeginning(problems) {
    this.problems = problems;
    const title = byId("problems-title");
    title.textContent = gettext("No questions yet: add the first one, or start from a preset.");
    title.classList.remove("is-bad", "is-good");
    byId("problems").replaceChildren();
    this.drawGutter();
  }

  /** @param {Problem[]} problems */
  show(problems) {
    this.problems = problems;
    const n = problems.length;
    const title = byId("problems-title");
    title.textContent = n > 0 ? format(ngettext("{n} problem", "{n} problems", n), { n }) : gettext("No problems.");
    title.classList.toggle("is-bad", n > 0);
    title.classList.toggle("is-good", n === 0);
    byId("problems").replaceChildren(...problems.map((problem) => this.#createRow(problem)));
    this.drawGutter();
  }

  /** Why nobody knows whether there are problems. @param {string} reason */
  showUnchecked(reason) {
    byId("problems-title").textContent = reason;
  }

  /** @param {Problem} problem */
  #createRow(problem) {
    const { path, line, message, remedy } = problem;
    const row = createElement("li");
    const button = createElement("button", "problem");
    button.type = "button";
    button.append(
      createElement("b", "", line === null ? path : format(gettext("Line {n}"), { n: line })),
      createElement("span", "", joinSentences(message, remedy)),
      ...(path ? [createElement("code", "", path)] : []),
    );
    button.addEventListener("click", () => this.onOpen(problem));
    row.append(button);
    return row;
  }

  /** The numbers of the lines, marked where there is a problem. */
  drawGutter() {
    const bad = new Set(this.problems.map(({ line }) => line));
    const count = this.yaml.value.split("\n").length;
    const numbers = Array.from({ length: count }, (_none, n) =>
      createElement("span", bad.has(n + 1) ? "bad" : "", String(n + 1)),
    );
    byId("gutter").replaceChildren(...numbers);
    this.#scrollGutter();
  }

  #scrollGutter() {
    byId("gutter").scrollTop = this.yaml.scrollTop;
  }

  /** Select a line of the text. @param {number} line  from 1 */
  goToLine(line) {
    const lines = this.yaml.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, before) => sum + before.length + 1, 0);
    this.yaml.focus();
    this.yaml.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    const height = this.yaml.scrollHeight / Math.max(1, lines.length);
    this.yaml.scrollTop = Math.max(0, (line - LINES_ABOVE) * height);
    this.yaml.scrollLeft = 0;
  }
}
