// @ts-check
/** What the page of a batch's sample shows around the questions. */
import { byId, createElement, format, gettext, ngettext } from "../shared/page.js";

/**
 * @typedef {import("./sample_state.js").GivenAnswers} GivenAnswers
 * @typedef {import("./sample_state.js").Item} Item
 * @typedef {import("./sample_state.js").Stage} Stage
 */

const WIDE = matchMedia("(width >= 80rem)");

/** @param {string} id  of an element  @param {string} name  of a part of it */
const partOf = (id, name) => /** @type {HTMLElement} */ (byId(id).querySelector(`[data-${name}]`));
/** @param {string} selector */
const findAll = (selector) => /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(selector));

export class SampleView {
  reason = /** @type {HTMLTextAreaElement} */ (byId("reason"));

  /** @param {import("./sample_state.js").SampleState} state */
  constructor(state) {
    this.state = state;
    const unfold = () => byId("sample-progress").toggleAttribute("open", WIDE.matches);
    WIDE.addEventListener("change", unfold);
    unfold();
    this.#showChecked();
  }

  #showChecked() {
    const { state } = this;
    const question = state.questionOf(Number(Object.keys(state.schemas).at(-1)), state.checked);
    const language = document.documentElement.lang.startsWith("zh") ? "zh" : "en";
    byId("checked").textContent = question
      ? format(gettext("Only this question is checked: {question}"), { question: question.text[language] })
      : gettext("This sample checks every compared answer.");
  }

  /** Show the buttons, texts and fields of a stage. @param {Stage} stage  @param {string} [task] */
  enter(stage, task = "") {
    const { state } = this;
    const { item } = state;
    state.stage = stage;
    const isEnd = stage === "end" || stage === "loading";
    for (const control of findAll("[data-stage]"))
      control.hidden = control.dataset.stage !== (stage === "sent" ? "answer" : stage);
    for (const part of findAll("[data-judging]")) part.hidden = isEnd;
    /** @type {HTMLButtonElement} */ (byId("send")).disabled = stage === "sent";
    byId("cancel").hidden = stage !== "answer" || !item?.label;
    byId("end").hidden = !isEnd;
    byId("again").hidden = true;
    this.#enterComparison(stage);
    byId("task").textContent = task;
    const place = item && !isEnd ? { n: item.place + 1, of: state.progress.cells.length } : null;
    byId("place").textContent = place ? format(gettext("{n} of {of}"), place) : "";
    this.drawProgress();
  }

  /** @param {Stage} stage */
  #enterComparison(stage) {
    const { item, checked, isReasonNeeded } = this.state;
    const isCorrecting = stage === "answer" && Boolean(item?.label && checked);
    byId("comparison").hidden = !(stage === "compare" || (stage === "choose" && checked) || isCorrecting);
    const isRightWithoutReason = stage === "compare" && item?.judgement?.is_right === true && !this.reason.value;
    byId("why").hidden = stage === "choose" || isRightWithoutReason;
    /** @type {HTMLElement} */ (byId("why").querySelector(".optional")).hidden = isReasonNeeded;
  }

  drawProgress() {
    const { progress, stage, item } = this.state;
    const { judged, right, sample } = progress.sample_progress;
    const message = gettext("{judged} of {all} judged: {right} right, {wrong} wrong");
    const label = format(message, { judged, all: sample, right, wrong: judged - right });
    drawStrip(progress.cells, stage === "end" ? null : (item?.place ?? null), label);
    drawSampleProgress(progress, (name) => this.state.classText(name));
  }

  /** @param {"good" | "bad" | ""} tone  @param {string} verdict  @param {string} text */
  showVerdict(tone, verdict, text) {
    const box = byId("comparison");
    box.className = `alert ${tone}`;
    for (const sign of /** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll("[data-sign]")))
      sign.hidden = sign.dataset.sign !== tone;
    partOf("comparison", "verdict").textContent = verdict;
    partOf("comparison", "text").textContent = text;
    partOf("comparison", "later").textContent = "";
  }

  /** @param {Item} item  whose label is known */
  showLabel(item) {
    const label = item.label ? this.state.checkedText(item, item.label) : "";
    this.showVerdict("", format(gettext("Label: {label}"), { label }), "");
    if (this.state.isBlind && item.judgement)
      partOf("comparison", "later").textContent = gettext(
        "You have seen the label, so your first judgement counts. What you write now is shown beside it.",
      );
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
    const verdict = judgement.is_right ? gettext("The label is right.") : gettext("The label is wrong.");
    this.showVerdict(judgement.is_right ? "good" : "bad", verdict, this.state.checked ? format(message, texts) : "");
    this.#showLater(item, judgement.later);
    this.reason.value = judgement.reason;
  }

  /** What the controller said after the label was shown. @param {Item} item  @param {GivenAnswers | null} later */
  #showLater(item, later) {
    const words = later && this.state.checked ? this.state.checkedText(item, later.answers) : "";
    const text = words
      ? format(gettext("You changed it to {words} later. The first judgement counts."), { words })
      : "";
    partOf("comparison", "later").textContent =
      later && !words ? gettext("You changed your answers later. The first judgement counts.") : text;
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
    const { left, sample_progress: sampleProgress } = this.state.progress;
    const isComplete = left === 0 && sampleProgress.judged === sampleProgress.sample;
    partOf("end", "title").textContent = isComplete
      ? gettext("All of the sample is judged")
      : gettext("There is nothing left for you");
    partOf("end", "verdict").textContent = describeOutlook(sampleProgress, (name) => this.state.classText(name));
    partOf("end", "more").textContent = isComplete ? "" : describeLeft(left);
    this.enter("end");
    byId("again").hidden = left === 0;
    /** @type {HTMLElement} */ (byId("end").querySelector("h2")).focus({ preventScroll: true });
  }
}

