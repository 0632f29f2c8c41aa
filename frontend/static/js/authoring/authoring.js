// @ts-check
/**
 * The workbench. What the person does shows at once and goes through the outbox; what the server says comes back as
 * events, in this tab or another, and corrects what is shown. Nothing typed is ever nowhere: it is in the input, in the
 * outbox, in the conversation, or among the words set aside.
 */

import { call, clock, isPassing, isSignedOut, Problem, uuid } from "../shared/api.js";
import { aside, Drafts, setAside } from "../shared/drafts.js";
import { byId, closePopover } from "../shared/elements.js";
import { format, gettext, ngettext } from "../shared/messages.js";
import { showNotice } from "../shared/notices.js";
import { keepPage } from "../shared/offline_pages.js";
import * as outbox from "../shared/outbox.js";
import { isComposing, isTyping } from "../shared/shortcuts.js";
import "./outbox_kinds.js"; // at hand when the network is not
import { Candidates } from "./candidates.js";
import { Activity, Composer } from "./composer.js";
import { Conversation, speakerOf } from "./conversation.js";

const AHEAD_PICKED_MS = 150;
const AHEAD_TYPED_MS = 600;
const UNSENT_AFTER_MS = 1500;
const TWICE_MS = 500;
const DRAFT_STATES = { saved: gettext("draft saved"), local: gettext("draft kept in this browser") };
/** @type {Record<string, { text: string, remedy: string }>} */
const STATES = {
  saved: { text: gettext("Saved for later, kept until {when}."), remedy: gettext("Write on to take it up again.") },
  expired: {
    text: gettext("This dialogue was kept for you until {when}."),
    remedy: gettext("Write on to take it up again, as long as nobody else has."),
  },
  submitted: {
    text: gettext("This dialogue is finished."),
    remedy: gettext("You can take it back as long as no expert reads it."),
  },
  reading: {
    text: gettext("This dialogue is finished, and an expert is reading it."),
    remedy: gettext("It cannot be taken back any more; the verdict appears in your queue."),
  },
  passed: {
    text: gettext("Experts passed this dialogue."),
    remedy: gettext("It is in the data and cannot be taken back."),
  },
  vetoed: {
    text: gettext("An expert vetoed this dialogue."),
    remedy: gettext("It is out of the data and cannot be taken back. The reason is above."),
  },
  released: {
    text: gettext("You gave this dialogue back."),
    remedy: gettext("You can take it up again as long as nobody else has."),
  },
};

const data = JSON.parse(byId("workbench").textContent ?? "");
/** @type {{ id: number, project: string, state: string, lease_until: string, touched_at: string }} */
let assignment = data.assignment;
const { settings } = data.assignment;
/** @type {import("./conversation.js").Utterance[]} */
let turns = data.assignment.dialogue.utterances;
let isOpen = !data.closed;
let sentAt = Number.NEGATIVE_INFINITY;

const activity = new Activity();
const form = /** @type {HTMLFormElement} */ (byId("composer"));
const buttons = Object.fromEntries(
  ["submit", "undo", "clear", "finish"].map((name) => [name, /** @type {HTMLButtonElement} */ (byId(name))]),
);
const conversation = new Conversation({ lang: data.lang, leastRounds: settings.min_rounds });

/** @type {Composer} */
const composer = new Composer({
  form,
  limit: settings.max_utterance_length,
  submitOnEnter: data.submit_on_enter,
  shown: () => candidates.shown(),
  onChange,
  onPick: (place) => candidates.pick(place) || candidates.wish(place),
  onSubmit: () => void submit(),
  onUndoTurn: () => void undo(),
});

/** @type {Candidates} */
const candidates = new Candidates({
  panel: byId("candidates"),
  lang: data.lang,
  assignment: assignment.id,
  topics: data.topics,
  settings,
  onPick: (text, source, place) => {
    activity.note(source ? "pick" : "idea", source ? { set: source.set, source: source.place } : { idea: place });
    composer.fill(text, source, place);
  },
  onShown: (what) => activity.note("shown", what),
  onAsked: (ordinal) => activity.note("new_set", { ordinal }),
});

