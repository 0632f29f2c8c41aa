// @ts-check
/**
 * The sample of a batch, one dialogue after another. Blind: the controller labels, sends, and then sees the annotators'
 * label beside it. Open: the label is there, and the controller agrees, or gives the right one and says why.
 *
 * Judgements go through the outbox (shared/outbox.js), in order; the next dialogues lie ready meanwhile.
 */
import { Questions, questionCommands, wireCommands } from "../labelling/questions/questions.js";
import { call, isSignedOut, Problem, uuid } from "../shared/api.js";
import * as outbox from "../shared/outbox.js";
import { owner } from "../shared/outbox_store.js";
import { byId, gettext, showNotice } from "../shared/page.js";
import { disagreements, isSameAsLabel, SampleState, valueAt } from "./sample_state.js";
import { SampleView } from "./sample_view.js";

/**
 * @typedef {import("./sample_state.js").Answers} Answers
 * @typedef {import("./sample_state.js").Item} Item
 */

const READY = 3;
const MAX_HELD = 20;
const LONGEST_MS = 3_600_000;
const JUST_SHOWN_MS = 250; // a key pressed twice must not judge a dialogue that nobody has seen

class SampleReview {
  /** @param {import("./sample_state.js").PageData} data */
  constructor(data) {
    this.state = new SampleState(data);
    this.view = new SampleView(this.state);
    this.questions = new Questions({
      turns: byId("turns"),
      panel: byId("questions"),
      decidedText: gettext("differs"),
      onChange: () => this.#keepDraft(),
      onActive: (slot) => {
        byId("panes").toggleAttribute("data-beside", slot !== null && slot.position !== null);
        // Closed questions take no keys: y and n are the page's.
        if (slot && this.state.stage !== "answer") this.questions.activate(null);
      },
      onDone: () => byId("send").focus({ preventScroll: true }),
    });
  }

