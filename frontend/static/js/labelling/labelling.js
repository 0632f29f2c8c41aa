// @ts-check
/**
 * The labelling workbench. The next dialogue lies ready, so that a submission shows it at once and goes through the
 * outbox; the answer to it brings the one after. Answers are never nowhere: they are on the page, in the draft, in the
 * outbox, or stored.
 */

import { call, clock, isPassing, isSignedOut, Problem, uuid } from "../shared/api.js";
import { Activity, Drafts, LABELS } from "../shared/drafts.js";
import { format, gettext, ngettext } from "../shared/messages.js";
import * as outbox from "../shared/outbox.js";
import { isTyping, matches } from "../shared/shortcuts.js";
import { Questions } from "./questions.js";

/**
 * @typedef {import("./questions.js").Answers} Answers
 * @typedef {{ id: number, project: string, state: string, task_state: string, stage: "label" | "confirmation",
 *   lease_until: string, touched_at: string, served_at: string | null, seconds_left: number, min_seconds: number,
 *   schema: number, claim?: string,
 *   dialogue: { id: number, language: string, utterances: import("./questions.js").Utterance[] },
 *   draft: { answers: Answers, note: string, version: number } | null,
 *   submission: { id: string, revision: number, answers: Answers, note: string, stored_at: string } | null,
 *   is_decided: boolean, others: { answers: Answers, note: string }[], differences: string[] }} Assignment  as the API gives it
 *   claim: the id of the claim that it came by, set here
 * @typedef {{ assignment: Assignment, dueAt: number | null, isRevision: boolean }} Task
 *   dueAt: when the time floor is over, by this page's clock; null: not shown yet
 * @typedef {{ code: string, message: string, remedy: string, details?: Record<string, any> }} Nothing
 * @typedef {{ task: Task, item: string, answers: Answers, note: string, isRefused?: boolean }} Sent
 */

const KEPT = "lapidary"; // the service worker's cache, emptied when the person signs out
const FLOOR_MARGIN_MS = 150;
const UNSENT_AFTER_MS = 1500;
const LOADING_AFTER_MS = 400;
const ASK_AGAIN_MS = 5000;
const PAST_KEPT = 50;
const OPENING = 80;
/** @type {Record<string, { text: string, remedy: string }>} */
const STATES = {
  saved: { text: gettext("Saved for later, kept until {when}."), remedy: gettext("Go on to take it up again.") },
  expired: {
    text: gettext("This dialogue was kept for you until {when}."),
    remedy: gettext("Go on to take it up again, as long as nobody else has."),
  },
  released: {
    text: gettext("You gave this dialogue back."),
    remedy: gettext("You can take it up again as long as nobody else has."),
  },
  submitted: {
    text: gettext("You submitted this dialogue."),
    remedy: gettext("Submit again to correct it; the earlier answers are kept as history."),
  },
  confirming: {
    text: gettext("The others have not confirmed their answers yet."),
    remedy: gettext("You have confirmed yours; nothing is to be done here."),
  },
  disputed: {
    text: gettext("You and the others disagree about this dialogue."),
    remedy: gettext("A trainer decides; nothing is to be done here."),
  },
  decided: {
    text: gettext("A trainer has decided this dialogue."),
    remedy: gettext("If you think that something is wrong, ask in its thread."),
  },
};

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const data = JSON.parse(byId("workbench").textContent ?? "");
const lane = `labels-${data.project}`;
const claimKey = `lapidary.claim.${outbox.owner}.${data.project}`;
/** @type {Map<number, import("./questions.js").Content>} */
const schemas = new Map(data.schema ? [[data.schema.version, data.schema.content]] : []);
const today = { ...data.today };
const done = { n: data.done, of: data.of };

/** @type {Task | null} */
let current = null;
/** @type {Task[]} the next, claimed already */
let ahead = [];
/** @type {Assignment[]} what an earlier page had ready, for when the server does not answer */
let spare = [];
/** @type {Sent[]} what was submitted here, the last one at the end */
let past = [];
/** @type {Nothing | null} why nothing more came */
let nothing = null;
/** @type {Drafts | null} */
let drafts = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;
let isSubmitAsked = false;
let isUnanswered = false; // whatever the network says

const isAway = () => isUnanswered || !navigator.onLine;

const activity = new Activity();
const note = /** @type {HTMLTextAreaElement} */ (byId("note"));
const questions = new Questions({
  turns: byId("turns"),
  panel: byId("questions"),
  onChange,
  onActive: (slot) => byId("panes").toggleAttribute("data-beside", slot !== null && slot.position !== null),
  onDone: () => byId("submit").focus({ preventScroll: true }),
});

// ---- notices, loaded on need -------------------------------------------------------------------------------------------

/** @typedef {typeof import("../shared/conversation.js")} Notices @type {Promise<Notices> | undefined} */
let notices;

/** @param {string} cause  @param {import("../shared/conversation.js").Notice | null} notice */
function say(cause, notice) {
  if (!notice && !notices) return;
  notices ??= import("../shared/conversation.js");
  void notices.then(({ note: show }) => show(cause, notice));
}