const drafts = new Drafts({
  assignment: assignment.id,
  stored: data.assignment.draft,
  read: () => ({ position: turns.length, text: composer.field.value, source: composer.source }),
  time: () => activity.report(),
  onState: (state) => composer.showDraft(composer.text && isOpen ? DRAFT_STATES[state] : ""),
  onConflict: (theirs) => void chooseDraft(theirs),
  onOther: () => void reload(),
  onSignedOut: saySignedOut,
});

/** What the modules that are loaded on need get of this one. */
const bench = {
  id: assignment.id,
  project: assignment.project,
  urls: data.urls,
  showToday,
  composer,
  isBusy,
  adopt,
  sayError,
  leave: setAssignment,
};
const leavingDialogs = () => import("./leaving_dialogs.js");
const setAsideModule = () => import("./set_aside.js");
/** @param {string} text */
const say = async (text) => (await import("../shared/toast.js")).toast(text);

// ---- what is seen ----------------------------------------------------------------------------------------------------

function isBusy() {
  return turns.some((turn) => turn.isPending);
}

function show() {
  conversation.show(turns, isOpen);
  composer.field.readOnly = !isOpen;
  form.toggleAttribute("data-closed", !isOpen);
  for (const control of [buttons.submit, buttons.clear]) control.disabled = !isOpen;
  buttons.undo.disabled = !isOpen || turns.length === 0;
}

/** As the server counts it. @param {{ finished: number, goal: number }} today */
function showToday({ finished, goal }) {
  byId("today").textContent = format(gettext("{n} of {goal} today"), { n: finished, goal });
}

/** @param {unknown} error  @param {string} [cause] */
function sayError(error, cause = "error") {
  if (error instanceof Problem)
    showNotice(cause, {
      tone: "bad",
      text: error.message || gettext("That did not work. Nothing was changed."),
      remedy: error.remedy,
    });
  else
    showNotice(cause, {
      tone: "warn",
      text: gettext("No connection."),
      remedy: gettext("That did not work. Nothing was changed."),
    });
}

function showState() {
  const when = clock(assignment.lease_until);
  const { state } = assignment;
  isOpen = state === "active" || state === "saved" || state === "expired";
  showNotice("state", null);
  if (state === "active") return;
  // What experts have judged or are reading cannot be taken back.
  const said = (state === "submitted" && data.decision) || state;
  const text = format(STATES[said].text, { when });
  const run = () =>
    void leavingDialogs().then(({ takeUp }) => takeUp(bench, state === "submitted" ? "take-back" : "resume"));
  const actions =
    isOpen || said !== state
      ? []
      : [{ label: state === "submitted" ? gettext("Take it back") : gettext("Take it up again"), run }];
  showNotice("state", { tone: "", text, remedy: STATES[said].remedy, actions });
}

/** A turn that this browser has sent off and the server has not confirmed. @param {number} position */
const pendingTurn = (position, /** @type {string} */ text, /** @type {string} */ id) => ({
  ...{ position, speaker: speakerOf(position), text, turn_id: id, isPending: true },
  ...{ action: "", source: null, edit_distance: null },
});

/** @param {string[]} texts  words that must stay within reach */
async function putAside(texts) {
  setAside(assignment.id, [...aside(assignment.id), ...texts.filter((text) => text.trim())]);
  if (aside(assignment.id).length > 0) (await setAsideModule()).showAside(bench);
}

// ---- writing ---------------------------------------------------------------------------------------------------------

/** @type {ReturnType<typeof setTimeout> | undefined} */
let ahead;
let aheadText = "";

/** @param {"typed" | "picked" | "cleared"} why */
function onChange(why) {
  if (why === "cleared") activity.note("clear");
  if (why !== "picked") candidates.forgetWish();
  candidates.mark(composer.source);
  drafts.keep();
  composer.showDraft("");
  clearTimeout(ahead);
  ahead = setTimeout(generateAhead, why === "picked" ? AHEAD_PICKED_MS : AHEAD_TYPED_MS);
}

/** The draft rests: its candidates can be made before it is sent. Harmless when it fails. */
function generateAhead() {
  const { text } = composer;
  if (!settings.generate_ahead || !isOpen || !text || text === aheadText || isBusy() || !navigator.onLine) return;
  aheadText = text;
  call("POST", `/assignments/${assignment.id}/ahead/`, { text }).catch(() => undefined);
}

