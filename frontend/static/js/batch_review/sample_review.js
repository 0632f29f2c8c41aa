// @ts-check
/**
 * The sample of a batch, one dialogue after another. Blind: the controller labels, sends, and then sees the annotators'
 * label beside it. Open: the label is there, and the controller agrees, or gives the right one and says why.
 *
 * What is judged waits in this tab until the server has it, in order; the next dialogues lie ready meanwhile.
 */

import { inWords, Questions } from "../labelling/questions.js";
import { call, uuid } from "../shared/api.js";
import { byId, note } from "../shared/conversation.js";
import { format, gettext, ngettext } from "../shared/messages.js";
import { isTyping } from "../shared/shortcuts.js";
import { Judgements, keep, kept } from "./judgements.js";
import { drawStanding, drawStrip, outlook } from "./sample_progress.js";

/**
 * @typedef {import("../labelling/questions.js").Answers} Answers
 * @typedef {{ answers: Answers, is_right: boolean, reason: string }} Judgement
 * @typedef {{ id: number, place: number, schema: number, language: string, label: Answers | null,
 *   utterances: import("../labelling/questions.js").Utterance[], judgement: Judgement | null }} Item
 * @typedef {import("./judgements.js").Entry} Entry
 * @typedef {"choose" | "answer" | "sent" | "told" | "loading" | "end"} Stage
 *   choose: agree or not; answer: the questions are open; sent: the comparison is on its way; told: it is shown
 */

const READY = 3;
const LONGEST_MS = 3_600_000;
const JUST_SHOWN_MS = 250; // a key pressed twice must not judge a dialogue that nobody has seen
const WIDE = matchMedia("(width >= 80rem)");

const data = JSON.parse(byId("workbench").textContent ?? "");
const { urls, isBlind } = data;
const form = /** @type {HTMLFormElement} */ (byId("sending"));
const reason = /** @type {HTMLTextAreaElement} */ (byId("reason"));
// By person too: whoever signs in next in this tab must not send what another one judged.
const keptAs = `lapidary-sample:${data.sample}:${data.me}`;

/** @type {import("./sample_progress.js").Progress} */
let progress = data.progress;
/** @type {Item[]} what is to be judged, the first of them first */
let queue = data.items;
/** @type {number[]} what was judged, the last one last */
const mine = data.mine;
/** @type {Map<number, Item>} what was judged on this page */
const judged = new Map();
/** @type {Item | null} */
let item = null;
/** @type {Stage} */
let stage = "loading";
let shownAt = 0;

const judgements = new Judgements({
  keptAs,
  login: urls.login,
  asks: () => ({ next: Math.max(0, READY - queue.length), held: queue.map(({ id }) => id) }),
  onStored: settled,
  onRefused: refused,
  onQuiet: () => stage === "loading" && showNext(),
});
queue = queue.filter(({ id }) => !judgements.has(id));

function keepDraft() {
  if (stage === "answer" && item && !item.judgement) {
    keep(keptAs, "draft", { item: item.id, answers: questions.answers, reason: reason.value });
  }
}

// ---- the questions ---------------------------------------------------------------------------------------------------

const questions = new Questions({
  turns: byId("turns"),
  panel: byId("questions"),
  decided: gettext("differs"),
  onChange: keepDraft,
  onActive: (slot) => {
    byId("panes").toggleAttribute("data-beside", slot !== null && slot.position !== null);
    if (slot && stage !== "answer") questions.activate(null); // closed questions take no keys: y and n are the page's
  },
  onDone: () => byId("send").focus({ preventScroll: true }),
});

/** @param {number} version  @param {string} key */
function questionOf(version, key) {
  const asked = /** @type {import("../labelling/questions.js").Question[]} */ (data.schemas[version]?.questions ?? []);
  return asked.find((question) => question.key === key);
}

/** @param {Answers} answers  @param {string} path */
function valueAt(answers, path) {
  const [key, position] = path.split("/").reverse();
  return position === undefined ? answers.dialogue[key] : answers.utterances[position]?.[key];
}