/** @param {number} n  dialogues that other controllers hold */
function describeLeft(n) {
  if (n === 0) return gettext("The other dialogues are your own work, or other controllers are judging them.");
  const message = ngettext(
    "{n} more is with another controller now; in a few minutes it may be free.",
    "{n} more are with other controllers now; in a few minutes they may be free.",
    n,
  );
  return format(message, { n });
}

// ---- how far the sample is ------------------------------------------------------------------------------------------

/**
 * @typedef {{ value: number | null, low: number | null, high: number | null }} Estimate
 * @typedef {Estimate & { label: string, drawn: number | null, judged: number, right: number, spare: number | null }} Class
 * @typedef {Estimate & { judged: number, right: number, sample: number, decision: "accept" | "return" | "open",
 *   needed: number, needed_by_class: number | null, spare: number | null, failing: string[], classes: Class[] }} SampleProgress
 * @typedef {{ sample_progress: SampleProgress, cells: string, left: number }} Progress  cells: as the API describes them
 */

const MOST_CELLS = 200;
const MOST_NAMED = 2; // classes whose limits a sentence names
/** @type {Record<string, string>} */
const LOOKS = { r: "right", w: "wrong", R: "right theirs", W: "wrong theirs", o: "own" };
const decimals = new Intl.NumberFormat(document.documentElement.lang, { maximumFractionDigits: 1 });
const tenths = new Intl.NumberFormat(document.documentElement.lang, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});
const list = new Intl.ListFormat(document.documentElement.lang, { type: "conjunction" });
const formatPercent = (/** @type {number} */ share) => `${decimals.format(share * 100)}\u00a0%`;

/** An estimate, as the page of the batch writes it. @param {number | null} share */
const formatEstimate = (share) => (share === null ? "–" : `${tenths.format(share * 100)}\u00a0%`);
const formatInterval = (/** @type {Estimate} */ { low, high }) => `${formatEstimate(low)} – ${formatEstimate(high)}`;

/** What one cell of the strip stands for: one dialogue, or several where there are thousands. @param {string} part */
function signOfCells(part) {
  for (const sign of "wW.rR") if (part.includes(sign)) return sign;
  return "o";
}

/** @param {string} cells  @param {number | null} current  the place that is shown  @param {string} label */
function drawStrip(cells, current, label) {
  const each = Math.ceil(cells.length / MOST_CELLS) || 1;
  const strip = byId("strip");
  const count = Math.ceil(cells.length / each);
  while (strip.childElementCount > count) strip.lastElementChild?.remove();
  while (strip.childElementCount < count) strip.append(document.createElement("i"));
  const now = current === null ? -1 : Math.floor(current / each);
  for (const [n, cell] of [...strip.children].entries()) {
    const look = `${LOOKS[signOfCells(cells.slice(n * each, (n + 1) * each))] ?? ""} ${n === now ? "now" : ""}`.trim();
    if (cell.className !== look) cell.className = look;
  }
  strip.setAttribute("aria-label", label);
}

/**
 * @param {SampleProgress} sampleProgress
 * @param {(label: string) => string} nameClass
 */
function describeOutlook(sampleProgress, nameClass) {
  const { decision, judged, sample, spare } = sampleProgress;
  const isWhole = judged === sample;
  if (decision === "accept")
    return isWhole ? gettext("The sample passes.") : gettext("The sample passes, whatever is found in the rest.");
  if (decision === "return")
    return isWhole ? gettext("The sample does not pass.") : gettext("The sample can no longer pass.");
  if (spare === null) return gettext("Both verdicts are possible.");
  if (spare >= sample - judged)
    return gettext("Both verdicts are possible: a class can still have too many wrong labels.");
  if (spare <= 0) return gettext("Accepted if every label left is right; returned with the first wrong one.");
  const limits = describeLimits(sampleProgress, spare, nameClass);
  const message = limits
    ? ngettext(
        "Both verdicts are possible: {n} more may be wrong, but {limits}.",
        "Both verdicts are possible: {n} more may be wrong, but {limits}.",
        spare,
      )
    : ngettext(
        "Both verdicts are possible: {n} more may be wrong.",
        "Both verdicts are possible: {n} more may be wrong.",
        spare,
      );
  return format(message, { n: spare, limits });
}