async function submit() {
  const { text } = composer;
  if (!isOpen) return;
  if (!text || [...text].length > settings.max_utterance_length) {
    if (performance.now() - sentAt > TWICE_MS)
      composer.show(text ? "" : gettext("Write something, or pick a candidate."));
    return;
  }
  const { action, set, place, distance } = composer.derive();
  const id = uuid();
  const [from, position] = [composer.source, turns.length];
  // Without a pick the set that is looked at still goes along: the text may equal one of its candidates.
  const sent = { id, position, text, candidate_set: set ?? candidates.present, source: place, ...activity.report() };
  turns.push({ ...pendingTurn(position, text, id), action, source: place, edit_distance: distance, from });
  sentAt = performance.now();
  begin({ forget: true });
  conversation.toEnd();
  showNotice("conflict", null);
  drafts.held = true; // until the outbox has the words, this browser's copy keeps them
  try {
    await enqueue({ id, kind: "turn", position, text, sent });
  } catch (error) {
    turns.pop();
    begin({ text, source: from });
    sayError(error, "volatile");
  }
  drafts.held = false;
  drafts.keep();
}

/** @param {Pick<outbox.Item, "id" | "kind" | "position" | "text" | "sent">} item */
function enqueue(item) {
  return outbox.enqueue({ ...item, assignment: assignment.id, url: location.pathname, made_at: Date.now() });
}

/** Of this turn alone: an earlier turn's must not speak during this one. @type {ReturnType<typeof setTimeout> | undefined} */
let unsent;

/** Another turn is written from now on. @param {{ text?: string, source?: Composer["source"], forget?: boolean }} [how] */
function begin({ text = "", source = null, forget = false } = {}) {
  clearTimeout(ahead);
  aheadText = "";
  activity.begin();
  candidates.begin(turns.length, { isOpen, forget });
  composer.load(text, source);
  candidates.mark(source);
  show();
  clearTimeout(unsent);
  unsent = setTimeout(showWaiting, navigator.onLine ? UNSENT_AFTER_MS : 0);
}

function sayOffline() {
  showNotice("connection", {
    tone: "warn",
    text: gettext("No connection."),
    remedy: gettext("Go on writing: everything is kept in this browser and sent, in order, when it is back."),
  });
}

/** Something has waited long enough to be worth a word. */
function showWaiting() {
  if (!navigator.onLine) {
    sayOffline();
    candidates.showUnsent();
  }
  if (!isBusy()) return;
  if (turns.at(-1)?.isPending) candidates.showUnsent();
  if (outbox.isVolatile())
    showNotice("volatile", {
      tone: "warn",
      text: gettext("This browser cannot keep unsent turns on disk."),
      remedy: gettext("Keep this tab open until everything is sent."),
    });
}

/** Turns taken back here; the answer to their sending may still arrive. @type {Set<string>} */
const undone = new Set();

async function undo() {
  const last = turns.at(-1);
  if (!isOpen || !last) return;
  if (!last.turn_id) {
    composer.show(gettext("There is no turn to undo."));
    return;
  }
  if (composer.text && !composer.holdsUntouchedPick) void putAside([composer.text]);
  turns.pop();
  undone.add(last.turn_id);
  begin({ text: last.text, source: last.from ?? null });
  composer.field.focus();
  composer.field.setSelectionRange(last.text.length, last.text.length);
  drafts.keep();
  void say(gettext("Turn undone; its words are in the input."));
  if (last.isPending && (await outbox.withdraw(last.turn_id))) return;
  const { position, text, turn_id } = last;
  await enqueue({ id: uuid(), kind: "undo", position, text, sent: { turn_id } });
}

// ---- what the server says --------------------------------------------------------------------------------------------

/** @param {outbox.Event} event */
function onOutbox(event) {
  if (event.kind === "waiting") {
    showWaiting();
    if (event.signedOut) saySignedOut();
    return;
  }
  if (event.item.assignment !== assignment.id) return;
  if (event.kind === "stored" && event.item.kind === "undo") onUndone(event.item, event.answer);
  else if (event.kind === "stored") onStored(event.item, event.answer);
  else if (event.kind === "queued") onQueued(event.item);
  else if (event.kind === "refused") void onRefused();
}