/** @param {Item} of  @param {Answers} answers  @param {string} path */
function said(of, answers, path) {
  const question = questionOf(of.schema, path.split("/").at(-1) ?? "");
  const value = valueAt(answers, path);
  return question ? inWords(question, value, gettext("not answered")) : String(value ?? gettext("not answered"));
}

/** What two people answered differently, as paths. @param {Answers} one  @param {Answers} other */
function differing(one, other) {
  const paths = new Set();
  for (const { dialogue, utterances } of [one, other]) {
    for (const key of Object.keys(dialogue)) paths.add(key);
    for (const [at, given] of Object.entries(utterances))
      for (const key of Object.keys(given)) paths.add(`${at}/${key}`);
  }
  return [...paths].filter((path) => JSON.stringify(valueAt(one, path)) !== JSON.stringify(valueAt(other, path)));
}

/** Where one question is checked, what only one of them was asked, or answered, is no disagreement. @param {Answers} own  @param {Answers} label */
function disagreements(own, label) {
  const paths = differing(own, label);
  const isAnswered = (/** @type {string} */ path) =>
    [own, label].every((answers) => valueAt(answers, path) !== undefined);
  return data.question ? paths.filter(isAnswered) : paths;
}

/** Whether the answers say what the label says, where that is checked. @param {Answers} answers  @param {Answers} label */
function isSame(answers, label) {
  const paths = differing(answers, label);
  return data.question ? !paths.includes(data.question) : paths.length === 0;
}

/** A class of labels in words; "" where there are none. @param {string} label */
function named(label) {
  for (const version of Object.keys(data.schemas).reverse()) {
    const question = questionOf(Number(version), data.question);
    const option = question?.options?.find(({ value }) => String(value) === label);
    if (question && option) return inWords(question, option.value, label);
  }
  return data.question ? label : "";
}

// ---- what is shown ---------------------------------------------------------------------------------------------------

/** @param {Item} shown  @param {Answers | undefined} answers  @param {boolean} isOpen  @param {string[]} [differences] */
function draw(shown, answers, isOpen, differences = []) {
  const { label, judgement } = shown;
  const rows = differences.map((path) => [
    path,
    [
      {
        words: said(shown, /** @type {Answers} */ (label), path),
        by: gettext("label"),
        value: valueAt(/** @type {Answers} */ (label), path) ?? null,
      },
      {
        words: said(shown, /** @type {Judgement} */ (judgement).answers, path),
        by: gettext("you"),
        value: valueAt(/** @type {Judgement} */ (judgement).answers, path) ?? null,
      },
    ],
  ]);
  questions.show({
    schema: data.schemas[shown.schema],
    utterances: shown.utterances,
    lang: shown.language,
    answers,
    isOpen,
    differences,
    spread: differences.length > 0 ? Object.fromEntries(rows) : null,
  });
}

/** The buttons, words and fields of a stage. @param {Stage} next  @param {string} [task] */
function enter(next, task = "") {
  stage = next;
  const isEnd = next === "end" || next === "loading";
  for (const control of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-stage]"))) {
    control.hidden = control.dataset.stage !== (next === "sent" ? "answer" : next);
  }
  /** @type {HTMLButtonElement} */ (byId("send")).disabled = next === "sent";
  byId("cancel").hidden = next !== "answer" || !item?.label;
  for (const part of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-judging]"))) {
    part.hidden = isEnd;
  }
  byId("end").hidden = !isEnd;
  byId("again").hidden = true;
  byId("told").hidden = next !== "told" && next !== "choose" && !(next === "answer" && item?.label && data.question);
  /** @type {HTMLElement} */ (byId("why").querySelector(".optional")).hidden = isReasonNeeded();
  byId("why").hidden = next === "choose" || (next === "told" && item?.judgement?.is_right === true && !reason.value);
  byId("task").textContent = task;
  byId("place").textContent =
    item && !isEnd ? format(gettext("{n} of {of}"), { n: item.place + 1, of: progress.cells.length }) : "";
  drawProgress();
}

/** Who disagrees with a label that they saw says why. */
function isReasonNeeded() {
  return !isBlind && item?.judgement === null;
}