/** @param {string} text  @param {import("../shared/toast.js").Action} [action] */
const toast = async (text, action) => (await import("../shared/toast.js")).toast(text, { action });
const leaving = () => import("../shared/leaving.js");

/** @param {unknown} error  @param {string} [cause] */
function sayError(error, cause = "error") {
  if (error instanceof Problem && !isPassing(error) && !isSignedOut(error))
    say(cause, {
      tone: "bad",
      text: error.message || gettext("That did not work. Nothing was changed."),
      remedy: error.remedy,
    });
  else if (isSignedOut(error)) saySignedOut();
  else
    say(cause, {
      tone: "warn",
      text: gettext("No connection."),
      remedy: gettext("That did not work. Nothing was changed."),
    });
}

function saySignedOut() {
  const login = `${data.urls.login}?next=${encodeURIComponent(location.pathname)}`;
  const actions = [{ label: gettext("Sign in"), run: () => location.assign(login) }];
  say("signed-out", {
    tone: "warn",
    text: gettext("You are signed out."),
    remedy: gettext("Sign in again, also in another tab: what waits here is sent then."),
    actions,
  });
}

function sayOffline() {
  say("connection", {
    tone: "warn",
    text: gettext("No connection."),
    remedy: gettext("Go on: everything is kept in this browser and sent, in order, when the connection is back."),
  });
}

// ---- one dialogue ----------------------------------------------------------------------------------------------------

/** @param {Assignment} assignment  @returns {Task} */
const taskOf = (assignment) => ({ assignment, dueAt: null, isRevision: assignment.submission !== null });

/** Whether answers can be sent for it. @param {Assignment} assignment */
function isOpen({ state, task_state, stage, is_decided }) {
  if (task_state === "disputed" || is_decided) return false;
  if (state === "submitted") return stage === "confirmation" || task_state !== "confirming";
  return state !== "released";
}

/** @param {Task} task  @param {{ answers?: Answers, note?: string }} [with_]  in place of what lies in drafts */
async function show(task, with_) {
  const { assignment } = task;
  const schema = schemas.get(assignment.schema) ?? (await schemaOf(assignment));
  cancel();
  drafts?.end();
  current = task;
  nothing = null;
  drafts = new Drafts(
    {
      assignment: assignment.id,
      stored: assignment.draft,
      read: () => ({ answers: questions.answers, note: note.value }),
      time: () => activity.report(),
      onState: (state) => showDraft(state === "saved" ? gettext("draft saved") : gettext("draft kept in this browser")),
      onConflict: (theirs) => chooseDraft(theirs),
      onOther: () => void takeOther(),
      onSignedOut: saySignedOut,
    },
    LABELS,
  );
  const given = with_?.answers ? { answers: with_.answers, note: with_.note ?? "" } : restored(task);
  note.value = given.note;
  questions.show({
    schema,
    utterances: assignment.dialogue.utterances,
    lang: assignment.dialogue.language,
    answers: given.answers,
    differences: assignment.stage === "confirmation" ? assignment.differences : [],
    others: assignment.stage === "confirmation" ? assignment.others : [],
    isOpen: isOpen(assignment),
  });
  task.dueAt ??= performance.now() + floorOf(assignment) * 1000 + (floorOf(assignment) > 0 ? FLOOR_MARGIN_MS : 0);
  byId("nothing").hidden = true;
  byId("sending").prepend(byId("notices"));
  byId("panes").hidden = false;
  for (const body of document.querySelectorAll("#panes .pane-body")) body.scrollTop = 0;
  questions.begin();
  if (assignment.stage === "confirmation") void offerConfirmations();
  showAddress(assignment);
  showHead();
  showState();
  say("elsewhere", null);
  showDraft("");
  countDown();
}

/** Seconds that the dialogue must still be shown. @param {Assignment} assignment */
function floorOf({ served_at, seconds_left, min_seconds }) {
  return served_at === null ? min_seconds : Math.max(0, seconds_left);
}

/** @param {Assignment} assignment */
async function schemaOf({ project, schema }) {
  const { content } = await call("GET", `/projects/${project}/schemas/${schema}/`);
  schemas.set(schema, content);
  return content;
}

/** What was answered before: in this browser, on the server, or in the submission that is revised. @param {Task} task */
function restored({ assignment }) {
  const { draft, submission } = assignment;
  const local = drafts?.local();
  activity.begin(local?.activity);
  const stored = draft && LABELS.print(draft) ? draft : null;
  if (local && (local.dirty || !stored)) {
    const isChoice = stored && local.version !== stored.version && LABELS.said(stored) !== LABELS.said(local);
    if (isChoice && drafts) {
      drafts.held = true;
      chooseDraft(stored);
    }
    return { answers: local.answers, note: local.note };
  }
  const base = stored ?? submission;
  return base ? { answers: base.answers, note: base.note } : { answers: { dialogue: {}, utterances: {} }, note: "" };
}

/** @param {string} path  @param {import("./questions.js").Value | undefined} value */
function onChange(path, value) {
  const isWords = typeof value === "string" && value.length > 40;
  activity.note(value === undefined ? "clear" : "answer", isWords ? { path } : { path, value });
  showDraft("");
  if (isSubmitAsked) cancel(gettext("Not submitted: something changed. Submit again."));
  drafts?.keep();
  showLeft();
}

