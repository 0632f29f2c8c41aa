// @ts-check
/**
 * The labelling workbench: a queue of dialogues and the state that all parts share (queue.js), the questions about the
 * dialogue that is shown (questions/), the answers to them (answers.js), and what the page says around it (view.js).
 */
import { call } from "../shared/api.js";
import { Activity } from "../shared/drafts.js";
import { isTyping, matches } from "../shared/keys.js";
import * as outbox from "../shared/outbox.js";
import { confirmedSince, owner } from "../shared/outbox_store.js";
import { byId, closePopover, createElement, gettext } from "../shared/page.js";
import { Editor, Sender } from "./answers.js";
import { Questions, questionCommands, wireCommands } from "./questions/questions.js";
import {
  forgetAssignment,
  forgetGone,
  holdLeases,
  keptAssignments,
  loadingReason,
  newTask,
  Queue,
  State,
  startFloor,
} from "./queue.js";
import { Notices, offerConfirmations, showConfirmations, showEmptyPage, View } from "./view.js";

/**
 * @typedef {import("./answers.js").Labels} Labels
 * @typedef {import("./queue.js").Answers} Answers
 * @typedef {import("./queue.js").Assignment} Assignment
 * @typedef {import("./queue.js").EmptyReason} EmptyReason
 * @typedef {import("./queue.js").PageData} PageData
 * @typedef {import("./queue.js").SubmittedTask} SubmittedTask
 * @typedef {import("./queue.js").Task} Task
 */

const LOADING_AFTER_MS = 400; // a claim normally takes less

export class Workbench {
  activity = new Activity();
  /** @type {Promise<void>} */
  #showing = Promise.resolve();

  /** @param {PageData} data */
  constructor(data) {
    this.data = data;
    this.state = new State(data);
    this.notices = new Notices(data.urls.login);
    this.questions = new Questions({
      turns: byId("turns"),
      panel: byId("questions"),
      onChange: (path, value) => this.#onAnswer(path, value),
      onActive: (slot) => byId("panes").toggleAttribute("data-beside", slot !== null && slot.position !== null),
      onDone: () => byId("submit").focus({ preventScroll: true }),
    });
    this.editor = new Editor(this, this.questions, /** @type {HTMLTextAreaElement} */ (byId("note")));
    this.view = new View(this);
    this.queue = new Queue(this);
    this.sender = new Sender(this);
  }

  // ---- what is shown -----------------------------------------------------------------------------------------------

  /** @param {Task} task  @param {Labels} [labels]  in place of what lies in drafts */
  show(task, labels) {
    this.#showing = this.#show(task, labels);
    return this.#showing;
  }

  /** Resolves when the dialogue that is on its way is shown, or could not be. */
  async shown() {
    await this.#showing.catch(() => undefined);
  }