/** @param {outbox.Item} item  @param {any} answer */
function onStored({ position }, { turn, request, assignment: now }) {
  for (const cause of ["connection", "signed-out", "refused", "error"]) showNotice(cause, null);
  setAssignment(now);
  if (undone.has(turn.id)) return;
  const shown = turns.find((one) => one.turn_id === turn.id);
  if (shown) Object.assign(shown, { ...turn, turn_id: turn.id, isPending: false });
  else if (position === turns.length) add({ ...turn, speaker: speakerOf(position), turn_id: turn.id });
  show();
  if (!isBusy()) drafts.moved(now.draft_version, { position: turns.length, text: "", source: null });
  candidates.take(request);
}

/** A turn that another tab wrote. What is being written here stays, unless it is the very same. @param {(typeof turns)[number]} turn */
function add(turn) {
  turns.push(turn);
  const same = composer.text === turn.text;
  begin({ text: same ? "" : composer.field.value, forget: true });
}

/** @param {outbox.Item} item */
function onQueued({ kind, id, position, text }) {
  if (kind === "undo" || turns.some((one) => one.turn_id === id) || position !== turns.length) return;
  add(pendingTurn(position, text, id));
}

/** @param {outbox.Item} item  @param {any} answer */
function onUndone({ position, text }, { request, assignment: now }) {
  setAssignment(now);
  if (position < turns.length && turns[position].turn_id === null) return;
  const isHere = turns.length === position;
  if (!isHere && !isBusy()) {
    turns = turns.slice(0, position);
    begin({ text: composer.text || text });
  }
  if (turns.length !== position) return;
  drafts.moved(now.draft_version, { position, text, source: composer.source });
  candidates.take(request);
  // Which set the undone text was started from, only the server knows after a reload.
  if (isHere && !composer.source && composer.pristine) void takeSource();
}

/** @param {typeof assignment} now */
function setAssignment(now) {
  const before = assignment.state;
  assignment = { ...assignment, ...now };
  if (assignment.state === before) return;
  showState();
  candidates.open(isOpen);
  show();
}

/** The server will not store something: show why, bring the words back, go on from what is stored. */
async function onRefused() {
  const mine = await outbox.items(assignment.id);
  const refused = mine.find((item) => item.problem);
  if (!refused?.problem) return;
  const unstored = mine.filter((item) => item.seq !== undefined && item.seq >= (refused.seq ?? 0));
  const texts = unstored.filter((item) => item.kind === "turn").map((item) => item.text);
  const [first, ...rest] = composer.text && !texts.includes(composer.text) ? ["", ...texts] : texts;
  if (first) composer.load(first);
  void putAside(rest);
  await outbox.remove(unstored);
  const gone = new Set(unstored.map((item) => item.id));
  turns = turns.filter((turn) => !turn.turn_id || !gone.has(turn.turn_id));
  const { code, message } = refused.problem;
  // What the server says to do about it, this page does by itself.
  const remedy =
    code === "written_elsewhere"
      ? gettext("Another tab or device wrote in this dialogue. This is what is stored now.")
      : refused.problem.remedy;
  showNotice("refused", {
    tone: "bad",
    text: message || gettext("A turn was not stored."),
    remedy,
    actions: code === "lease_gone" ? wayOut() : [],
  });
  await reload({ quiet: true });
  drafts.keep();
}

function wayOut() {
  return [
    {
      label: gettext("Take it up again"),
      run: () => void leavingDialogs().then(({ takeUp }) => takeUp(bench, "resume")),
    },
    { label: gettext("To the queue"), run: () => location.assign(data.urls.queue) },
  ];
}

function saySignedOut() {
  const login = `${data.urls.login}?next=${encodeURIComponent(location.pathname)}`;
  const actions = [{ label: gettext("Sign in"), run: () => location.assign(login) }];
  showNotice("signed-out", {
    tone: "warn",
    text: gettext("You are signed out."),
    remedy: gettext("Sign in again, also in another tab: what waits here is sent then."),
    actions,
  });
}