  #keepDraft() {
    const { stage, item } = this.state;
    if (stage !== "answer" || !item || item.judgement) return;
    this.state.keepDraft({ item: item.id, answers: this.questions.answers, reason: this.view.reason.value });
  }

  // ---- what is shown -----------------------------------------------------------------------------------------------

  /** Begin with the next dialogue, or end. */
  async showNext() {
    const { state, view } = this;
    if (state.queue.length === 0) {
      state.item = null;
      view.showLoading();
      if (state.unsent.size > 0) return; // the answer to the last one brings more
      await this.#fetchMore();
    }
    const [item] = state.queue;
    state.item = item ?? null;
    if (!item) {
      view.showEnd();
      return;
    }
    state.shownAt = performance.now();
    const draft = state.draftFor(item);
    view.reason.value = draft?.reason ?? "";
    if (state.isBlind)
      this.#open(item, draft?.answers, gettext("Label it yourself, then see what the annotators said."));
    else if (draft) this.#open(item, draft.answers, gettext("Give the right label and say why."));
    else this.#choose(item);
  }

  /** @param {Item} item  @param {Answers | undefined} answers  @param {string} task  @param {string[]} [differences] */
  #open(item, answers, task, differences = []) {
    this.state.item = item;
    if (item.label) this.view.showLabel(item);
    this.view.showSend(item.judgement ? gettext("Store the correction") : gettext("Judge"));
    this.view.enter("answer", task);
    this.#draw(item, answers, true, differences);
    byId("asked").scrollTop = 0;
    this.questions.begin();
  }

  /** @param {Item} item */
  #choose(item) {
    this.view.showLabel(item);
    this.view.enter("choose", gettext("Does the label hold?"));
    this.#draw(item, item.label ?? undefined, false);
    /** @type {HTMLElement} */ (document.querySelector(".pane.work .pane-body")).focus({ preventScroll: true });
  }

  /** Own answers beside the label. @param {Item} item */
  #compare(item) {
    const { label, judgement } = item;
    if (!label || !judgement) return;
    this.state.item = item;
    this.view.showComparison(item);
    this.view.enter("told", gettext("Compare, then go on."));
    this.#draw(item, judgement.answers, false, disagreements(judgement.answers, label, this.state.checked));
    byId("asked").scrollTop = 0;
    byId("told").focus({ preventScroll: true });
  }

  /** @param {Item} item  @param {Answers | undefined} answers  @param {boolean} isOpen  @param {string[]} [differences] */
  #draw(item, answers, isOpen, differences = []) {
    this.questions.show({
      schema: this.state.schemas[item.schema],
      utterances: item.utterances,
      lang: item.language,
      answers,
      isOpen,
      differences,
      spread: differences.length > 0 ? this.#spread(item, differences) : null,
    });
  }

  /** Who answered what. @param {Item} item  @param {string[]} paths */
  #spread(item, paths) {
    const { label, judgement } = item;
    const row = (/** @type {Answers} */ answers, /** @type {string} */ by, /** @type {string} */ path) => ({
      words: this.state.textAt(item, answers, path),
      by,
      value: valueAt(answers, path) ?? null,
    });
    if (!label || !judgement) return null;
    return Object.fromEntries(
      paths.map((path) => [path, [row(label, gettext("label"), path), row(judgement.answers, gettext("you"), path)]]),
    );
  }

  // ---- judging -----------------------------------------------------------------------------------------------------

  agree() {
    const { item, shownAt } = this.state;
    if (!item || performance.now() - shownAt < JUST_SHOWN_MS) return;
    this.view.reason.value = "";
    this.#send(item, null);
    void this.showNext();
  }

  /** What is answered is sent, once everything that is needed is there. */
  submit() {
    const { state } = this;
    const { item } = state;
    if (state.stage !== "answer" || !item) return;
    const { answers } = this.questions;
    const missing = this.#missingPath(answers);
    if (missing) {
      this.questions.goTo(missing, gettext("This has to be answered first."));
      return;
    }
    if (state.isReasonNeeded && item.label && !this.#isJustified(answers, item.label)) return;
    this.#send(item, answers);
    if (state.isBlind && !item.judgement)
      this.view.enter("sent", gettext("Label it yourself, then see what the annotators said."));
    else void this.showNext();
  }

  /** @param {Answers} answers  @returns {string | undefined} */
  #missingPath(answers) {
    const { checked } = this.state;
    if (!checked) return this.questions.missing().at(0)?.path;
    return answers.dialogue[checked] === undefined ? checked : undefined;
  }

  /** Whether a correction differs from the label and says why. @param {Answers} answers  @param {Answers} label */
  #isJustified(answers, label) {
    const { checked } = this.state;
    if (isSameAsLabel(answers, label, checked)) {
      const problem = gettext("This is the label itself: choose another answer, or agree.");
      this.questions.goTo(checked || this.questions.active?.path || "", problem);
      return false;
    }
    if (this.view.reason.value.trim()) return true;
    showNotice("why", { tone: "warn", text: gettext("Say why: the annotators learn from it.") });
    this.view.reason.setAttribute("aria-invalid", "true");
    this.view.reason.focus();
    return false;
  }

  /** From the comparison to the next dialogue; what was written about it meanwhile is stored with it. */
  goOn() {
    const { stage, item } = this.state;
    if (stage !== "told" || !item?.judgement) return;
    if (this.view.reason.value.trim() !== item.judgement.reason) this.#send(item, item.judgement.answers);
    void this.showNext();
  }

  correct() {
    const { item, checked } = this.state;
    if (!item?.label) return;
    const { judgement, label } = item;
    const reason = this.view.reason.value;
    this.state.shownAt = performance.now();
    const paths = judgement ? disagreements(judgement.answers, label, checked) : [];
    this.#open(item, judgement?.answers ?? label, gettext("Give the right label and say why."), paths);
    this.view.reason.value = reason;
    if (checked) this.questions.goTo(checked);
    else this.questions.move(1);
  }

  cancel() {
    const { item } = this.state;
    if (!item) return;
    this.state.keepDraft(null);
    if (item.judgement) this.#compare(item);
    else void this.showNext();
  }

  /** Undo the last answer; without one, back to the dialogue that was judged before. */
  async back() {
    const { state } = this;
    if (state.stage === "sent" || (state.stage === "answer" && this.questions.undo())) return;
    this.#keepDraft();
    const before = state.judgedBefore;
    if (before === undefined) showNotice("back", { tone: "", text: gettext("You have judged nothing before this.") });
    else await this.#revisit(before);
  }

  /** @param {number} id  of a dialogue that was judged */
  async #revisit(id) {
    try {
      const item = await this.#itemFor(id);
      if (item.judgement) this.#compare(item);
    } catch (error) {
      this.#showError(error);
    }
  }

  /** @param {number} id  @returns {Promise<Item>} */
  async #itemFor(id) {
    return this.state.judged.get(id) ?? call("GET", `/sample-items/${id}/`);
  }

  // ---- sending -----------------------------------------------------------------------------------------------------

  /** @param {Item} item  @param {Answers | null} answers  null: as the label says */
  #send(item, answers) {
    const { state, view } = this;
    state.keepDraft(null);
    state.removeFromQueue(item.id);
    state.unsent.add(item.id);
    state.judged.set(item.id, item); // its judgement follows with the server's answer
    for (const cause of ["why", "back"]) showNotice(cause, null);
    const id = uuid();
    const opening = item.utterances.find(({ text }) => text.trim())?.text.slice(0, 80) ?? "";
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
      this.#showError(error);
    });
  }

  /** It was not stored, so it may be judged again. @param {number} id */
  #forgetUnsent(id) {
    const { state } = this;
    state.unsent.delete(id);
    if (!state.judged.get(id)?.judgement) state.judged.delete(id);
  }

  #listen() {
    outbox.listen((event) => {
      if (event.kind === "waiting") {
        if (this.state.unsent.size > 0) this.#showWaiting(event.signedOut);
      } else if (event.item.lane !== this.state.lane || event.item.owner !== owner) return;
      else if (event.kind === "stored") void this.#onStored(event.item, event.answer);
      else if (event.kind === "refused") void this.#onRefused(event.item);
    });
  }

  /** @param {outbox.Item} item  in the outbox  @param {any} answer */
  async #onStored(item, answer) {
    const { state, view } = this;
    const id = Number(item.sent.sample_item);
    const isCurrent = state.item?.id === id;
    const judged = this.#takeStored(item, answer);
    showNotice("network", null);
    if (judged && state.stage === "sent" && isCurrent) this.#compare(judged);
    else if (state.stage === "loading" || (isCurrent && !judged)) await this.showNext();
    else view.drawProgress();
  }

  /** @param {outbox.Item} item  in the outbox  @param {any} answer  @returns {Item | undefined} if it was judged on this page */
  #takeStored({ sent }, answer) {
    const { state } = this;
    const id = Number(sent.sample_item);
    const item = state.judged.get(id);
    state.unsent.delete(id);
    state.removeFromQueue(id);
    state.progress = { standing: answer.standing, cells: answer.cells, left: answer.left };
    if (!state.judgedIds.includes(id)) state.judgedIds.push(id);
    const answers = /** @type {Answers} */ (sent.answers ?? answer.label);
    const judgement = { answers, is_right: answer.is_right, reason: String(sent.reason) };
    const judged = item && { ...item, label: answer.label, judgement };
    if (judged) state.judged.set(id, judged);
    state.addToQueue(answer.next);
    return judged;
  }

  /** The server will not store it: say why, and go on with what it has. @param {outbox.Item} refused */
  async #onRefused(refused) {
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
    const item = await this.#itemFor(id).catch(() => null);
    if (!item) return;
    if (!item.judgement) this.state.queue.unshift(item);
    this.view.reason.value = reason;
    this.#open(item, answers, gettext("Give the right label and say why."));
    if (problems[0]) this.questions.goTo(problems[0].path, problems[0].message);
  }

  async #refresh() {
    const { state, view } = this;
    try {
      state.progress = await call("GET", state.urls.sample);
    } catch {
      // The next answer brings it.
    }
    if (state.stage === "sent" || state.stage === "loading") await this.showNext();
    else view.drawProgress();
  }

  async #fetchMore() {
    try {
      this.state.addToQueue((await call("GET", `${this.state.urls.sample}next/?count=${READY}`)).items);
    } catch (error) {
      this.#showError(error);
    }
  }

  // ---- notices -----------------------------------------------------------------------------------------------------

  /** @param {unknown} error */
  #showError(error) {
    if (error instanceof Problem) this.#showProblem(error);
    else this.#showWaiting(isSignedOut(error));
  }

  /** @param {{ code: string, message: string, remedy: string }} problem */
  #showProblem({ code, message, remedy }) {
    const toBatch = { label: gettext("To the batch"), run: () => location.assign(this.state.urls.batch) };
    showNotice("refused", {
      tone: "warn",
      text: message || gettext("That did not work. Nothing was changed."),
      remedy,
      actions: code === "not_in_review" ? [toBatch] : [],
    });
  }

  /** There is no connection, or nobody is signed in. @param {boolean} isOut */
  #showWaiting(isOut) {
    const signIn = { label: gettext("Sign in"), run: () => window.open(this.state.urls.login, "_blank", "noopener") };
    showNotice("network", {
      tone: "warn",
      text: isOut ? gettext("You are signed out.") : gettext("No connection."),
      remedy: isOut
        ? gettext("Sign in again, also in another tab: what waits here is sent then.")
        : gettext("What you judged is kept in this browser and sent when the connection is back."),
      actions: isOut ? [signIn] : [],
    });
  }

  // ---- begin -------------------------------------------------------------------------------------------------------

  #wireControls() {
    /** @type {Record<string, () => void>} */
    const actions = {
      agree: () => this.agree(),
      disagree: () => this.correct(),
      cancel: () => this.cancel(),
      goOn: () => this.goOn(),
      correct: () => this.correct(),
      back: () => void this.back(),
      again: () => void this.showNext(),
    };
    for (const control of document.querySelectorAll("[data-do]")) {
      control.addEventListener("click", () => {
        showNotice("refused", null);
        actions[control.getAttribute("data-do") ?? ""]();
      });
    }
    byId("sending").addEventListener("submit", (event) => {
      event.preventDefault();
      showNotice("refused", null);
      this.submit();
    });
    wireCommands({ ...questionCommands(this.questions), theirs: () => this.questions.takeNextOfSpread() });
    this.#wireReason();
  }

  #wireReason() {
    const { reason } = this.view;
    reason.addEventListener("input", () => {
      reason.removeAttribute("aria-invalid");
      showNotice("why", null);
      this.#keepDraft();
    });
    // Escape leaves the field and does not throw the correction away.
    reason.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      byId("asked").focus({ preventScroll: true });
    });
  }

  async start() {
    const { state } = this;
    this.#wireControls();
    const items = await outbox.itemsInLane(state.lane);
    for (const { sent, problem } of items) {
      if (problem) continue;
      state.unsent.add(Number(sent.sample_item));
      state.removeFromQueue(Number(sent.sample_item));
    }
    for (const { item, answer } of outbox.storedSinceLoad(state.lane)) this.#takeStored(item, answer);
    this.#listen();
    await this.showNext();
    for (const item of items) if (item.problem) await this.#onRefused(item);
  }
}

await new SampleReview(JSON.parse(byId("workbench").textContent ?? "")).start();
document.documentElement.dataset.ready = "true";
