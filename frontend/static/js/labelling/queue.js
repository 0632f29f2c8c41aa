// @ts-check
/**
 * The dialogues ahead: the next one is claimed while the present one is labelled, so that a submission shows it at once.
 * The answer to a submission brings the one after. Claims have ids, so a claim whose answer was lost is sent again.
 */
import { call, isPassing, isSignedOut, uuid } from "../shared/api.js";
import { gettext } from "../shared/messages.js";
import { owner } from "../shared/outbox.js";
import { newTask } from "./state.js";
import { keepAssignments } from "./task_cache.js";

/**
 * @typedef {import("./state.js").Assignment} Assignment
 * @typedef {import("./state.js").Task} Task
 * @typedef {import("./workbench.js").Workbench} Workbench
 */

const ASK_AGAIN_MS = 5000;

/** @returns {import("./state.js").EmptyReason} */
export const loadingReason = () => ({
  code: "loading",
  message: gettext("The next dialogue is on its way."),
  remedy: "",
});

export class Queue {
  /** @type {Promise<void> | undefined} */
  #claiming;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #nextClaim;

  /** @param {Workbench} bench */
  constructor(bench) {
    this.bench = bench;
    this.state = bench.state;
    this.claimKey = `lapidary.claim.${owner}.${bench.state.project}`;
  }

  // ---- claims ------------------------------------------------------------------------------------------------------

  /** One claim at a time, however often it is sent, reloads included. */
  claimId() {
    return localStorage.getItem(this.claimKey) ?? this.#newClaim();
  }

  #newClaim() {
    const id = uuid();
    try {
      localStorage.setItem(this.claimKey, id);
    } catch {
      // A browser that keeps nothing: a reload claims another one.
    }
    return id;
  }

  /** Claim one more; it is shown if nothing else is. */
  claimAhead() {
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = undefined;
    });
    return this.#claiming;
  }

  /** @returns {Promise<void>} */
  async #claim() {
    clearTimeout(this.#nextClaim);
    const request = { claim_id: this.claimId(), ahead: this.state.current !== null };
    try {
      const claimed = await call("POST", `/projects/${this.state.project}/labelling/claim/`, request);
      this.state.onServerAnswer();
      if (this.add(claimed, request.claim_id)) return;
      this.#newClaim(); // that one was labelled meanwhile
      const isNew = this.claimId() !== request.claim_id; // a full store keeps the old id
      if (!this.state.current && isNew) await this.#claim();
    } catch (error) {
      this.#onClaimFailed(error);
    }
  }

  /** @param {unknown} error */
  #onClaimFailed(error) {
    const { state, bench } = this;
    if (isPassing(error)) {
      state.emptyReason = null;
      this.onUnanswered();
    } else if (!isSignedOut(error)) {
      const { code, message, remedy, body } = /** @type {import("../shared/api.js").Problem} */ (error);
      state.onServerAnswer();
      state.emptyReason = { code, message, remedy, details: body };
    }
    if (state.current) return;
    if (isSignedOut(error)) bench.notices.showSignedOut();
    else if (isPassing(error)) this.#claimLater();
    else if (state.emptyReason) bench.showEmpty(state.emptyReason);
  }

  #claimLater() {
    const wait = ASK_AGAIN_MS * (0.75 + Math.random() / 2);
    this.#nextClaim = setTimeout(() => this.state.current ?? this.claimAhead(), wait);
  }

  /** What an earlier page had ready is next; without any, the page says so once. */
  onUnanswered() {
    const { state } = this;
    const isNew = !state.isUnanswered;
    state.isUnanswered = true;
    const isUsable = (/** @type {Assignment} */ assignment) =>
      state.schemas.has(assignment.schema) && Date.parse(assignment.lease_until) > Date.now();
    const usable = state.spare.filter(isUsable);
    state.spare = [];
    for (const assignment of usable) this.add(assignment, assignment.claim ?? "");
    if (isNew && !state.current && !state.emptyReason) this.bench.showEmpty(loadingReason());
  }

  // ---- what lies ready ---------------------------------------------------------------------------------------------

  /** @param {Assignment | null | undefined} next  @param {string} [claim]  @returns {boolean} whether it is new here */
  add(next, claim = this.claimId()) {
    if (!next || next.state === "submitted" || this.state.knows(next.id)) return false;
    this.state.ahead.push(newTask({ ...next, claim }));
    this.keep();
    if (!this.state.current) this.showNext();
    return true;
  }

  /** A claim is over when the dialogue that it brought is shown. */
  takeNext() {
    const next = this.state.ahead.shift();
    if (next?.assignment.claim === this.claimId()) this.#newClaim();
    return next;
  }

  showNext() {
    const next = this.takeNext();
    if (!next) return;
    void this.bench.show(next);
    this.keep();
  }

  /** What is shown comes next again; what was submitted already does not. @param {Task} task */
  putBack(task) {
    this.bench.editor.keepDraft();
    if (!task.isRevision) this.state.ahead.unshift(task);
  }

  /** For a reload without a network. */
  keep() {
    document.documentElement.dataset.ahead = String(this.state.ahead.length);
    void keepAssignments(this.state.heldTasks().map(({ assignment }) => assignment));
  }

  /** Who only looks at the page takes no dialogue from the others: the next is claimed when the work begins. */
  claimWhenWorkBegins() {
    const names = ["keydown", "pointerdown"];
    const begin = () => {
      for (const name of names) removeEventListener(name, begin, true);
      if (this.state.ahead.length === 0) void this.claimAhead();
    };
    for (const name of names) addEventListener(name, begin, true);
  }
}