// ---- what the head says ----------------------------------------------------------------------------------------------

/** @param {Assignment} assignment */
function showAddress({ id }) {
  history.replaceState(null, "", data.urls.bench.replace("/0/", `/${id}/`));
  const ask = document.getElementById("ask");
  if (ask instanceof HTMLAnchorElement)
    ask.href = ask.href.replace(/\/\d+\/?$/, `/${current?.assignment.dialogue.id}/`);
}

function showHead() {
  const stage =
    current?.assignment.stage === "confirmation"
      ? gettext("Confirm")
      : current?.isRevision
        ? gettext("Revise")
        : gettext("Label");
  byId("stage").textContent = stage;
  const left = today.goal - today.finished;
  byId("today").textContent =
    left > 0 ? format(gettext("{n} left today"), { n: left }) : gettext("Today's goal is reached");
  const bar = byId("progress");
  bar.hidden = !done.of;
  const [progress, said] = [bar.querySelector("progress"), bar.querySelector("[data-words]")];
  if (progress) Object.assign(progress, { max: done.of || 1, value: Math.min(done.n, done.of) });
  progress?.setAttribute("aria-label", gettext("Dialogues that you have labelled"));
  if (said) said.textContent = format(gettext("{n} of {of}"), { n: done.n, of: done.of });
  showLeft();
}

/** What is to be done. */
function showLeft() {
  if (!current) return;
  const left = questions.missing().length;
  const isConfirming = current.assignment.stage === "confirmation";
  const said =
    left === 0
      ? gettext("Everything is answered: submit.")
      : format(
          isConfirming
            ? ngettext(
                "Somebody else answered {n} question differently: keep yours or change it.",
                "Somebody else answered {n} questions differently: keep yours or change them.",
                left,
              )
            : ngettext("{n} answer left", "{n} answers left", left),
          { n: left },
        );
  byId("task").textContent = isOpen(current.assignment) ? said : "";
  byId("submit").toggleAttribute("data-ready", left === 0);
  const goals = questions.crowdedGoals();
  const text = goals
    .map(({ speaker, n }) =>
      format(gettext("{speaker} has {n} goal nuggets; only the first one counts."), { speaker, n }),
    )
    .join(" ");
  say("goals", goals.length > 0 ? { tone: "warn", text } : null);
}

/** @param {string} text */
function showDraft(text) {
  byId("draft-state").textContent = text;
}

function showState() {
  if (!current) return;
  const { assignment } = current;
  const { state, task_state } = assignment;
  const open = isOpen(assignment);
  const submit = /** @type {HTMLButtonElement} */ (byId("submit"));
  submit.disabled = !open;
  for (const control of document.querySelectorAll("#skip, [data-leaving=save], [data-leaving=giveBack]"))
    control.toggleAttribute("disabled", state === "submitted");
  note.readOnly = !open;
  const closed = assignment.is_decided ? "decided" : task_state === "disputed" ? "disputed" : "confirming";
  const which = closed === "confirming" && (state !== "submitted" || open) ? state : closed;
  if (which === "active" || (which === "submitted" && current.isRevision && open)) {
    say("state", null);
    return;
  }
  const when = clock(assignment.lease_until);
  const actions = state === "released" ? [{ label: gettext("Take it up again"), run: () => void takeUp() }] : [];
  say("state", {
    tone: "",
    text: format(STATES[which].text, { when }),
    remedy: STATES[which].remedy,
    actions,
  });
}

async function takeUp() {
  if (!current) return;
  const { id } = current.assignment;
  try {
    await call("POST", `/assignments/${id}/resume/`, {});
    for (const cause of ["state", "refused"]) say(cause, null);
    await show(taskOf(await call("GET", `/labelling/${id}/`)), { answers: questions.answers, note: note.value });
  } catch (error) {
    sayError(error);
  }
}