/** Show what the server has; what waits to be sent and what is in the input stay. @param {{ quiet?: boolean }} [how] */
async function reload({ quiet = false } = {}) {
  try {
    const full = await call("GET", `/assignments/${assignment.id}/`);
    adopt(full);
    if (!quiet) void say(gettext("Another tab or device wrote in this dialogue. This is what is stored now."));
  } catch (error) {
    if (!isPassing(error) && !isSignedOut(error)) sayError(error);
  }
}

/** @param {any} full  the assignment as the API gives it */
function adopt(full) {
  const pending = turns.filter((turn) => turn.isPending);
  const stored = full.dialogue.utterances;
  const position = turns.length;
  turns = [...stored, ...pending.filter((turn) => turn.position >= stored.length)];
  setAssignment(full);
  if (turns.length !== position) begin({ text: composer.field.value, forget: true });
  candidates.take(full.request);
  const { text, source } = wordsOf(full.draft);
  if (!composer.text && text) composer.load(text, source);
  candidates.mark(composer.source);
  show();
  if (full.draft) drafts.moved(full.draft.version, { position: full.draft.position, text: full.draft.text, source });
}

// ---- drafts ----------------------------------------------------------------------------------------------------------

/** The words of a stored draft, if they are for the turn that is written now. @param {any} draft */
function wordsOf(draft) {
  const isOfNow = draft && draft.position === turns.length;
  return { text: isOfNow ? draft.text : "", source: isOfNow ? sourceIn(draft.candidate_set, draft.source) : null };
}

/** @param {number | null} set  @param {number | null} place  @returns {Composer["source"]} */
function sourceIn(set, place) {
  const found = candidates.shown().find((one) => one.id === set);
  const text = place === null ? undefined : found?.texts[place];
  return found && text !== undefined && place !== null ? { set: found.id, place, text, ordinal: found.ordinal } : null;
}

/** After a reload or on another device: which candidate the words were started from. */
async function takeSource() {
  const full = await call("GET", `/assignments/${assignment.id}/`).catch(() => null);
  const draft = full?.draft;
  if (!draft || draft.source === null || draft.position !== turns.length) return;
  for (let ordinal = 0; ordinal < (full.request?.ordinal ?? 0); ordinal++) await candidates.load(ordinal);
  candidates.take(full.request);
  const source = sourceIn(draft.candidate_set, draft.source);
  if (!source || composer.source || composer.field.value !== draft.text) return;
  composer.load(draft.text, source);
  candidates.mark(source);
  drafts.moved(draft.version, { position: draft.position, text: draft.text, source });
}

/** @param {import("../shared/drafts.js").Stored} theirs */
async function chooseDraft(theirs) {
  const choice = { keepMine: () => drafts.keepMine(theirs.version), takeTheirs: () => void takeTheirs(theirs) };
  (await setAsideModule()).chooseDraft(bench, theirs.text, choice);
}

/** @param {import("../shared/drafts.js").Stored} theirs */
async function takeTheirs(theirs) {
  drafts.held = false;
  composer.load(theirs.text);
  drafts.moved(theirs.version, { position: theirs.position, text: theirs.text, source: null });
  await reload({ quiet: true });
  await takeSource();
}

// ---- keys and controls -----------------------------------------------------------------------------------------------

/** Digits pick from anywhere but a field, with Alt from there too; the input has its own rule. @param {KeyboardEvent} event */
function onDigit(event) {
  // With Alt the character differs from the key; without, Shift is what some keyboards need for digits.
  const digit = event.altKey ? /^Digit([1-9])$/.exec(event.code)?.[1] : /^[1-9]$/.exec(event.key)?.[0];
  if (!digit || event.defaultPrevented || isComposing(event) || event.ctrlKey || event.metaKey) return;
  if (document.querySelector("dialog:modal") || (isTyping(event.target) && !event.altKey)) return;
  const place = Number(digit) - 1;
  if (candidates.pick(place) || candidates.wish(place)) event.preventDefault();
}

/** @typedef {"finish" | "save" | "giveBack" | "startOver"} Leaving */

/** @param {Leaving} how */
async function leave(how) {
  try {
    await (await leavingDialogs())[how](bench);
  } catch (error) {
    sayError(error);
  }
}

