// @ts-check
/** What the left side of the authoring workbench shows: the turns, and how far the dialogue is. */
import { byId, cloneTemplate } from "../shared/elements.js";
import { format, gettext, ngettext } from "../shared/messages.js";

/**
 * @typedef {{ position: number, speaker: string, text: string, action: string, source: number | null,
 *   edit_distance: number | null, turn_id: string | null, isPending?: boolean,
 *   from?: import("./composer.js").Source | null }} Utterance  from: known of turns that this page has written
 */

const NEAR_THE_END_PX = 40;

/** Who writes the utterance at a position. @param {number} position */
export const speakerOf = (position) => "AB"[position % 2];

export class Conversation {
  list = /** @type {HTMLOListElement} */ (byId("turns"));
  scroller = /** @type {HTMLElement} */ (this.list.parentElement);

  /** @param {{ lang: string, leastRounds: number }} options */
  constructor(options) {
    this.options = options;
  }

  /** @param {Utterance[]} turns  @param {boolean} isOpen */
  show(turns, isOpen) {
    const { scrollTop, clientHeight, scrollHeight } = this.scroller;
    const atEnd = scrollTop + clientHeight >= scrollHeight - NEAR_THE_END_PX;
    this.list.replaceChildren(...turns.map((turn) => this.#row(turn)));
    byId("no-turns").hidden = turns.length > 0;
    if (atEnd) this.toEnd();
    this.#showProgress(turns.length, isOpen);
  }

  toEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  /** @param {Utterance} turn */
  #row(turn) {
    const { row, part } = cloneTemplate("turn-row");
    part("speaker").textContent = turn.speaker;
    part("text").textContent = turn.text;
    part("text").lang = this.options.lang;
    row.classList.toggle("other", turn.speaker === "B");
    row.toggleAttribute("data-pending", Boolean(turn.isPending));
    const shown = turn.isPending ? "pending" : turn.position > 0 ? turn.action : "";
    for (const badge of row.querySelectorAll("[data-when]")) {
      if (badge.getAttribute("data-when") !== shown) badge.remove();
    }
    const count = part("distance");
    if (count) count.textContent = String(turn.edit_distance ?? "");
    return row;
  }

  /** @param {number} position  @param {boolean} isOpen */
  #showProgress(position, isOpen) {
    const { leastRounds } = this.options;
    const [speaker, rounds] = [speakerOf(position), Math.floor(position / 2)];
    const isEnough = rounds >= leastRounds;
    const round = isEnough ? gettext("Round {n}") : gettext("Round {n} of {needed}");
    byId("round").textContent = isOpen
      ? format(round, { n: rounds + 1, needed: leastRounds })
      : format(ngettext("{n} round", "{n} rounds", rounds), { n: rounds });
    for (const [n, cell] of [...document.querySelectorAll("#steps i")].entries()) {
      cell.className = n < rounds ? "done" : n === rounds && isOpen ? "now" : "";
    }
    const task =
      position === 0
        ? gettext("Write an opening as A: concrete, about anything people talk about.")
        : isEnough
          ? gettext("Long enough: finish it, or write on as {speaker}.")
          : gettext("Continue as {speaker}: pick a candidate, revise it, or write your own.");
    byId("task").textContent = isOpen ? format(task, { speaker }) : "";
    byId("writes").textContent = format(gettext("{speaker} writes"), { speaker });
    byId("finish").hidden = !isEnough || !isOpen;
    byId("too-early").hidden = isEnough || !isOpen;
  }
}