/** Seconds until the dialogue has been shown for long enough. */
function secondsLeft() {
  return Math.max(0, ((current?.dueAt ?? 0) - performance.now()) / 1000);
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let ticking;

function countDown() {
  clearTimeout(ticking);
  const left = secondsLeft();
  const floor = byId("floor");
  floor.hidden = left === 0;
  if (left === 0) return;
  const shown = Math.max(1, Math.ceil(left - FLOOR_MARGIN_MS / 1000));
  const time = `${Math.floor(shown / 60)}:${String(shown % 60).padStart(2, "0")}`;
  floor.textContent = format(gettext("≥ {min} s: {clock} left"), { min: current?.assignment.min_seconds, clock: time });
  if (isSubmitAsked) showSubmit(format(gettext("Submits in {clock}"), { clock: time }));
  ticking = setTimeout(countDown, Math.min(left, left - (shown - 1)) * 1000 + 5);
}

// ---- sending ---------------------------------------------------------------------------------------------------------

/** @param {string} text */
function showSubmit(text) {
  const label = byId("submit").querySelector("[data-words]");
  if (label) label.textContent = text;
  byId("cancel").hidden = !isSubmitAsked;
}

/** A submission that was asked for before its time is not wanted any more. @param {string} [why] */
function cancel(why = "") {
  clearTimeout(waiting);
  if (!isSubmitAsked) return;
  isSubmitAsked = false;
  showSubmit(gettext("Submit"));
  if (why) byId("live").textContent = why;
  showDraft(why);
}

/** Submit, or as soon as the dialogue has been shown for long enough. */
function submit() {
  const isSent = past.some(({ task }) => task === current); // and the questions of the next one are on their way
  if (!current || isSent || !isOpen(current.assignment)) return;
  const [first] = questions.missing();
  if (first) {
    const isDiffering = current.assignment.stage === "confirmation" && questions.valueAt(first.path) !== undefined;
    cancel();
    questions.goTo(
      first.path,
      isDiffering
        ? gettext("Keep your answer or take the other one first.")
        : gettext("This has to be answered first."),
    );
    return;
  }
  const left = secondsLeft();
  if (left === 0) {
    send(current);
    return;
  }
  isSubmitAsked = true;
  clearTimeout(waiting);
  waiting = setTimeout(submit, left * 1000 + 5);
  countDown();
}

/** @param {Task} task  whether it is a correction that corrects nothing */
function isUnchanged({ assignment: { stage, submission } }) {
  const now = { answers: questions.answers, note: note.value.trim() };
  return stage === "label" && submission !== null && LABELS.print(submission) === LABELS.print(now);
}

/** @param {Task} task */
function send(task) {
  const { assignment } = task;
  if (isUnchanged(task)) {
    void toast(gettext("Nothing was changed, so nothing was sent."));
    goOn();
    return;
  }
  const [answers, said, id] = [questions.answers, note.value.trim(), uuid()];
  const item = {
    ...{ id, lane, assignment: assignment.id, position: 0, text: openingOf(assignment), url: location.pathname },
    kind: /** @type {const} */ ("labels"),
    sent: { id, schema: assignment.schema, answers, note: said, ...activity.report() },
    made_at: Date.now(),
  };
  const next = takeNext();
  if (ahead.length === 0) Object.assign(item.sent, { next_claim: claimId() });
  const own = drafts;
  if (own) own.held = true; // until the outbox has the answers, this browser's copy keeps them
  past = [...past.slice(-PAST_KEPT), { task, item: id, answers, note: said }];
  if (!task.isRevision) count(1);
  cancel();
  const known = nothing?.details?.open ? null : nothing; // the open one may be what is being sent
  if (next) void show(next);
  else showNothing(known ?? { code: "loading", message: gettext("The next dialogue is on its way."), remedy: "" });
  keepTasks();
  outbox.enqueue(item).then(
    () => own?.end({ forget: true }),
    (error) => {
      past = past.filter((one) => one.item !== id);
      void show(task, { answers, note: said });
      sayError(error, "volatile");
    },
  );
  setTimeout(showWaiting, navigator.onLine ? UNSENT_AFTER_MS : 0);
}

/** @param {Assignment} assignment */
const openingOf = ({ dialogue }) => dialogue.utterances.find(({ text }) => text.trim())?.text.slice(0, OPENING) ?? "";

/** @param {1 | -1} step */
function count(step) {
  done.n += step;
  today.finished += step;
}

// ---- the next --------------------------------------------------------------------------------------------------------

/** One claim at a time, however often it is sent, reloads included. */
function claimId() {
  const id = localStorage.getItem(claimKey) ?? newClaim();
  return id;
}

function newClaim() {
  const id = uuid();
  try {
    localStorage.setItem(claimKey, id);
  } catch {
    // A browser that keeps nothing: a reload claims another one.
  }
  return id;
}

/** @param {Assignment | null | undefined} next  @param {string} [claim] */
function take(next, claim = claimId()) {
  const isKnown = (/** @type {Task | null} */ task) => task?.assignment.id === next?.id;
  const isSent = past.some(({ task }) => isKnown(task));
  if (!next || next.state === "submitted" || isKnown(current) || ahead.some(isKnown) || isSent) return false;
  ahead.push(taskOf({ ...next, claim }));
  keepTasks();
  if (!current) showNext();
  return true;
}

/** A claim is over when what came by it is shown; one whose answer was lost is sent again. */
function takeNext() {
  const next = ahead.shift();
  if (next?.assignment.claim === claimId()) newClaim();
  return next;
}

function showNext() {
  const next = takeNext();
  if (!next) return;
  void show(next);
  keepTasks();
}

/** @type {Promise<void> | undefined} */
let claiming;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let askingAgain;

/** Claim one more; it is shown if nothing else is. */
function claimAhead() {
  claiming ??= claim().finally(() => {
    claiming = undefined;
  });
  return claiming;
}

async function claim() {
  clearTimeout(askingAgain);
  try {
    const wanted = { claim_id: claimId(), ahead: current !== null };
    const claimed = await call("POST", `/projects/${data.project}/labelling/claim/`, wanted);
    [isUnanswered, spare] = [false, []];
    if (take(claimed, wanted.claim_id)) return;
    newClaim(); // that one was labelled meanwhile
    if (!current && claimId() !== wanted.claim_id) await claim(); // a full store keeps the old id
  } catch (error) {
    const isRefused = error instanceof Problem && !isPassing(error) && !isSignedOut(error);
    const { code, message, remedy, body } = /** @type {Problem} */ (error);
    if (isRefused) [isUnanswered, spare, nothing] = [false, [], { code, message, remedy, details: body }];
    if (isPassing(error)) {
      nothing = null;
      unanswered();
    }
    if (current) return;
    if (isRefused) showNothing(/** @type {Nothing} */ (nothing));
    else if (isSignedOut(error)) saySignedOut();
    else askingAgain = setTimeout(() => current ?? claimAhead(), ASK_AGAIN_MS * (0.75 + Math.random() / 2));
  }
}

/** What an earlier page had ready is next; without any, the page says so once. */
function unanswered() {
  const isNew = !isUnanswered;
  isUnanswered = true;
  const usable = spare.filter((one) => schemas.has(one.schema) && Date.parse(one.lease_until) > Date.now());
  spare = [];
  for (const assignment of usable) take(assignment, assignment.claim ?? "");
  if (isNew && !current && !nothing)
    showNothing({ code: "loading", message: gettext("The next dialogue is on its way."), remedy: "" });
}

/** @param {Nothing} why */
function showNothing(why) {
  drafts?.end();
  [drafts, current] = [null, null];
  clearTimeout(ticking);
  const holder = byId("nothing");
  const isOffline = why.code === "loading" && isAway();
  const { code, message, remedy, details } = isOffline
    ? {
        code: "offline",
        message: gettext("No more dialogues lie ready in this browser."),
        remedy: gettext("The next one comes by itself when the connection is back."),
        details: undefined,
      }
    : why;
  const way = code === "all_done" && details?.open ? "too_many_open" : code;
  const known = [...holder.querySelectorAll("[data-codes]")].some((one) =>
    one.getAttribute("data-codes")?.split(" ").includes(way),
  );
  for (const one of holder.querySelectorAll("[data-codes], [data-way]")) {
    const codes = (one.getAttribute("data-codes") ?? one.getAttribute("data-way") ?? "").split(" ");
    /** @type {HTMLElement} */ (one).hidden = !codes.includes(known ? way : "other");
  }
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (holder.querySelector(`[data-${name}]`));
  part("title").textContent = message;
  part("text").textContent = remedy;
  const until = details?.until && new Date(details.until);
  part("more").textContent = until
    ? format(gettext("The first of them becomes free, if it is not finished, at {when}."), {
        when: clock(until).slice(-5),
      })
    : "";
  const test = holder.querySelector("a[data-way=admission_needed]");
  if (test instanceof HTMLAnchorElement && details?.url) test.href = details.url;
  // What is said of a dialogue goes with it; of others that were sent it is said here.
  for (const cause of ["state", "conflict", "elsewhere"]) say(cause, null);
  holder.append(byId("notices"));
  byId("panes").hidden = true;
  byId("floor").hidden = true;
  byId("task").textContent = "";
  holder.hidden = false;
  part("title").focus();
  showHead();
  void showWaiting();
  if (code !== "loading" && code !== "offline") void offerConfirmations();
  history.replaceState(null, "", data.urls.next);
}

/** Nothing of the present dialogue is to be sent; another takes its place. @param {Assignment | null} [next] */
function goOn(next = null) {
  const gone = current?.assignment.id;
  cancel();
  drafts?.end({ forget: true });
  [drafts, current] = [null, null];
  if (gone) void forget(gone);
  take(next);
  if (!current) showNext();
  if (!current)
    showNothing(nothing ?? { code: "loading", message: gettext("The next dialogue is on its way."), remedy: "" });
  if (!current && !nothing) void claimAhead();
}

// ---- undo and revisions ----------------------------------------------------------------------------------------------

async function undo() {
  if (isSubmitAsked) {
    cancel(gettext("Not submitted."));
    return;
  }
  if (current && questions.undo()) return;
  const last = past.pop();
  if (last) await takeBack(last);
  else (await leaving()).openLast(bench);
}

/** @param {Sent} sent */
async function takeBack({ task, item, answers, note: said, isRefused }) {
  const before = current;
  const isUnsent = await outbox.withdraw(item);
  if (isUnsent && !task.isRevision && !isRefused) count(-1);
  // Its time begins when the one before it is sent.
  if (before) putBack(isUnsent ? { ...before, dueAt: null } : before);
  if (!isUnsent) task.assignment = { ...task.assignment, state: "submitted" };
  await show({ ...task, isRevision: task.isRevision || !isUnsent }, { answers, note: said });
  drafts?.keep();
  void toast(
    isUnsent
      ? gettext("The last submission was taken back before it was sent.")
      : gettext("The last submission is open again; submit it as a correction."),
  );
}

/** What is shown comes next again; what was submitted already does not. @param {Task} task */
function putBack(task) {
  drafts?.keep();
  if (!task.isRevision) ahead.unshift(task);
}

/** Open something that was submitted before, or refused. @param {number} id  @param {{ answers?: Answers, note?: string }} [with_] */
async function reopen(id, with_) {
  if (current?.assignment.id === id && !with_) return;
  const assignment = await call("GET", `/labelling/${id}/`);
  if (current && current.assignment.id !== id) putBack(current);
  ahead = ahead.filter((task) => task.assignment.id !== id);
  await show(taskOf(assignment), with_);
  if (with_) drafts?.keep();
}

// ---- what the server says --------------------------------------------------------------------------------------------

/** Something has waited long enough to be worth a word. */
async function showWaiting() {
  const own = (await outbox.items()).filter((item) => item.lane === lane && !item.problem);
  if (!navigator.onLine) sayOffline();
  if (own.length > 0 && outbox.isVolatile())
    say("volatile", {
      tone: "warn",
      text: gettext("This browser cannot keep unsent answers on disk."),
      remedy: gettext("Keep this tab open until everything is sent."),
    });
  const holder = byId("nothing");
  const more = holder.querySelector("[data-more]");
  if (!holder.hidden && more && own.length > 0 && isAway())
    more.textContent = format(
      ngettext("{n} submission waits here and is not lost.", "{n} submissions wait here and are not lost.", own.length),
      { n: own.length },
    );
}

/** @param {outbox.Event} event */
function onOutbox(event) {
  if (event.kind === "waiting") {
    void showWaiting();
    if (event.signedOut) saySignedOut();
    else unanswered();
    return;
  }
  if (event.item.lane !== lane || event.item.owner !== outbox.owner) return;
  if (event.kind === "stored") onStored(event.item, event.answer);
  else if (event.kind === "refused") onRefused(event.item);
}

/** It does not count any more, once. @param {outbox.Item} item */
function onRefused(item) {
  const sent = past.find((one) => one.item === item.id);
  if (sent && !sent.isRefused && !sent.task.isRevision) {
    sent.isRefused = true;
    count(-1);
    showHead();
  }
  void showRefused();
}

/** @param {outbox.Item} item  @param {any} answer */
function onStored(item, answer) {
  [isUnanswered, spare] = [false, []];
  for (const cause of ["connection", "signed-out", "error"]) say(cause, null);
  Object.assign(today, answer.today);
  const sent = past.find((one) => one.item === item.id);
  if (sent) {
    const { revision, stored_at } = answer.submission;
    const submission = { id: item.id, revision, answers: sent.answers, note: sent.note, stored_at };
    sent.task.assignment = {
      ...sent.task.assignment,
      ...answer.assignment,
      task_state: answer.task_state,
      submission,
      draft: null,
    };
  }
  void forget(item.assignment);
  if (!sent) storedElsewhere(item, answer);
  if (answer.task_state === "confirming") void offerConfirmations();
  // What another tab has claimed is for that tab, unless this one has nothing.
  if (sent || !current) take(answer.next, /** @type {string | undefined} */ (item.sent.next_claim));
  if (answer.nothing) nothing = answer.nothing;
  if (!current && ahead.length === 0) {
    if (answer.nothing) showNothing(answer.nothing);
    else if (item.sent.next_claim) void claimAhead();
  }
  showHead();
}

/** By another tab, or before a reload: here it is not next any more. @param {outbox.Item} item  @param {any} answer */
function storedElsewhere(item, answer) {
  ahead = ahead.filter((task) => task.assignment.id !== item.assignment);
  keepTasks();
  if (current?.assignment.id !== item.assignment || current.isRevision) return;
  current.isRevision = true;
  current.assignment = { ...current.assignment, ...answer.assignment, task_state: answer.task_state };
  showState();
  say("elsewhere", {
    tone: "warn",
    text: gettext("You submitted this dialogue in another tab."),
    remedy: gettext("What you submit here replaces those answers."),
  });
}

/** Dialogues that the person and somebody else answered differently. */
async function offerConfirmations() {
  const address = `/projects/${data.project}/confirmations/`;
  const found = await call("GET", address).catch(() => ({ results: [] }));
  const waiting_ = found.results.filter((/** @type {Assignment} */ one) => one.id !== current?.assignment.id);
  for (const control of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-confirm]"))) {
    control.hidden = waiting_.length === 0;
    const said = control.querySelector("[data-words]");
    if (said)
      said.textContent = format(ngettext("{n} to confirm", "{n} to confirm", waiting_.length), { n: waiting_.length });
    control.onclick = () => void reopen(waiting_[0].id).catch(sayError);
  }
}

