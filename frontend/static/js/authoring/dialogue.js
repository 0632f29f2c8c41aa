// @ts-check
/** The dialogue that is written: its assignment and its turns, stored and pending, and what the page says about them. */
import { Problem } from "../shared/api.js";
import { byId, clock, cloneTemplate, format, gettext, joinSentences, ngettext, showNotice } from "../shared/page.js";

/**
 * @typedef {import("./composer.js").Source} Source
 * @typedef {import("./workbench.js").Workbench} Workbench
 * @typedef {{ position: number, speaker: string, text: string, action: string, source: number | null,
 *   edit_distance: number | null, turn_id: string | null, isPending?: boolean,
 *   from?: import("./composer.js").Source | null }} Utterance  from: known of turns that this page has written
 * @typedef {{ position: number, text: string, version: number, candidate_set: number | null, source: number | null }} StoredDraft
 * @typedef {{ id: number, project: string, state: string, lease_until: string, touched_at: string,
 *   utterance_count: number }} Assignment
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
  /** Turns undone on this page; the answer to their submission, or a dialogue that still has them, may arrive. @type {Set<string>} */
  undone = new Set();
  /** What this page has queued or shown of the outbox, undone or not: it says what became of it. @type {Set<string>} */
  items = new Set();

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

  /** The position of the turn that is written now. */
  get position() {
    return this.turns.length;
  }

  /** Whether a turn is being sent. */
  get isBusy() {
    return this.turns.some((turn) => turn.isPending);
  }

  /** @param {Partial<Assignment>} assignment  as the server has it  @returns {boolean} whether its state changed */
  update(assignment) {
    const before = this.assignment.state;
    this.assignment = { ...this.assignment, ...assignment };
    return this.assignment.state !== before;
  }

  /** Stored turns up to one that was undone here, followed by pending ones. @param {Utterance[]} stored */
  replaceTurns(stored) {
    const undone = stored.findIndex(({ turn_id }) => turn_id !== null && this.undone.has(turn_id));
    const turns = undone < 0 ? stored : stored.slice(0, undone);
    this.turns = [...turns, ...this.turns.filter((turn) => turn.isPending && turn.position >= turns.length)];
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
export const speakerOf = (position) => "AB"[position % 2];

export class Conversation {
  list = /** @type {HTMLOListElement} */ (byId("turns"));
  scroller = /** @type {HTMLElement} */ (this.list.parentElement);
  isAtEnd = true;
  #height = 0;

  /** @param {{ lang: string, leastRounds: number }} options */
  constructor(options) {
    this.options = options;
    this.scroller.addEventListener("scroll", () => {
      // An event of another height is late: it is about a place from before the resize, not about what the person does.
      if (this.scroller.clientHeight === this.#height) this.isAtEnd = this.#isAtEnd();
    });
    // The newest turn stays in sight when the composer grows or a phone's keyboard takes half of the window.
    new ResizeObserver(() => {
      this.#height = this.scroller.clientHeight;
      if (this.isAtEnd) this.toEnd();
    }).observe(this.scroller);
  }

  #isAtEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.scroller;
    return scrollTop + clientHeight >= scrollHeight - NEAR_THE_END_PX;
  }

  /** @param {Utterance[]} turns  @param {boolean} isOpen */
  show(turns, isOpen) {
    const atEnd = this.isAtEnd || this.#isAtEnd();
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
    const pending = navigator.onLine ? "pending" : "waiting";
    const badgeShown = turn.isPending ? pending : turn.position > 0 ? turn.action : "";
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
        ? gettext("Write an opening as A: be concrete; any topic is fine.")
        : isEnough
          ? gettext("Long enough: finish it, or continue as {speaker}.")
          : gettext("Continue as {speaker}: pick a candidate, revise it, or write your own.");
    byId("task").textContent = isOpen ? format(task, { speaker }) : "";
    byId("writes").textContent = format(gettext("{speaker} writes"), { speaker });
    // Seen from the first turn on, so that everybody knows that there is an end; pressed too early, it says when.
    byId("finish").setAttribute("aria-disabled", String(!isEnough));
    byId("finish").title = isEnough
      ? ""
      : format(ngettext("After {n} round", "After {n} rounds", leastRounds), { n: leastRounds });
    byId("finish").hidden = !isOpen;
    byId("too-early").hidden = isEnough || !isOpen;
    byId("finish").classList.toggle("primary", isEnough);
    byId("submit").classList.toggle("primary", !isEnough);
  }
}

/** Safari on phones leaves the page as high as without its keyboard, and hides half of it. */
export function fitToKeyboard() {
  const view = visualViewport;
  view?.addEventListener("resize", () => {
    if (view.scale === 1) document.body.style.setProperty("--seen-height", `${view.height}px`);
  });
}

// ---- notices --------------------------------------------------------------------------------------------------------

/** @type {Record<string, { text: string, remedy: string }>} */
const STATES = {
  saved: {
    text: gettext("Saved for later, kept until {when}."),
    remedy: gettext("You can just read it. Sending another turn resumes it."),
  },
  expired: {
    text: gettext("This dialogue was kept for you until {when}."),
    remedy: gettext("Keep writing to resume it, unless somebody else has taken it."),
  },
  submitted: {
    text: gettext("This dialogue is finished."),
    remedy: gettext("You can take it back until an expert starts reading it."),
  },
  reading: {
    text: gettext("This dialogue is finished, and an expert is reading it."),
    remedy: gettext("You can no longer take it back; the verdict will appear in your queue."),
  },
  passed: {
    text: gettext("Experts passed this dialogue."),
    remedy: gettext("It is part of the data, and you can no longer take it back."),
  },
  vetoed: {
    text: gettext("An expert vetoed this dialogue."),
    remedy: gettext("It is not part of the data, and you can no longer take it back. The reason is given above."),
  },
  released: {
    text: gettext("You gave this dialogue back."),
    remedy: gettext("You can resume it until somebody else takes it."),
  },
};

/** @param {string[]} causes */
export function hideNotices(...causes) {
  for (const cause of causes) showNotice(cause, null);
}

const STORED_MESSAGE = gettext("This page shows what is stored now.");

/** What to do after another device has written: the words that are not stored are shown above the input. */
export const KEPT_MESSAGE = joinSentences(
  STORED_MESSAGE,
  gettext("Your own words are kept here: copy them, or put them into the input if they still fit."),
);

/** No words are kept any more, so no notice says that there are. */
export function forgetKeptWords() {
  hideNotices("moved");
  for (const remedy of byId("notices").querySelectorAll("[data-remedy]"))
    if (remedy.textContent === KEPT_MESSAGE) remedy.textContent = STORED_MESSAGE;
}

/** @param {unknown} error  @param {string} [cause] */
export function showError(error, cause = "error") {
  const failed = gettext("That did not work. Nothing was changed; try again.");
  if (error instanceof Problem) showNotice(cause, { tone: "bad", text: error.message || failed, remedy: error.remedy });
  else showNotice(cause, { tone: "warn", text: gettext("No connection."), remedy: failed });
}

export function showOffline() {
  showNotice("connection", {
    tone: "warn",
    text: gettext("No connection."),
    remedy: gettext("Keep writing: everything is kept in this browser and sent, in order, when it is back."),
  });
}

/** @param {string} loginUrl */
export async function showSignedOut(loginUrl) {
  const { signedOutNotice } = await import("../shared/signed_out.js");
  showNotice("signed-out", await signedOutNotice(loginUrl));
}

export function showVolatile() {
  showNotice("volatile", {
    tone: "warn",
    text: gettext("This browser cannot keep unsent turns on disk."),
    remedy: gettext("Keep this tab open until everything is sent."),
  });
}

/** Say why the dialogue cannot be continued, or what continuing does. @param {Workbench} bench */
export function showState(bench) {
  const { assignment, isOpen, decision } = bench.state;
  const { state, lease_until } = assignment;
  hideNotices("state");
  if (state === "active") return;
  // What experts have judged or are reading cannot be taken back.
  const key = state === "submitted" && decision ? decision : state;
  const isFinished = state === "submitted";
  const takeUp = {
    label: isFinished ? gettext("Take it back") : gettext("Resume it"),
    run: () => void bench.takeUp(isFinished ? "take-back" : "resume"),
  };
  const { text, remedy } = STATES[key];
  const actions = isOpen || key !== state ? [] : [takeUp];
  showNotice("state", { tone: "", text: format(text, { when: clock(lease_until) }), remedy, actions });
}

/** Actions to offer if somebody else may have the dialogue. @param {Workbench} bench */
export function waysOut(bench) {
  return [
    { label: gettext("Resume it"), run: () => void bench.takeUp("resume") },
    { label: gettext("Open the queue"), run: () => location.assign(bench.state.urls.queue) },
  ];
}