function drawProgress() {
  const { judged: all, right, sample } = progress.standing;
  const label = format(gettext("{judged} of {all} judged: {right} right, {wrong} wrong"), {
    judged: all,
    all: sample,
    right,
    wrong: all - right,
  });
  drawStrip(progress.cells, stage === "end" ? null : (item?.place ?? null), label);
  drawStanding(progress, named);
}

/** @param {"good" | "bad" | ""} tone  @param {string} verdict  @param {string} text */
function tell(tone, verdict, text) {
  const told = byId("told");
  told.className = `alert ${tone}`;
  for (const sign of /** @type {NodeListOf<HTMLElement>} */ (told.querySelectorAll("[data-sign]"))) {
    sign.hidden = sign.dataset.sign !== tone;
  }
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (told.querySelector(`[data-${name}]`));
  part("verdict").textContent = verdict;
  part("said").textContent = text;
}

/** What the label says where it is checked. @param {Item} of  @param {Answers} answers */
const inShort = (of, answers) => (data.question ? said(of, answers, data.question) : "");

/** Begin with the next dialogue, or end. */
async function showNext() {
  if (queue.length === 0) {
    item = null;
    tellEnd(gettext("The next dialogue is on its way."), "");
    enter("loading");
    if (judgements.waiting > 0) return; // its answer brings more
    await more();
  }
  item = queue[0] ?? null;
  if (!item) {
    showEnd();
    return;
  }
  shownAt = performance.now();
  const draft = kept(keptAs, "draft");
  const before = draft?.item === item.id ? draft : null;
  reason.value = before?.reason ?? "";
  if (isBlind)
    open(item, before?.answers, gettext("Label it yourself, then see what the annotators said."), gettext("Judge"));
  else if (before) open(item, before.answers, gettext("Give the right label and say why."), gettext("Judge"));
  else choose(item);
}

/** @param {Item} shown  @param {Answers | undefined} answers  @param {string} task  @param {string} send  @param {string[]} [differences] */
function open(shown, answers, task, send, differences = []) {
  item = shown;
  if (shown.label) tell("", format(gettext("Label: {label}"), { label: inShort(shown, shown.label) }), "");
  /** @type {HTMLElement} */ (byId("send").querySelector("[data-words]")).textContent = send;
  enter("answer", task);
  draw(shown, answers, true, differences);
  byId("asked").scrollTop = 0;
  questions.begin();
}

/** @param {Item} shown */
function choose(shown) {
  tell("", format(gettext("Label: {label}"), { label: inShort(shown, /** @type {Answers} */ (shown.label)) }), "");
  enter("choose", gettext("Does the label hold?"));
  byId("told").hidden = !data.question;
  draw(shown, /** @type {Answers} */ (shown.label), false);
  /** @type {HTMLElement} */ (document.querySelector(".pane.work .pane-body")).focus({ preventScroll: true });
}

/** Own answers beside the label. @param {Item} shown */
function compare(shown) {
  const { label, judgement } = shown;
  if (!label || !judgement) return;
  item = shown;
  const [theirs, own] = [inShort(shown, label), inShort(shown, judgement.answers)];
  const text = judgement.is_right
    ? format(gettext("Label: {label}"), { label: theirs })
    : format(gettext("Label: {label}. You: {own}."), { label: theirs, own });
  tell(
    judgement.is_right ? "good" : "bad",
    judgement.is_right ? gettext("The label holds.") : gettext("The label does not hold."),
    data.question ? text : "",
  );
  reason.value = judgement.reason;
  enter("told", gettext("Compare, then go on."));
  draw(shown, judgement.answers, false, disagreements(judgement.answers, label));
  byId("asked").scrollTop = 0;
  byId("told").focus({ preventScroll: true });
}

/** @param {string} title  @param {string} more */
function tellEnd(title, more) {
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (byId("end").querySelector(`[data-${name}]`));
  part("title").textContent = title;
  part("verdict").textContent = title === gettext("The next dialogue is on its way.") ? "" : outlook(progress.standing);
  part("more").textContent = more;
}