  /** @param {Task} task  @param {Labels} [labels] */
  async #show(task, labels) {
    const { state, view } = this;
    const { assignment } = task;
    // No await if the schema is known: callers rely on `current` right after the call.
    const schema = state.schemas.get(assignment.schema) ?? (await state.fetchSchema(assignment));
    this.sender.cancel();
    this.editor.close();
    this.#forgetMessages();
    state.current = task;
    state.emptyReason = null;
    this.editor.open(task, schema, labels);
    startFloor(task);
    view.showPanes();
    this.questions.begin();
    if (assignment.stage === "confirmation") void offerConfirmations(this);
    view.showAddress(assignment);
    view.showHead();
    view.showState();
    view.showDraftState("");
    view.countDown();
  }

  /** Show the page between dialogues. @param {EmptyReason} reason */
  showEmpty(reason) {
    this.editor.close();
    this.state.current = null;
    this.view.stopCountDown();
    this.notices.hide("state", "goals");
    this.#forgetMessages();
    const code = showEmptyPage(reason, this.state.isAway);
    this.view.showHead();
    void this.sender.showWaiting();
    if (code !== "loading" && code !== "offline") void offerConfirmations(this);
    history.replaceState(null, "", this.state.urls.next);
  }

  /** What was said about the dialogue before. */
  #forgetMessages() {
    this.notices.hide("conflict", "elsewhere", "lease", "error");
    byId("live").textContent = "";
  }

  /** Leave the current dialogue without submitting it, and show another one. @param {Assignment | null} [next] */
  skipCurrent(next = null) {
    const { state, queue } = this;
    const id = state.current?.assignment.id;
    this.sender.cancel();
    this.editor.close({ forget: true });
    state.current = null;
    if (id) void forgetAssignment(id);
    queue.add(next);
    if (!state.current) queue.showNext();
    if (state.current) return;
    if (!state.emptyReason) void queue.claimAhead();
    this.showEmpty(state.emptyReason ?? loadingReason());
  }

  /** Open what was submitted before, or refused. @param {number} id  @param {Labels} [labels] */
  async reopen(id, labels) {
    const { state } = this;
    if (state.current?.assignment.id === id && !labels) return;
    const assignment = await call("GET", `/labelling/${id}/`);
    if (state.current?.assignment.id !== id) this.sender.sendPending();
    await this.shown(); // it would replace the one that is opened here
    if (state.current && state.current.assignment.id !== id) this.queue.putBack(state.current);
    state.dropAhead(id);
    await this.show(newTask(assignment), labels);
    if (labels) this.editor.keepDraft();
  }

  /** Take up a dialogue again that was given back, or whose lease ended. */
  async takeUpAgain() {
    const id = this.state.current?.assignment.id;
    if (!id) return;
    try {
      await call("POST", `/assignments/${id}/resume/`, {});
      this.notices.hide("state", "refused");
      const labels = { answers: this.questions.answers, note: this.editor.note.value };
      await this.show(newTask(await call("GET", `/labelling/${id}/`)), labels);
    } catch (error) {
      this.notices.showError(error);
    }
  }

  /** A dialogue was skipped. @param {number} id  @param {{ next?: Assignment | null, nothing?: EmptyReason }} answer */
  onSkipped(id, { next, nothing }) {
    if (nothing) this.state.emptyReason = nothing;
    if (this.state.current?.assignment.id === id) this.skipCurrent(next);
    else {
      this.state.dropAhead(id);
      void forgetAssignment(id);
      this.queue.add(next);
    }
  }

  // ---- what the person does ----------------------------------------------------------------------------------------

  /** @param {string} path  @param {import("./questions/answer_sheet.js").Value | undefined} value */
  #onAnswer(path, value) {
    const isLong = typeof value === "string" && value.length > 40;
    this.activity.record(value === undefined ? "clear" : "answer", isLong ? { path } : { path, value });
    this.#onEdit();
    this.view.showLeft();
  }

  #onEdit() {
    this.view.showDraftState("");
    this.sender.cancel(gettext("Not submitted: something changed. Submit again."));
    this.editor.keepDraft();
  }

  /** @param {string} how  "skip", "save", "giveBack" or "previous" */
  async #leave(how) {
    if (how !== "previous") this.sender.cancel(gettext("Not submitted."));
    try {
      const dialogs = await import("./leaving_dialogs.js");
      await dialogs[/** @type {"save" | "skip" | "giveBack" | "previous"} */ (how)](this);
    } catch (error) {
      this.notices.showError(error);
    }
  }

  #wireControls() {
    const undo = () => void this.sender.undo();
    byId("sending").addEventListener("submit", (event) => {
      event.preventDefault();
      this.sender.submit();
    });
    byId("cancel").addEventListener("click", () => this.sender.cancel(gettext("Not submitted.")));
    byId("skip").addEventListener("click", () => void this.#leave("skip"));
    byId("look-again").addEventListener("click", () => void this.queue.claimAhead());
    byId("undo").addEventListener("click", () => {
      closePopover();
      undo();
    });
    for (const control of document.querySelectorAll("[data-leaving]")) {
      control.addEventListener("click", () => {
        closePopover();
        void this.#leave(control.getAttribute("data-leaving") ?? "");
      });
    }
    wireCommands({ ...questionCommands(this.questions), undo });
    wireNoteKeys(this.editor.note, this.state);
    this.editor.note.addEventListener("input", () => this.#onEdit());
    byId("theme-menu").addEventListener("beforetoggle", () => void import("../shared/theme.js"), { once: true });
  }

  #listen() {
    addEventListener("pagehide", () => {
      this.sender.sendPending({ isLast: true });
      this.editor.keepDraft();
    });
    addEventListener("pageshow", () => this.sender.isLeft && location.reload()); // the browser had kept the page
    addEventListener(outbox.SIGNING_OUT, () => this.sender.sendPending());
    addEventListener("offline", () => this.notices.showOffline());
    addEventListener("online", () => {
      this.notices.hide("connection");
      if (!this.state.current || this.state.ahead.length === 0) void this.queue.claimAhead();
    });
    listenToOutbox(this);
  }

  // ---- begin -------------------------------------------------------------------------------------------------------

  async start() {
    const { state, queue } = this;
    this.#wireControls();
    this.#listen();
    const items = await outbox.itemsInLane(state.lane);
    const unsent = items.filter((item) => !item.problem);
    const submitted = new Set(unsent.map((item) => Number(item.assignment)));
    const sent = new Set(items.map((item) => Number(item.assignment))); // a refused one is opened from its notice
    const kept = await keptAssignments(state.project, sent);
    if (items.length > unsent.length) void showRefused(this);
    const later = unsent.filter((item) => item.made_at > this.data.made_at);
    // A page from the cache does not count them.
    for (const id of new Set(later.map((item) => Number(item.assignment)))) state.count(1, id);
    const first = await this.#firstAssignment(submitted, kept);
    state.spare = kept.filter(({ id }) => id !== first?.id);
    if (first) await this.show(newTask(first));
    else await this.#claimFirst();
    queue.keep();
    holdLeases(this);
    queue.claimWhenWorkBegins();
    void this.sender.showWaiting();
    if (state.current?.assignment.stage === "label") showConfirmations(this, this.data.to_confirm);
    void forgetGone(state);
    void outbox.keepPage(this.data.files).catch(() => undefined);
  }

  /**
   * The dialogue of the address, whatever page the cache gave; null if the next one is to be claimed.
   * @param {Set<number>} submitted  @param {Assignment[]} kept  @returns {Promise<Assignment | null>}
   */
  async #firstAssignment(submitted, kept) {
    const addressed = Number(/\/label\/(\d+)\/$/.exec(location.pathname)?.[1] ?? 0);
    const given = this.data.assignment;
    const isOld = "fromCache" in document.documentElement.dataset; // it may have been skipped or given back since
    if (given && (!addressed || given.id === addressed) && !submitted.has(given.id)) {
      const confirmed = await confirmedSince(given.id, given.touched_at);
      if (confirmed.length === 0 && !isOld) return given;
      if (confirmed.length === 0 && !addressed) return await this.#heldAssignment(given.id, kept);
    }
    if (!addressed || submitted.has(addressed)) return null;
    return await this.#assignmentOf(addressed, kept);
  }

  /** As the server has it, or what is kept here if it does not answer. @param {number} id  @param {Assignment[]} kept  @returns {Promise<Assignment | null>} */
  async #assignmentOf(id, kept) {
    try {
      return await call("GET", `/labelling/${id}/`);
    } catch {
      return kept.find((assignment) => assignment.id === id) ?? null;
    }
  }

  /** Only while the person holds it. @param {number} id  @param {Assignment[]} kept */
  async #heldAssignment(id, kept) {
    const assignment = await this.#assignmentOf(id, kept);
    return assignment?.state === "active" ? assignment : null;
  }

  async #claimFirst() {
    const { state } = this;
    const showLoading = () => state.current ?? state.emptyReason ?? this.showEmpty(loadingReason());
    const later = setTimeout(showLoading, LOADING_AFTER_MS);
    await this.queue.claimAhead();
    clearTimeout(later);
  }
}