/**
 * Where a class allows less than all together; "" if none does.
 * @param {SampleProgress} sampleProgress  @param {number} spare  @param {(label: string) => string} nameClass
 */
function describeLimits({ classes, needed_by_class }, spare, nameClass) {
  if (needed_by_class === null) return "";
  const limited = classes.filter(
    (row) => row.drawn !== null && row.spare !== null && row.spare < Math.min(spare, row.drawn - row.judged),
  );
  const isSecret = classes.some(({ drawn }) => drawn === null) && classes.some(({ label }) => nameClass(label));
  if (isSecret || limited.length > MOST_NAMED)
    return format(gettext("of no class more than {share} in all"), { share: formatPercent(1 - needed_by_class) });
  return list.format(
    limited.map(({ label, spare: n }) => {
      const message = n === 0 ? gettext("none of the class “{name}”") : gettext("at most {n} of the class “{name}”");
      return format(message, { n: n ?? 0, name: nameClass(label) });
    }),
  );
}

/** @param {string} name  of a part of the accuracy pane */
const progressPart = (name) => partOf("sample-progress", name);

/**
 * @param {Progress} progress
 * @param {(label: string) => string} nameClass  a class in words, "" without classes
 */
function drawSampleProgress({ sample_progress: sampleProgress, left }, nameClass) {
  const { judged, sample, decision, failing, classes } = sampleProgress;
  drawAccuracy(sampleProgress);
  progressPart("outlook").textContent = describeOutlook(sampleProgress, nameClass);
  progressPart("outlook").dataset.decision = decision;
  progressPart("needed").textContent = describeNeeded(sampleProgress);
  progressPart("failing").hidden = failing.length === 0;
  progressPart("failing").textContent = describeFailing(sampleProgress, nameClass);
  const table = /** @type {HTMLTableElement} */ (byId("sample-progress").querySelector("table"));
  table.hidden = classes.every(({ label }) => !nameClass(label));
  table.tBodies[0].replaceChildren(...classes.map((row) => createClassRow(row, nameClass(row.label))));
  byId("stop").hidden = decision === "open" || left === 0 || judged === sample;
}

/**
 * @param {SampleProgress} sampleProgress
 * @param {(label: string) => string} nameClass
 */
function describeFailing({ failing, needed_by_class }, nameClass) {
  const names = list.format(failing.map((label) => format(gettext("“{name}”"), { name: nameClass(label) })));
  const message = ngettext("Class {names} is below {share}.", "The classes {names} are below {share}.", failing.length);
  return format(message, { names, share: formatPercent(needed_by_class ?? 0) });
}

/** @param {SampleProgress} sampleProgress */
function drawAccuracy(sampleProgress) {
  const { judged, right, value } = sampleProgress;
  const interval = format(gettext("{level} interval {interval}"), {
    level: formatPercent(0.95),
    interval: formatInterval(sampleProgress),
  });
  progressPart("accuracy").textContent =
    judged > 0 && value !== null ? formatEstimate(value) : gettext("Nothing is judged yet");
  progressPart("accuracy").toggleAttribute("data-figure", judged > 0);
  progressPart("judged").textContent = judged > 0 ? `${right} / ${judged}` : "";
  progressPart("interval").textContent = judged > 0 ? interval : "";
}

/** @param {SampleProgress} sampleProgress */
function describeNeeded({ needed, needed_by_class }) {
  const message =
    needed_by_class === null
      ? gettext("Needed: {overall} of all")
      : gettext("Needed: {overall} of all, {classes} of every class");
  return format(message, { overall: formatPercent(needed), classes: formatPercent(needed_by_class ?? 0) });
}

/** @param {Class} tally  @param {string} name */
function createClassRow(tally, name) {
  const { judged, right, value } = tally;
  const row = createElement("tr");
  const head = createElement("th", "", name);
  const share = createElement("td", "num", judged > 0 ? formatEstimate(value) : "–");
  head.scope = "row";
  head.dir = "auto";
  if (judged > 0) share.append(createElement("span", "muted", ` ${formatInterval(tally)}`));
  row.append(head, createElement("td", "num", judged > 0 ? `${right} / ${judged}` : "–"), share);
  return row;
}