function showEnd() {
  const { left, standing } = progress;
  const isAll = left === 0 && standing.judged === standing.sample;
  const rest =
    left > 0
      ? format(
          ngettext(
            "{n} more is with another controller now; in a few minutes it may be free.",
            "{n} more are with other controllers now; in a few minutes they may be free.",
            left,
          ),
          { n: left },
        )
      : isAll
        ? ""
        : gettext("What is left is your own work, or others judge it.");
  tellEnd(isAll ? gettext("All of the sample is judged") : gettext("There is nothing left for you"), rest);
  enter("end");
  byId("again").hidden = left === 0;
  /** @type {HTMLElement} */ (byId("end").querySelector("h2")).focus({ preventScroll: true });
}

// ---- judging ---------------------------------------------------------------------------------------------------------

/** @param {Item} of  @param {Answers | null} answers */
function send(of, answers) {
  const body = {
    id: uuid(),
    answers,
    reason: reason.value.trim(),
    active_ms: Math.round(Math.min(performance.now() - shownAt, LONGEST_MS)),
  };
  keep(keptAs, "draft", null);
  queue = queue.filter(({ id }) => id !== of.id);
  for (const cause of ["why", "back"]) note(cause, null);
  judgements.send({ item: of, body });
}

function agree() {
  if (!item || performance.now() - shownAt < JUST_SHOWN_MS) return;
  reason.value = "";
  send(item, null);
  showNext();
}

/** What is answered is sent, once everything that is needed is there. */
function submit() {
  if (stage !== "answer" || !item) return;
  const answers = questions.answers;
  const [first] = data.question
    ? [answers.dialogue[data.question] === undefined ? data.question : undefined]
    : questions.missing().map(({ path }) => path);
  if (first) {
    questions.goTo(first, gettext("This has to be answered first."));
    return;
  }
  const isSecond = item.judgement !== null;
  if (isReasonNeeded() && item.label) {
    if (isSame(answers, item.label)) {
      questions.goTo(
        data.question || questions.active?.path || "",
        gettext("This is the label itself: choose another answer, or agree."),
      );
      return;
    }
    if (!reason.value.trim()) {
      note("why", { tone: "warn", text: gettext("Say why: the annotators learn from it.") });
      reason.setAttribute("aria-invalid", "true");
      reason.focus();
      return;
    }
  }
  send(item, answers);
  if (isBlind && !isSecond) enter("sent", gettext("Label it yourself, then see what the annotators said."));
  else showNext();
}

/** From the comparison to the next dialogue; what was written about it meanwhile is stored with it. */
function goOn() {
  if (stage !== "told" || !item?.judgement) return;
  if (reason.value.trim() !== item.judgement.reason) send(item, item.judgement.answers);
  showNext();
}

function correct() {
  if (!item?.label) return;
  const { judgement, label } = item;
  const written = reason.value;
  shownAt = performance.now();
  const paths = judgement ? disagreements(judgement.answers, label) : [];
  const submits = judgement ? gettext("Store the correction") : gettext("Judge");
  open(item, judgement?.answers ?? label, gettext("Give the right label and say why."), submits, paths);
  reason.value = written;
  if (data.question) questions.goTo(data.question);
  else questions.move(1);
}

function cancel() {
  if (!item) return;
  keep(keptAs, "draft", null);
  if (item.judgement) compare(item);
  else showNext();
}

/** Undo the last answer; without one, back to the dialogue that was judged before. */
async function back() {
  if (stage === "sent" || (stage === "answer" && questions.undo())) return;
  keepDraft();
  const at = item ? mine.indexOf(item.id) : -1;
  const before = at < 0 ? mine.at(-1) : mine[at - 1];
  if (before === undefined) note("back", { tone: "", text: gettext("You have judged nothing before this.") });
  else await revisit(before);
}

/** @param {number} id  of a dialogue that was judged */
async function revisit(id) {
  try {
    const found = judged.get(id) ?? (await call("GET", `/sample-items/${id}/`));
    if (found.judgement) compare(found);
  } catch (error) {
    complain(error);
  }
}

