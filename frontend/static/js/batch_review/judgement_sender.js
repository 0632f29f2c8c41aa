// @ts-check
/**
 * Judgements on their way: sent through the outbox (shared/outbox.js) in order, and what the server answers to them. The
 * next dialogues come with the answers.
 */
import { call, isSignedOut, Problem, uuid } from "../shared/api.js";
import * as outbox from "../shared/outbox.js";
import { owner } from "../shared/outbox_store.js";
import { gettext, showNotice } from "../shared/page.js";

/**
 * @typedef {import("./sample_state.js").Answers} Answers
 * @typedef {import("./sample_state.js").Item} Item
 */

const READY = 3; // dialogues ahead
const MAX_HELD = 20;
const LONGEST_MS = 3_600_000;
const OPENING_CHARACTERS = 80;

export class JudgementSender {
  /** @param {import("./sample_review.js").SampleReview} review */
  constructor(review) {
    this.review = review;
    this.state = review.state;
  }

  /** @param {Item} item  @param {Answers | null} answers  null: as the label says */
  send(item, answers) {
    const { state, view } = this.review;
    state.keepDraft(null);
    state.removeFromQueue(item.id);
    state.unsent.add(item.id);
    state.judged.set(item.id, item); // its judgement follows with the server's answer
    for (const cause of ["why", "back"]) showNotice(cause, null);
    const id = uuid();
    const opening = item.utterances.find(({ text }) => text.trim())?.text.slice(0, OPENING_CHARACTERS) ?? "";
    const sent = {
      ...{ id, sample_item: item.id, answers, reason: view.reason.value.trim() },
      active_ms: Math.round(Math.min(performance.now() - state.shownAt, LONGEST_MS)),
      next: Math.max(0, READY - state.queue.length),
      held: state.queue.map((waiting) => waiting.id).slice(0, MAX_HELD),
    };
    const about = { id, kind: "judgement", lane: state.lane, assignment: null, position: item.place, text: opening };
    outbox.enqueue({ ...about, sent, url: location.pathname, made_at: Date.now() }).catch((error) => {
      this.#forgetUnsent(item.id);
      state.queue.unshift(item);
      this.showError(error);
    });
  }

  /** The judgement was not stored: the dialogue may be judged again. @param {number} id */
  #forgetUnsent(id) {
    const { state } = this;
    state.unsent.delete(id);
    if (!state.judged.get(id)?.judgement) state.judged.delete(id);
  }

  listen() {
    outbox.listen((event) => {
      if (event.kind === "waiting") {
        if (this.state.unsent.size > 0) void this.#showWaiting(event.signedOut);
      } else if (event.item.lane !== this.state.lane || event.item.owner !== owner) return;
      else if (event.kind === "stored") void this.#onStored(event.item, event.answer);
      else if (event.kind === "refused") void this.onRefused(event.item);
    });
  }

  /** @param {outbox.Item} item  in the outbox  @param {any} answer */
  async #onStored(item, answer) {
    const { state, view } = this.review;
    const id = Number(item.sent.sample_item);
    const isCurrent = state.item?.id === id;
    const judged = this.applyAnswer(item, answer);
    showNotice("network", null);
    if (judged && isCurrent && ["sent", "compare"].includes(state.stage)) this.review.showComparison(judged);
    else if (state.stage === "loading" || (isCurrent && !judged)) await this.review.showNext();
    else view.drawProgress();
  }

  /** @param {outbox.Item} item  in the outbox  @param {any} answer  @returns {Item | undefined} if it was judged on this page */
  applyAnswer({ sent }, answer) {
    const { state } = this;
    const id = Number(sent.sample_item);
    const item = state.judged.get(id);
    state.unsent.delete(id);
    state.removeFromQueue(id);
    state.rememberStored(id);
    state.progress = { sample_progress: answer.sample_progress, cells: answer.cells, left: answer.left };
    if (!state.judgedIds.includes(id)) state.judgedIds.push(id);
    const judged = item && { ...item, label: answer.label, judgement: answer.judgement };
    if (judged) state.judged.set(id, judged);
    state.addToQueue(answer.next);
    return judged;
  }

  /** The server refused a judgement: say why, and continue with what it has. @param {outbox.Item} refused */
  async onRefused(refused) {
    const { sent, problem } = refused;
    const id = Number(sent.sample_item);
    await outbox.remove([refused]);
    this.#forgetUnsent(id);
    if (!problem) return;
    this.#showProblem(problem);
    const answers = /** @type {Answers | null} */ (sent.answers);
    if (problem.code === "invalid" && answers) await this.#openRefused(id, answers, String(sent.reason), problem.body);
    else await this.#refresh();
  }

  /** @param {number} id  @param {Answers} answers  @param {string} reason  @param {Record<string, any>} body */
  async #openRefused(id, answers, reason, { problems = [] }) {
    const item = await this.itemFor(id).catch(() => null);
    if (!item) return;
    if (!item.judgement) this.state.queue.unshift(item);
    this.review.reopen(item, answers, reason);
    if (problems[0]) this.review.questions.goTo(problems[0].path, problems[0].message);
  }

  // ---- dialogues ---------------------------------------------------------------------------------------------------

  /** @param {number} id  @returns {Promise<Item>} */
  async itemFor(id) {
    return this.state.judged.get(id) ?? call("GET", `/sample-items/${id}/`);
  }

  async #refresh() {
    const { state, view } = this.review;
    try {
      state.progress = await call("GET", state.urls.sample);
    } catch {
      // The next answer brings it.
    }
    if (state.stage === "sent" || state.stage === "loading") await this.review.showNext();
    else view.drawProgress();
  }

  async fetchMore() {
    try {
      this.state.addToQueue((await call("GET", `${this.state.urls.sample}next/?count=${READY}`)).items);
    } catch (error) {
      this.showError(error);
    }
  }

  // ---- notices -----------------------------------------------------------------------------------------------------

  /** @param {unknown} error */
  showError(error) {
    if (error instanceof Problem) this.#showProblem(error);
    else void this.#showWaiting(isSignedOut(error));
  }

  /** @param {{ code: string, message: string, remedy: string }} problem */
  #showProblem({ code, message, remedy }) {
    const toBatch = { label: gettext("Open the batch"), run: () => location.assign(this.state.urls.batch) };
    showNotice("refused", {
      tone: "warn",
      text: message || gettext("That did not work. Nothing was changed; try again."),
      remedy,
      actions: code === "not_in_review" ? [toBatch] : [],
    });
  }

  /** Report that there is no connection, or that the person is signed out. @param {boolean} isOut */
  async #showWaiting(isOut) {
    if (isOut) {
      const { signedOutNotice } = await import("../shared/signed_out.js");
      const open = (/** @type {string} */ url) => window.open(url, "_blank", "noopener");
      showNotice("network", await signedOutNotice(this.state.urls.login, open));
      return;
    }
    showNotice("network", {
      tone: "warn",
      text: gettext("No connection."),
      remedy: gettext("What you judged is kept in this browser and sent when the connection is back."),
    });
  }
}
