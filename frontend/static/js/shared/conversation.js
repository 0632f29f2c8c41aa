// @ts-check
/** What the left side of the workbench shows: the turns, how far the dialogue is, and notices above the input. */
import { format, gettext, ngettext } from "./messages.js";

/**
 * @typedef {{ position: number, speaker: string, text: string, action: string, source: number | null,
 *   edit_distance: number | null, turn_id: string | null, isPending?: boolean,
 *   from?: import("../authoring/composer.js").Source | null }} Utterance  from: known of turns that this page has written
 * @typedef {{ tone: "good" | "warn" | "bad" | "", text: string, remedy?: string, more?: HTMLElement[],
 *   actions?: { label: string, run: () => void }[] }} Notice
 */

const NEAR_THE_END_PX = 40;

/** @param {string} id */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
/** Who writes the utterance at a position. @param {number} position */
export const speakerOf = (position) => "AB"[position % 2];

/** The first element of a template, with a finder for its parts. @param {string} id */
function copyOf(id) {
  const template = /** @type {HTMLTemplateElement} */ (byId(id));
  const row = /** @type {HTMLElement} */ (template.content.firstElementChild?.cloneNode(true));
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (row.querySelector(`[data-${name}]`));
  return { row, part };
}

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
    const { row, part } = copyOf("turn-row");
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

/** What the actions of a notice do now. @type {WeakMap<HTMLElement, NonNullable<Notice["actions"]>>} */
const acts = new WeakMap();

/**
 * One notice a cause, above the input; null takes it away. What stands there already is not read out again.
 * @param {string} cause  @param {Notice | null} notice
 */
export function note(cause, notice) {
  const holder = byId("notices");
  const old = /** @type {HTMLElement | null} */ (holder.querySelector(`[data-cause="${cause}"]`));
  if (!notice) {
    old?.remove();
    return;
  }
  const { tone, text, remedy = "", more = [], actions = [] } = notice;
  const print = JSON.stringify([tone, text, remedy, actions.map(({ label }) => label)]);
  if (old?.dataset.print === print && more.length === 0) {
    acts.set(old, actions);
    return;
  }
  const { row, part } = copyOf("notice-row");
  Object.assign(row.dataset, { cause, print });
  acts.set(row, actions);
  if (tone) row.classList.add(tone);
  row.setAttribute("role", tone === "bad" ? "alert" : "status");
  part("said").textContent = text;
  part("remedy").textContent = remedy;
  part("more").append(...more);
  part("actions").append(...actions.map(({ label }, n) => button(label, () => acts.get(row)?.[n].run())));
  if (old) old.replaceWith(row);
  else holder.append(row);
}

/** @param {string} label  @param {() => void} run */
export function button(label, run) {
  const control = document.createElement("button");
  control.type = "button";
  control.className = "button";
  control.textContent = label;
  control.addEventListener("click", run);
  return control;
}