// ---- what the server answers ----------------------------------------------------------------------------------------

/** @param {Workbench} bench */
function listenToOutbox(bench) {
  outbox.listen((event) => {
    if (event.kind === "waiting") onWaiting(bench, event.signedOut);
    else if (event.item.lane !== bench.state.lane || event.item.owner !== owner) return;
    else if (event.kind === "stored") onStored(bench, event.item, event.answer);
    else if (event.kind === "refused") onRefused(bench, event.item);
  });
}

/** @param {Workbench} bench  @param {boolean} isSignedOut */
function onWaiting({ sender, notices, queue }, isSignedOut) {
  void sender.showWaiting();
  if (isSignedOut) void notices.showSignedOut();
  else queue.onUnanswered();
}

/** @param {Workbench} bench  @param {outbox.Item} item  @param {any} answer */
function onStored(bench, item, answer) {
  const { state, queue, notices, view } = bench;
  const id = Number(item.assignment);
  const submitted = state.submittedAs(item.id);
  state.onServerAnswer();
  notices.hide("connection", "signed-out", "error");
  state.onCounted(id, answer.today);
  if (submitted) updateSubmitted(submitted, answer);
  else onStoredElsewhere(bench, id, answer);
  void forgetAssignment(id);
  if (answer.task_state === "confirming") void offerConfirmations(bench);
  // A dialogue claimed by another tab belongs to that tab, unless this one has none.
  if (submitted || !state.current) queue.add(answer.next, /** @type {string | undefined} */ (item.sent.next_claim));
  if (answer.nothing) state.emptyReason = answer.nothing;
  if (!state.current && state.ahead.length === 0) {
    if (answer.nothing) bench.showEmpty(answer.nothing);
    else if (item.sent.next_claim) void queue.claimAhead();
  }
  view.showHead();
}