/** Submissions that the server does not store come back, each with its answers. */
async function showRefused() {
  const refused = (await outbox.items()).filter((item) => item.lane === lane && item.problem);
  const [item] = refused;
  if (!item?.problem) {
    say("refused", null);
    return;
  }
  const { message, remedy } = item.problem;
  const quoted = document.createElement("q");
  quoted.textContent = item.text;
  quoted.dir = "auto";
  const actions = [{ label: gettext("Open it"), run: () => void openRefused(item) }];
  say("refused", {
    tone: "bad",
    text: message || gettext("A submission was not stored."),
    remedy,
    more: [quoted],
    actions,
  });
}

/** @param {outbox.Item} item */
async function openRefused(item) {
  const { answers, note: said } = /** @type {{ answers: Answers, note: string }} */ (item.sent);
  try {
    await reopen(item.assignment, { answers, note: said });
    await outbox.remove([item]); // its answers lie in this browser's draft now
    await showRefused();
  } catch (error) {
    sayError(error);
  }
}

// ---- drafts ----------------------------------------------------------------------------------------------------------

/** @param {any} theirs */
function chooseDraft(theirs) {
  const done_ = (/** @type {() => void} */ run) => () => {
    say("conflict", null);
    run();
  };
  const mine = drafts;
  say("conflict", {
    tone: "warn",
    text: gettext("The answers to this dialogue were changed in another tab or on another device."),
    actions: [
      { label: gettext("Keep these"), run: done_(() => mine?.keepMine(theirs.version)) },
      { label: gettext("Take the ones there"), run: done_(() => void takeTheirs(theirs)) },
    ],
  });
}