function wire() {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void submit();
  });
  buttons.undo.addEventListener("click", () => void undo());
  buttons.clear.addEventListener("click", () => closePopover() || composer.clear());
  buttons.finish.addEventListener("click", () => {
    if (composer.text)
      composer.show(gettext("There are unsent words in the input. Submit or clear them, then finish."));
    else void leave("finish");
  });
  byId("too-early").addEventListener("click", () => {
    composer.show(
      format(
        ngettext(
          "{n} more round, then it can be finished.",
          "{n} more rounds, then it can be finished.",
          settings.min_rounds - Math.floor(turns.length / 2),
        ),
        { n: settings.min_rounds - Math.floor(turns.length / 2) },
      ),
    );
  });
  for (const control of document.querySelectorAll("[data-ending]")) {
    control.addEventListener("click", () => {
      closePopover();
      void leave(/** @type {Leaving} */ (control.getAttribute("data-ending")));
    });
  }
  document.addEventListener("keydown", onDigit);
  byId("theme-menu").addEventListener("beforetoggle", () => void import("../shared/theme.js"), { once: true });
  addEventListener("pagehide", () => drafts.keep());
  addEventListener("offline", sayOffline);
  addEventListener("online", () => {
    showNotice("connection", null);
    if (!isBusy() && candidates.areUnknown) void reload({ quiet: true });
  });
  outbox.listen(onOutbox);
}

// ---- holding the dialogue --------------------------------------------------------------------------------------------

/** While the person is active the lease is renewed, well before it ends. */
function holdLease() {
  const span = Date.parse(assignment.lease_until) - Date.now();
  setTimeout(
    async () => {
      const isActive = activity.inputs > 0 && assignment.state === "active";
      activity.inputs = 0;
      try {
        if (isActive) setAssignment(await call("POST", `/assignments/${assignment.id}/renew/`, {}));
      } catch (error) {
        if (error instanceof Problem && !isPassing(error) && !isSignedOut(error)) {
          showNotice("refused", { tone: "bad", text: error.message, remedy: error.remedy, actions: wayOut() });
        }
      }
      holdLease();
    },
    Math.min(Math.max(span / 3, 20_000), 300_000),
  );
}

// ---- begin -----------------------------------------------------------------------------------------------------------

/** This page may come from the cache: bring in what was stored since, what waits, and the words that lie here. */
async function start() {
  wire();
  const [confirmed, waiting] = [
    await outbox.confirmedSince(assignment.id, assignment.touched_at),
    await outbox.items(assignment.id),
  ];
  for (const { position, turn } of confirmed) {
    turns = turns.slice(0, position);
    if (turn) turns.push({ .../** @type {any} */ (turn), speaker: speakerOf(position), turn_id: turn.id });
  }
  for (const { kind, id, position, text } of waiting.filter((item) => !item.problem)) {
    turns = turns.slice(0, position);
    if (kind === "turn") turns.push(pendingTurn(position, text, id));
  }
  showState();
  restore();
  void putAside([]);
  if (waiting.some((item) => item.problem)) await onRefused();
  else if (confirmed.length > 0) await reload({ quiet: true });
  showWaiting();
  holdLease();
  void keepPage(data.files).catch(() => undefined);
}

/** The words of this turn: this browser's, the server's, or a choice between them. */
function restore() {
  const local = drafts.local();
  const { draft } = data.assignment;
  const isOfNow = local !== null && local.position === turns.length && local.text !== "";
  const lost = local?.dirty && !isOfNow && local.text.trim() ? local.text : "";
  if (lost && !turns.some((turn) => turn.text === lost.trim())) void putAside([lost]);
  candidates.begin(turns.length, { isOpen });
  if (!isBusy()) candidates.take(data.assignment.request);
  const stored = wordsOf(draft);
  const mine = isOfNow && (local.dirty || !stored.text || local.text === stored.text);
  composer.load(mine ? local.text : stored.text, mine ? local.source : stored.source);
  if (local?.position === turns.length) activity.begin(local.activity);
  candidates.mark(composer.source);
  show();
  conversation.toEnd();
  if (mine && local.dirty && stored.text && stored.text !== local.text && local.version !== draft.version) {
    drafts.held = true;
    void chooseDraft(draft);
  } else if (!composer.source && draft?.source !== null && stored.text) void takeSource();
  drafts.keep();
}

await start();
document.documentElement.dataset.ready = "true";
