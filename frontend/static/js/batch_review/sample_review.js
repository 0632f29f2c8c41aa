// @ts-check
/**
 * The sample of a batch, one dialogue after another. Blind: the controller labels, sends, and then sees the annotators'
 * label beside it. Open: the label is there, and the controller agrees, or gives the right one and says why.
 *
 * Judgements go through the outbox (shared/outbox.js), in order; the next dialogues lie ready meanwhile.
 */
import { Questions, questionCommands, wireCommands } from "../labelling/questions/questions.js";
import * as outbox from "../shared/outbox.js";
import { byId, gettext, showNotice } from "../shared/page.js";
import { JudgementSender } from "./judgement_sender.js";
import { disagreements, isSameAsLabel, SampleState, valueAt } from "./sample_state.js";
import { SampleView } from "./sample_view.js";

/**
 * @typedef {import("./sample_state.js").Answers} Answers
 * @typedef {import("./sample_state.js").Item} Item
 */

const JUST_SHOWN_MS = 250; // a key pressed twice must not judge a dialogue that nobody has seen

export class SampleReview {
  /** @param {import("./sample_state.js").PageData} data */
  constructor(data) {
    this.state = new SampleState(data);
    this.view = new SampleView(this.state);
    this.sender = new JudgementSender(this);
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

  /** Show the next dialogue, or the end. */
  async showNext() {
    const { state, view } = this;
    if (state.queue.length === 0) {
      state.item = null;
      view.showLoading();
      if (state.unsent.size > 0) return; // the answer to the last one brings more
      await this.sender.fetchMore();
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
      this.#ask(item, draft?.answers, gettext("Label it yourself, then see what the annotators said."));
    else if (draft) this.#ask(item, draft.answers, gettext("Give the right label and say why."));
    else this.#askWhetherRight(item);
  }

  /** @param {Item} item  @param {Answers | undefined} answers  @param {string} task  @param {string[]} [differences] */
  #ask(item, answers, task, differences = []) {
    this.state.item = item;
    if (item.label) this.view.showLabel(item);
    this.view.showSend(item.judgement ? gettext("Store the correction") : gettext("Judge"));
    this.view.enter("answer", task);
    this.#showQuestions(item, answers, true, differences);
    byId("asked").scrollTop = 0;
    this.questions.begin();
  }

  /** A correction that was not stored. @param {Item} item  @param {Answers} answers  @param {string} reason */
  reopen(item, answers, reason) {
    this.view.reason.value = reason;
    this.#ask(item, answers, gettext("Give the right label and say why."));
  }

  /** @param {Item} item */
  #askWhetherRight(item) {
    this.view.showLabel(item);
    this.view.enter("choose", gettext("Is the label right?"));
    this.#showQuestions(item, item.label ?? undefined, false);
    /** @type {HTMLElement} */ (document.querySelector(".pane.work .pane-body")).focus({ preventScroll: true });
  }

  /** Show the controller's answers beside the label. @param {Item} item */
  showComparison(item) {
    const { label, judgement } = item;
    if (!label || !judgement) return;
    this.state.item = item;
    this.view.showComparison(item);
    this.view.enter("compare", gettext("Compare, then continue."));
    this.#showQuestions(item, judgement.answers, false, disagreements(judgement.answers, label, this.state.checked));
    byId("asked").scrollTop = 0;
    byId("comparison").focus({ preventScroll: true });
  }

  /** @param {Item} item  @param {Answers | undefined} answers  @param {boolean} isOpen  @param {string[]} [differences] */
  #showQuestions(item, answers, isOpen, differences = []) {
    this.questions.show({
      schema: this.state.schemas[item.schema],
      utterances: item.utterances,
      lang: item.language,
      answers,
      isOpen,
      differences,
      checked: this.state.checked,
      spread: differences.length > 0 ? this.#createSpread(item, differences) : null,
    });
  }

  /** Who answered what. @param {Item} item  @param {string[]} paths */
  #createSpread(item, paths) {
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
    this.sender.send(item, null);
    void this.showNext();
  }

  /** Send the answers if nothing required is missing. */
  submit() {
    const { state } = this;
    const { item } = state;
    if (state.stage !== "answer" || !item) return;
    const { answers } = this.questions;
    const missing = this.#missingPath(answers);
    if (missing) {
      this.questions.goTo(missing, gettext("Please answer this question."));
      return;
    }
    if (state.isReasonNeeded && item.label && !this.#isJustified(answers, item.label)) return;
    this.sender.send(item, answers);
    if (state.isBlind && !item.judgement)
      this.view.enter("sent", gettext("Label it yourself, then see what the annotators said."));
    else void this.showNext();
  }

  /** @param {Answers} answers  @returns {string | undefined} */
  #missingPath(answers) {
    const { checked } = this.state;
    if (checked && answers.dialogue[checked] !== undefined) return undefined;
    // The checked question may show only after the answer to another one.
    return this.questions.missing().at(0)?.path ?? (checked || undefined);
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

  /** Go to the next dialogue; a reason that was changed during the comparison is stored. */
  goOn() {
    const { stage, item } = this.state;
    if (stage !== "compare" || !item?.judgement) return;
    if (this.view.reason.value.trim() !== item.judgement.reason) this.sender.send(item, item.judgement.answers);
    void this.showNext();
  }

  correct() {
    const { item, checked } = this.state;
    if (!item?.label) return;
    const { judgement, label } = item;
    const reason = this.view.reason.value;
    this.state.shownAt = performance.now();
    const answers = judgement?.later?.answers ?? judgement?.answers;
    const paths = answers ? disagreements(answers, label, checked) : [];
    this.#ask(item, answers ?? label, gettext("Give the right label and say why."), paths);
    this.view.reason.value = reason;
    if (checked) this.questions.goTo(checked);
    else this.questions.move(1);
  }

  cancel() {
    const { item } = this.state;
    if (!item) return;
    this.state.keepDraft(null);
    if (item.judgement) this.showComparison(item);
    else void this.showNext();
  }

  /** Undo the last answer, or go back to the dialogue judged before. */
  async back() {
    const { state } = this;
    if (state.stage === "sent" || (state.stage === "answer" && this.questions.undo())) return;
    this.#keepDraft();
    const before = state.judgedBefore;
    if (before === undefined) showNotice("back", { tone: "", text: gettext("There is no earlier judgement.") });
    else await this.#revisit(before);
  }

  /** @param {number} id  of a dialogue that was judged */
  async #revisit(id) {
    try {
      const item = await this.sender.itemFor(id);
      if (item.judgement) this.showComparison(item);
    } catch (error) {
      this.sender.showError(error);
    }
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
    for (const control of document.querySelectorAll("[data-action]")) {
      control.addEventListener("click", () => {
        showNotice("refused", null);
        actions[control.getAttribute("data-action") ?? ""]();
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
    for (const { item, answer } of outbox.storedSinceLoad(state.lane)) this.sender.applyAnswer(item, answer);
    this.sender.listen();
    await this.showNext();
    for (const item of items) if (item.problem) await this.sender.onRefused(item);
  }
}

await new SampleReview(JSON.parse(byId("workbench").textContent ?? "")).start();
document.documentElement.dataset.ready = "true";