/** @param {{ answers: Answers, note: string, version: number }} theirs */
function takeTheirs(theirs) {
  if (!drafts) return;
  drafts.held = false;
  questions.load(theirs.answers);
  note.value = theirs.note;
  drafts.moved(theirs.version, theirs);
  showLeft();
}

/** Nothing was answered here; what another device answered is shown. */
async function takeOther() {
  const own = current?.assignment.id;
  const full = await call("GET", `/labelling/${own}/`).catch(() => null);
  if (full?.draft && current?.assignment.id === own) takeTheirs(full.draft);
}

// ---- leaving, holding, keeping -----------------------------------------------------------------------------------------

/** What the modules that are loaded on need get of this one. */
const bench = {
  project: data.project,
  urls: data.urls,
  current: () => current?.assignment ?? null,
  sayError,
  reopen,
  finishDraft: async () => drafts?.finish(),
  claimId,
  hasNext: () => ahead.length > 0,
  describe,
  /** A dialogue was left; another takes its place. @param {number} id  @param {any} answer */
  left: (id, answer) => {
    if (answer.nothing) nothing = answer.nothing;
    if (current?.assignment.id === id) goOn(answer.next);
    else take(answer.next);
  },
};

/** Answers about a dialogue in the words of its questions. @param {Answers} answers */
function describe(answers) {
  const content = [...schemas.values()].at(-1);
  const lang = document.documentElement.lang.startsWith("zh") ? "zh" : "en";
  const said = Object.entries(answers.dialogue).map(([key, value]) => {
    const options = content?.questions.find((question) => question.key === key)?.options ?? [];
    return [value].flat().map((one) => options.find((option) => option.value === one)?.text[lang] ?? String(one));
  });
  return said.flat().join(" · ");
}