// ---- sending ---------------------------------------------------------------------------------------------------------

/** @param {Entry} entry  @param {any} answer */
function settled({ item: sent, body }, answer) {
  const given = body.answers ?? answer.label;
  const whole = {
    ...sent,
    label: answer.label,
    judgement: { answers: given, is_right: answer.is_right, reason: body.reason },
  };
  judged.set(sent.id, whole);
  if (!mine.includes(sent.id)) mine.push(sent.id);
  progress = answer;
  add(answer.next);
  if (stage === "sent" && item?.id === sent.id) compare(whole);
  else drawProgress();
}

/** @param {Item[]} items */
function add(items) {
  const known = new Set(queue.map(({ id }) => id));
  queue.push(...items.filter(({ id }) => !known.has(id) && !judged.has(id) && !judgements.has(id)));
}

async function more() {
  try {
    add((await call("GET", `${urls.sample}next/?count=${READY}`)).items);
  } catch (error) {
    complain(error);
  }
}

/** The server keeps its no: say why, and go on with what it has. @param {Entry} entry  @param {import("../shared/api.js").Problem} problem */
async function refused({ item: sent, body }, problem) {
  complain(problem);
  const [first] = problem.body.problems ?? [];
  if (problem.code === "invalid" && body.answers) {
    reason.value = body.reason;
    open(
      sent,
      body.answers,
      gettext("Give the right label and say why."),
      sent.judgement ? gettext("Store the correction") : gettext("Judge"),
    );
    if (first) questions.goTo(first.path, first.message);
    if (!sent.judgement) queue.unshift(sent);
    return;
  }
  try {
    progress = await call("GET", urls.sample);
  } catch {
    // The next answer brings it.
  }
  if (stage === "sent") await showNext();
  else drawProgress();
}

/** @param {unknown} error */
function complain(error) {
  const problem =
    error instanceof Error && "code" in error ? /** @type {import("../shared/api.js").Problem} */ (error) : null;
  if (!problem) {
    judgements.warn(error);
    return;
  }
  const toBatch = { label: gettext("To the batch"), run: () => location.assign(urls.batch) };
  note("refused", {
    tone: "warn",
    text: problem.message || gettext("That did not work. Nothing was changed."),
    remedy: problem.remedy,
    actions: problem.code === "not_in_review" ? [toBatch] : [],
  });
}

// ---- begin -----------------------------------------------------------------------------------------------------------

/** @type {Record<string, () => void>} */
const DOES = { agree, disagree: correct, cancel, goOn, correct, back, again: showNext };
/** @type {Record<string, () => void>} */
const ACTS = {
  next: () => questions.move(1),
  back: () => questions.move(-1),
  clear: () => questions.clear(),
  guide: () => questions.toggleGuide(),
  expand: () => questions.expand(),
  theirs: () => questions.takeNext(),
};
for (const control of document.querySelectorAll("[data-do]")) {
  control.addEventListener("click", () => {
    note("refused", null);
    DOES[control.getAttribute("data-do") ?? ""]();
  });
}
for (const control of document.querySelectorAll("[data-act]")) {
  control.addEventListener("click", () => ACTS[control.getAttribute("data-act") ?? ""]());
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  note("refused", null);
  submit();
});
reason.addEventListener("input", () => {
  reason.removeAttribute("aria-invalid");
  note("why", null);
  keepDraft();
});
// Escape leaves the field and does not throw the correction away.
reason.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !isTyping(event.target)) return;
  event.stopPropagation();
  byId("asked").focus({ preventScroll: true });
});
const unfold = () => byId("standing").toggleAttribute("open", WIDE.matches);
WIDE.addEventListener("change", unfold);
unfold();
const checked = questionOf(Number(Object.keys(data.schemas).at(-1)), data.question);
byId("checked").textContent = checked
  ? format(gettext("Checked is: {question}"), {
      question: checked.text[document.documentElement.lang.startsWith("zh") ? "zh" : "en"],
    })
  : gettext("Checked is every compared answer.");
if (judgements.waiting > 0) judgements.pump();
await showNext();
document.documentElement.dataset.ready = "true";
