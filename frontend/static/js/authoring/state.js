// @ts-check
/** What the authoring workbench knows: the assignment, and the turns of the dialogue, stored and pending. */
import { speakerOf } from "./conversation.js";

/**
 * @typedef {import("./conversation.js").Utterance} Utterance
 * @typedef {import("./composer.js").Source} Source
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