/** While the person is active the leases are renewed, well before they end. */
function holdLeases() {
  const ends = [current, ...ahead]
    .filter((task) => task !== null)
    .map((task) => Date.parse(task.assignment.lease_until));
  const span = Math.min(...ends, Date.now() + 900_000) - Date.now();
  setTimeout(
    async () => {
      if (activity.inputs > 0)
        for (const task of [current, ...ahead]) if (task?.assignment.state === "active") await renew(task);
      activity.inputs = 0;
      keepTasks();
      holdLeases();
    },
    Math.min(Math.max(span / 3, 20_000), 300_000),
  );
}

/** @param {Task} task */
async function renew(task) {
  try {
    const { lease_until, state } = await call("POST", `/assignments/${task.assignment.id}/renew/`, {});
    Object.assign(task.assignment, { lease_until, state });
  } catch (error) {
    const isGone = error instanceof Problem && !isPassing(error) && !isSignedOut(error);
    if (isGone && task === current) say("refused", { tone: "bad", text: error.message, remedy: error.remedy });
    else if (isGone) ahead = ahead.filter((one) => one !== task);
  }
}

const addressOf = (/** @type {number} */ id) => `/api/v1/labelling/${id}/`;
const cache = () => ("caches" in globalThis ? caches.open(KEPT).catch(() => undefined) : undefined);

/** What lies ready is kept for a reload without network. */
async function keepTasks() {
  document.documentElement.dataset.ahead = String(ahead.length);
  const kept = await cache();
  for (const task of [current, ...ahead]) {
    if (task)
      await kept
        ?.put(addressOf(task.assignment.id), new Response(JSON.stringify(task.assignment)))
        .catch(() => undefined);
  }
}

/** @param {number} id */
async function forget(id) {
  await (await cache())?.delete(addressOf(id));
}

/** What was kept and not submitted since. @param {Set<number>} sent  @returns {Promise<Assignment[]>} */
async function keptTasks(sent) {
  const kept = await cache();
  const requests =
    (await kept?.keys())?.filter(({ url }) => /\/api\/v1\/labelling\/\d+\/$/.test(new URL(url).pathname)) ?? [];
  const found = await Promise.all(requests.map(async (request) => (await kept?.match(request))?.json()));
  const own = found.filter((assignment) => assignment?.project === data.project);
  for (const { id } of own) if (sent.has(id)) await forget(id);
  return own.filter(({ id }) => !sent.has(id));
}