/** @param {SubmittedTask} submitted  @param {any} answer */
function updateSubmitted({ task, item, answers, note }, { assignment, task_state, submission }) {
  const { revision, stored_at } = submission;
  const stored = { id: item, revision, answers, note, stored_at };
  task.assignment = { ...task.assignment, ...assignment, task_state, submission: stored, draft: null };
}

/** Submitted by another tab, or before a reload: it is not shown next here. @param {Workbench} bench  @param {number} id  @param {any} answer */
function onStoredElsewhere({ state, queue, view, notices }, id, { assignment, task_state }) {
  const { current } = state;
  state.dropAhead(id);
  queue.keep();
  if (current?.assignment.id !== id || current.isRevision) return;
  current.isRevision = true;
  current.assignment = { ...current.assignment, ...assignment, task_state };
  view.showState();
  notices.show("elsewhere", {
    tone: "warn",
    text: gettext("You submitted this dialogue in another tab."),
    remedy: gettext("What you submit here replaces those answers."),
  });
}

/** A refused submission no longer counts. @param {Workbench} bench  @param {outbox.Item} item */
function onRefused(bench, item) {
  const { state, view } = bench;
  const submitted = state.submittedAs(item.id);
  if (submitted && !submitted.isRefused && !submitted.task.isRevision) {
    submitted.isRefused = true;
    state.count(-1, submitted.task.assignment.id);
    view.showHead();
  }
  void showRefused(bench);
}

/** Offer to open the first refused submission, with its answers. @param {Workbench} bench */
async function showRefused(bench) {
  const [item] = (await outbox.itemsInLane(bench.state.lane)).filter(({ problem }) => problem);
  if (!item?.problem) {
    bench.notices.hide("refused");
    return;
  }
  const { message, remedy } = item.problem;
  const quote = createElement("q", "", item.text);
  quote.dir = "auto";
  const text = message || gettext("A submission was not stored.");
  const actions = [{ label: gettext("Open it"), run: () => void openRefused(bench, item) }];
  bench.notices.show("refused", { tone: "bad", text, remedy, more: [quote], actions });
}

/** @param {Workbench} bench  @param {outbox.Item} item */
async function openRefused(bench, item) {
  const { answers, note } = /** @type {import("./answers.js").Labels} */ (/** @type {unknown} */ (item.sent));
  try {
    await bench.reopen(Number(item.assignment), { answers, note });
    await outbox.remove([item]); // its answers are in the draft now
    await showRefused(bench);
  } catch (error) {
    bench.notices.showError(error);
  }
}

/** In a text field the browser's own undo works, and Escape leaves the field. @param {HTMLTextAreaElement} note  @param {{ isSubmitPending: boolean }} state */
function wireNoteKeys(note, state) {
  document.getElementById("panes")?.addEventListener("keydown", (event) => {
    if (!isTyping(event.target)) return;
    if (matches(event, "mod+z") || matches(event, "mod+shift+z")) event.stopPropagation();
    if (event.key === "Escape" && event.target === note && !state.isSubmitPending) note.blur();
  });
}

await new Workbench(JSON.parse(byId("workbench").textContent ?? "")).start();
document.documentElement.dataset.ready = "true";
