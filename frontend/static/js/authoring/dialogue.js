// @ts-check
/** The dialogue that is written: its assignment and its turns, stored and pending, and how the page shows them. */
import { byId, cloneTemplate, format, gettext, ngettext } from "../shared/page.js";

/**
 * @typedef {import("./composer.js").Source} Source
 * @typedef {{ position: number, speaker: string, text: string, action: string, source: number | null,
 *   edit_distance: number | null, turn_id: string | null, isPending?: boolean,
 *   from?: import("./composer.js").Source | null }} Utterance  from: known of turns that this page has written
 * @typedef {{ position: number, text: string, version: number, candidate_set: number | null, source: number | null }} StoredDraft
 * @typedef {{ id: number, project: string, state: string, lease_until: string, touched_at: string }} Assignment
 * @typedef {Assignment & { settings: Settings, dialogue: { utterances: Utterance[] }, draft: StoredDraft | null,
 *   request: import("./candidates.js").CandidateRequest | null }} FullAssignment  as the API gives it
 * @typedef {{ min_rounds: number, max_utterance_length: number, candidates: number, new_sets_per_turn: number,
 *   generate_ahead: boolean }} Settings
 * @typedef {{ assignment: FullAssignment, submit_on_enter: boolean, topics: import("./candidates.js").Topic[], lang: string,
 *   closed: boolean, decision: string, files: string[], urls: { queue: string, workbench: string, login: string } }} PageData
 *   decision: what experts made of the dialogue, "" if its author may take it back
 */

const NEAR_THE_END_PX = 40;

export class State {
  /** Turns taken back here; the answer to their sending may still arrive. @type {Set<string>} */
  undone = new Set();

  /** @param {PageData} data */
  constructor(data) {
    /** @type {Assignment} */
    this.assignment = data.assignment;
    this.settings = data.assignment.settings;
    this.turns = data.assignment.dialogue.utterances;
    this.isOpen = !data.closed;
    this.decision = data.decision;
    this.urls = data.urls;
  }

  get id() {
    return this.assignment.id;
  }

  /** Of the turn that is written now. */
  get position() {
    return this.turns.length;
  }

  /** A turn is on its way to the server. */
  get isBusy() {
    return this.turns.some((turn) => turn.isPending);
  }

  /** @param {Partial<Assignment>} assignment  as the server has it  @returns {boolean} whether its state changed */
  update(assignment) {
    const before = this.assignment.state;
    this.assignment = { ...this.assignment, ...assignment };
    return this.assignment.state !== before;
  }

  /** What the server has, then what waits to be sent. @param {Utterance[]} stored */
  replaceTurns(stored) {
    const pending = this.turns.filter((turn) => turn.isPending && turn.position >= stored.length);
    this.turns = [...stored, ...pending];
  }
}

/** A turn that this browser has sent and the server has not confirmed. @param {number} position  @param {string} text  @param {string} id */
export function pendingTurn(position, text, id) {
  return {
    ...{ position, speaker: speakerOf(position), text, turn_id: id, isPending: true },
    ...{ action: "", source: null, edit_distance: null },
  };
}

/** @param {any} turn  as the API gives it */
export function storedTurn(turn, position = Number(turn.position)) {
  return { ...turn, speaker: speakerOf(position), turn_id: turn.id, isPending: false };
}

// ---- what is shown --------------------------------------------------------------------------------------------------

/** Who writes the utterance at a position. @param {number} position */
const speakerOf = (position) => "AB"[position % 2];

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
    const badgeShown = turn.isPending ? "pending" : turn.position > 0 ? turn.action : "";
    for (const badge of row.querySelectorAll("[data-when]")) {
      if (badge.getAttribute("data-when") !== badgeShown) badge.remove();
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
