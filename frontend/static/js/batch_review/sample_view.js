// @ts-check
/** What the page of a batch's sample shows around the questions. */
import { byId } from "../shared/elements.js";
import { format, gettext, ngettext } from "../shared/messages.js";
import { drawStanding, drawStrip, outlook } from "./sample_progress.js";

/**
 * @typedef {import("./sample_state.js").Item} Item
 * @typedef {import("./sample_state.js").Stage} Stage
 */

const WIDE = matchMedia("(width >= 80rem)");

/** @param {string} id  of an element  @param {string} name  of a part of it */
const partOf = (id, name) => /** @type {HTMLElement} */ (byId(id).querySelector(`[data-${name}]`));
/** @param {string} selector */
const all = (selector) => /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(selector));

export class SampleView {
  reason = /** @type {HTMLTextAreaElement} */ (byId("reason"));

  /** @param {import("./sample_state.js").SampleState} state */
  constructor(state) {
    this.state = state;
    const unfold = () => byId("standing").toggleAttribute("open", WIDE.matches);
    WIDE.addEventListener("change", unfold);
    unfold();
    this.#showChecked();
  }

  #showChecked() {
    const { state } = this;
    const question = state.questionOf(Number(Object.keys(state.schemas).at(-1)), state.checked);
    const language = document.documentElement.lang.startsWith("zh") ? "zh" : "en";
    byId("checked").textContent = question
      ? format(gettext("Checked is: {question}"), { question: question.text[language] })
      : gettext("Checked is every compared answer.");
  }

  /** The buttons, words and fields of a stage. @param {Stage} stage  @param {string} [task] */
  enter(stage, task = "") {
    const { state } = this;
    const { item } = state;
    state.stage = stage;
    const isEnd = stage === "end" || stage === "loading";
    for (const control of all("[data-stage]"))
      control.hidden = control.dataset.stage !== (stage === "sent" ? "answer" : stage);
    for (const part of all("[data-judging]")) part.hidden = isEnd;
    /** @type {HTMLButtonElement} */ (byId("send")).disabled = stage === "sent";
    byId("cancel").hidden = stage !== "answer" || !item?.label;
    byId("end").hidden = !isEnd;
    byId("again").hidden = true;
    this.#enterVerdict(stage);
    byId("task").textContent = task;
    const place = item && !isEnd ? { n: item.place + 1, of: state.progress.cells.length } : null;
    byId("place").textContent = place ? format(gettext("{n} of {of}"), place) : "";
    this.drawProgress();
  }

  /** @param {Stage} stage */
  #enterVerdict(stage) {
    const { item, checked, isReasonNeeded } = this.state;
    const isCorrecting = stage === "answer" && Boolean(item?.label && checked);
    byId("told").hidden = !(stage === "told" || (stage === "choose" && checked) || isCorrecting);
    const isRightWithoutReason = stage === "told" && item?.judgement?.is_right === true && !this.reason.value;
    byId("why").hidden = stage === "choose" || isRightWithoutReason;
    /** @type {HTMLElement} */ (byId("why").querySelector(".optional")).hidden = isReasonNeeded;
  }

  drawProgress() {
    const { progress, stage, item } = this.state;
    const { judged, right, sample } = progress.standing;
    const message = gettext("{judged} of {all} judged: {right} right, {wrong} wrong");
    const label = format(message, { judged, all: sample, right, wrong: judged - right });
    drawStrip(progress.cells, stage === "end" ? null : (item?.place ?? null), label);
    drawStanding(progress, (name) => this.state.classText(name));
  }

  /** @param {"good" | "bad" | ""} tone  @param {string} verdict  @param {string} text */
  showVerdict(tone, verdict, text) {
    const box = byId("told");
    box.className = `alert ${tone}`;
    for (const sign of /** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll("[data-sign]")))
      sign.hidden = sign.dataset.sign !== tone;
    partOf("told", "verdict").textContent = verdict;
    partOf("told", "said").textContent = text;
  }

  /** @param {Item} item  whose label is known */
  showLabel(item) {
    const label = item.label ? this.state.checkedText(item, item.label) : "";
    this.showVerdict("", format(gettext("Label: {label}"), { label }), "");
  }

  /** The controller's judgement against the label. @param {Item} item */
  showComparison(item) {
    const { label, judgement } = item;
    if (!label || !judgement) return;
    const texts = {
      label: this.state.checkedText(item, label),
      own: this.state.checkedText(item, judgement.answers),
    };
    const message = judgement.is_right ? gettext("Label: {label}") : gettext("Label: {label}. You: {own}.");
    const verdict = judgement.is_right ? gettext("The label holds.") : gettext("The label does not hold.");
    this.showVerdict(judgement.is_right ? "good" : "bad", verdict, this.state.checked ? format(message, texts) : "");
    this.reason.value = judgement.reason;
  }

  /** @param {string} text */
  showSend(text) {
    partOf("send", "words").textContent = text;
  }

  // ---- the end -----------------------------------------------------------------------------------------------------

  showLoading() {
    partOf("end", "title").textContent = gettext("The next dialogue is on its way.");
    partOf("end", "verdict").textContent = "";
    partOf("end", "more").textContent = "";
    this.enter("loading");
  }

  showEnd() {
    const { left, standing } = this.state.progress;
    const isComplete = left === 0 && standing.judged === standing.sample;
    partOf("end", "title").textContent = isComplete
      ? gettext("All of the sample is judged")
      : gettext("There is nothing left for you");
    partOf("end", "verdict").textContent = outlook(standing);
    partOf("end", "more").textContent = isComplete ? "" : leftText(left);
    this.enter("end");
    byId("again").hidden = left === 0;
    /** @type {HTMLElement} */ (byId("end").querySelector("h2")).focus({ preventScroll: true });
  }
}

/** @param {number} n  dialogues that other controllers hold */
function leftText(n) {
  if (n === 0) return gettext("What is left is your own work, or others judge it.");
  const message = ngettext(
    "{n} more is with another controller now; in a few minutes it may be free.",
    "{n} more are with other controllers now; in a few minutes they may be free.",
    n,
  );
  return format(message, { n });
}