// ---- keys and controls -----------------------------------------------------------------------------------------------

/** @type {Record<string, () => unknown>} */
const ACTS = {
  next: () => questions.move(1),
  back: () => questions.move(-1),
  clear: () => questions.clear(),
  guide: () => questions.toggleGuide(),
  expand: () => questions.expand(),
  theirs: () => questions.takeTheirs(),
  mine: () => questions.keepMine(),
  undo: () => void undo(),
};

function closePopover() {
  const open = document.querySelector(":popover-open");
  if (open instanceof HTMLElement) open.hidePopover();
}

/** @param {string} how */
async function leave(how) {
  try {
    const module = await leaving();
    await module[/** @type {"save" | "skip" | "giveBack" | "previous"} */ (how)](bench);
  } catch (error) {
    sayError(error);
  }
}

/** @param {KeyboardEvent} event  a text has its own undo, and Escape leaves it */
function onFieldKey(event) {
  if (!isTyping(event.target)) return;
  if (matches(event, "mod+z") || matches(event, "mod+shift+z")) event.stopPropagation();
  if (event.key === "Escape" && event.target === note && !isSubmitAsked) note.blur();
}

function wire() {
  byId("sending").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  byId("cancel").addEventListener("click", () => cancel(gettext("Not submitted.")));
  byId("skip").addEventListener("click", () => void leave("skip"));
  byId("undo").addEventListener("click", () => {
    closePopover();
    void undo();
  });
  byId("look-again").addEventListener("click", () => void claimAhead());
  for (const control of document.querySelectorAll("[data-leaving]")) {
    control.addEventListener("click", () => {
      closePopover();
      void leave(control.getAttribute("data-leaving") ?? "");
    });
  }
  for (const control of document.querySelectorAll("[data-act]")) {
    control.addEventListener("click", () => ACTS[control.getAttribute("data-act") ?? ""]());
  }
  note.addEventListener("input", () => {
    showDraft("");
    if (isSubmitAsked) cancel(gettext("Not submitted: something changed. Submit again."));
    drafts?.keep();
  });
  byId("panes").addEventListener("keydown", onFieldKey);
  byId("theme-menu").addEventListener("beforetoggle", () => void import("../shared/theme.js"), { once: true });
  addEventListener("pagehide", () => drafts?.keep());
  addEventListener("offline", sayOffline);
  addEventListener("online", () => {
    say("connection", null);
    if (!current || ahead.length === 0) void claimAhead();
  });
  outbox.listen(onOutbox);
}

/** Who only looks at the page takes no dialogue from the others: the next is claimed when the work begins. */
function claimWhenBegun() {
  const begin = () => {
    for (const name of ["keydown", "pointerdown"]) removeEventListener(name, begin, true);
    if (ahead.length === 0) void claimAhead();
  };
  for (const name of ["keydown", "pointerdown"]) addEventListener(name, begin, true);
}

// ---- begin -----------------------------------------------------------------------------------------------------------

/** The dialogue of the address, whatever page the cache gave; else one that lies ready; else the next. */
async function start() {
  wire();
  const waiting_ = (await outbox.items()).filter((item) => item.lane === lane);
  const unsent = waiting_.filter((item) => !item.problem);
  const sent = new Set(unsent.map((item) => item.assignment));
  const wanted = Number(/\/label\/(\d+)\/$/.exec(location.pathname)?.[1] ?? 0);
  const found = await keptTasks(sent);
  if (waiting_.some((item) => item.problem)) void showRefused();
  const later = unsent.filter((item) => item.made_at > data.made_at).map((item) => item.assignment);
  for (const _each of new Set(later)) count(1); // a kept page is older than these
  const given = /** @type {Assignment | null} */ (data.assignment);
  let first = given && (!wanted || given.id === wanted) && !sent.has(given.id) ? given : null;
  if (first && (await outbox.confirmedSince(first.id, first.touched_at)).length > 0) first = null;
  first ??= wanted && !sent.has(wanted) ? await fetched(wanted, found) : null;
  spare = found.filter(({ id }) => id !== first?.id);
  if (first) await show(taskOf(first));
  else await claimFirst();
  keepTasks();
  holdLeases();
  claimWhenBegun();
  void showWaiting();
  void outbox.keepPage(data.files).catch(() => undefined);
}

/** Not for the blink of an eye that a claim normally takes, something is said while it is on its way. */
async function claimFirst() {
  const loading = () =>
    current ||
    nothing ||
    showNothing({ code: "loading", message: gettext("The next dialogue is on its way."), remedy: "" });
  const later = setTimeout(loading, LOADING_AFTER_MS);
  await claimAhead();
  clearTimeout(later);
}

/** @param {number} id  @param {Assignment[]} found  @returns {Promise<Assignment | null>} */
async function fetched(id, found) {
  try {
    return await call("GET", `/labelling/${id}/`);
  } catch {
    return found.find((assignment) => assignment.id === id) ?? null;
  }
}

await start();
document.documentElement.dataset.ready = "true";
