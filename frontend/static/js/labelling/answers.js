// @ts-check
/**
 * The answers to the dialogue that is shown: restored, kept as a draft at every change, submitted, and taken back. They
 * are always somewhere: on the page, in the draft, in the outbox, or stored.
 */
import { call, uuid } from "../shared/api.js";
import { Drafts, LABELS } from "../shared/drafts.js";
import * as outbox from "../shared/outbox.js";
import { hasCopy, isVolatile } from "../shared/outbox_store.js";
import { byId, gettext } from "../shared/page.js";
import { toast } from "../shared/toast.js";
import { isOpen, loadingReason } from "./queue.js";
import { showUnsentCount } from "./view.js";

/**
 * @typedef {import("./queue.js").Answers} Answers
 * @typedef {import("./queue.js").SubmittedTask} SubmittedTask
 * @typedef {import("./queue.js").Task} Task
 * @typedef {{ answers: Answers, note: string }} Labels
 * @typedef {Labels & { version: number }} StoredDraft
 */

const UNSENT_AFTER_MS = 1500;
const OPENING_CHARACTERS = 80;
const CHOOSE_FIRST = gettext("Not submitted: first choose which answers count.");

// ---- the draft ------------------------------------------------------------------------------------------------------

export class Editor {
  /** @type {Drafts | null} */
  drafts = null;
  /** Two drafts of these answers differ, and the person has not chosen yet. */
  isUndecided = false;

  /**
   * @param {import("./workbench.js").Workbench} bench  @param {import("./questions/questions.js").Questions} questions
   * @param {HTMLTextAreaElement} note
   */
  constructor(bench, questions, note) {
    this.bench = bench;
    this.questions = questions;
    this.note = note;
  }

  /** The current answers. @returns {Labels} */
  read() {
    return { answers: this.questions.answers, note: this.note.value.trim() };
  }

  /** @param {Task} task  @param {import("./questions/answer_sheet.js").Content} schema  @param {Labels} [given]  wins over any draft */
  open(task, schema, given) {
    const { assignment } = task;
    this.drafts = this.#createDrafts(assignment);
    const { answers, note } = given ?? this.#restore(assignment);
    const isConfirmation = assignment.stage === "confirmation";
    this.note.value = note;
    this.note.readOnly = !isOpen(assignment);
    this.questions.show({
      schema,
      utterances: assignment.dialogue.utterances,
      lang: assignment.dialogue.language,
      answers,
      differences: isConfirmation ? assignment.differences : [],
      others: isConfirmation ? assignment.others : [],
      isOpen: isOpen(assignment),
    });
  }

  /** @param {{ forget?: boolean }} [how]  forget: the answers were sent or are not wanted */
  close(how) {
    this.drafts?.end(how);
    this.drafts = null;
    this.isUndecided = false;
  }

  keepDraft() {
    this.drafts?.keep();
  }

  /** @param {import("./queue.js").Assignment} assignment */
  #createDrafts(assignment) {
    const { view, activity, notices } = this.bench;
    const states = { saved: gettext("draft saved"), local: gettext("draft kept in this browser") };
    return new Drafts(
      {
        assignment: assignment.id,
        stored: assignment.draft,
        read: () => ({ answers: this.questions.answers, note: this.note.value }),
        time: () => activity.report(),
        onState: (state) => view.showDraftState(states[state]),
        onConflict: (theirs) => this.#offerChoice(theirs),
        onOther: () => void this.#loadOtherDraft(),
        onSignedOut: () => void notices.showSignedOut(),
      },
      LABELS,
    );
  }

  /** Earlier answers: from this browser, the server, or the submission that is revised. @param {import("./queue.js").Assignment} assignment  @returns {Labels} */
  #restore({ draft, submission }) {
    const local = this.drafts?.local();
    this.bench.activity.begin(local?.activity);
    const stored = draft && LABELS.fingerprint(draft) ? draft : null;
    const isNewer = stored && (!local || stored.version > local.version); // a page from the cache has an older one
    if (!local || (!local.dirty && stored && stored.version >= local.version))
      return stored ?? submission ?? { answers: { dialogue: {}, utterances: {} }, note: "" };
    if (!this.drafts) return local;
    if (stored && !isNewer) this.drafts.version = local.version;
    else if (stored && LABELS.content(stored) !== LABELS.content(local)) {
      this.drafts.isPaused = true;
      this.#offerChoice(stored);
    }
    return local;
  }

  /** @param {StoredDraft} theirs  saved in another tab or on another device */
  #offerChoice(theirs) {
    const { notices, sender } = this.bench;
    const mine = this.drafts;
    this.isUndecided = true;
    sender.cancel(CHOOSE_FIRST);
    const choice = (/** @type {string} */ label, /** @type {() => void} */ choose) => {
      const run = () => {
        notices.hide("conflict");
        this.isUndecided = false;
        choose();
      };
      return { label, run };
    };
    notices.show("conflict", {
      tone: "warn",
      text: gettext("The answers to this dialogue were changed in another tab or on another device."),
      actions: [
        choice(gettext("Keep these"), () => mine?.keepMine(theirs.version)),
        choice(gettext("Use the other answers"), () => {
          if (this.drafts === mine) this.#load(theirs);
        }),
      ],
    });
  }

  /** @param {StoredDraft} draft */
  #load(draft) {
    if (!this.drafts) return;
    this.drafts.isPaused = false;
    this.questions.load(draft.answers);
    this.note.value = draft.note;
    this.drafts.adoptVersion(draft.version, draft);
    this.bench.view.showLeft();
  }

  /** Nothing was answered here: show the draft of another device. */
  async #loadOtherDraft() {
    const { state } = this.bench;
    const id = state.current?.assignment.id;
    const assignment = await call("GET", `/labelling/${id}/`).catch(() => null);
    if (assignment?.draft && state.current?.assignment.id === id) this.#load(assignment.draft);
  }
}

// ---- submitting and taking back -------------------------------------------------------------------------------------

export class Sender {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #submitLater;
  /** What is shown was sent as the page went away. */
  isLeft = false;

  /** @param {import("./workbench.js").Workbench} bench */
  constructor(bench) {
    this.bench = bench;
    this.state = bench.state;
  }

  /** Submit now, or as soon as the dialogue has been shown for long enough. */
  submit() {
    const { state, bench } = this;
    const { current } = state;
    // While the schema of the next dialogue is on its way, the one that was sent is still shown.
    if (!current || state.isSubmitted(current) || !isOpen(current.assignment)) return;
    const [missing] = bench.questions.missing();
    if (bench.editor.isUndecided) toast(CHOOSE_FIRST);
    else if (missing) this.#askFor(missing.path);
    else if (state.secondsLeft === 0) this.#send(current);
    else this.#submitWhenDue();
  }

  #submitWhenDue() {
    this.state.isSubmitPending = true;
    clearTimeout(this.#submitLater);
    this.#submitLater = setTimeout(() => this.submit(), this.state.secondsLeft * 1000 + 5);
    this.bench.view.countDown();
  }

  /**
   * The person leaves while a submission waits for its time: it was confirmed, so from now on it waits in the outbox.
   * @param {{ isLast?: boolean }} [how]  isLast: the page goes away, nothing is shown next
   */
  sendPending({ isLast = false } = {}) {
    const { state, bench } = this;
    const { current } = state;
    if (!state.isSubmitPending || !current || bench.editor.isUndecided || bench.questions.missing().length > 0) return;
    const dueAt = Date.now() + state.secondsLeft * 1000;
    if (!isLast) return this.#send(current, dueAt);
    this.isLeft = true;
    this.cancel();
    const labels = bench.editor.read();
    if (isUnchanged(current, labels)) bench.editor.close({ forget: true });
    else this.#enqueue(current, this.#createItem(current, labels, dueAt), labels);
  }

  /** @param {string} path  of an answer that is missing */
  #askFor(path) {
    const { questions } = this.bench;
    const isConfirming = this.state.current?.assignment.stage === "confirmation";
    this.cancel();
    const isUndecided = isConfirming && questions.valueAt(path) !== undefined;
    const problem = isUndecided
      ? gettext("Keep your answer or take the other one first.")
      : gettext("Please answer this question.");
    questions.goTo(path, problem);
  }

  /** Cancel a pending submission. @param {string} [reason]  shown to the person */
  cancel(reason = "") {
    clearTimeout(this.#submitLater);
    if (!this.state.isSubmitPending) return;
    this.state.isSubmitPending = false;
    this.bench.view.showPending();
    if (reason) byId("live").textContent = reason;
    this.bench.view.showDraftState(reason);
  }

  // ---- sending -----------------------------------------------------------------------------------------------------

  /** @param {Task} task  @param {number} [madeAt]  later if its time is not over yet */
  #send(task, madeAt = Date.now()) {
    const { state, bench } = this;
    const labels = bench.editor.read();
    if (isUnchanged(task, labels)) {
      toast(gettext("Nothing was changed, so nothing was sent."));
      bench.skipCurrent();
      return;
    }
    const item = this.#createItem(task, labels, madeAt);
    const next = bench.queue.takeNext();
    if (state.ahead.length === 0) Object.assign(item.sent, { next_claim: bench.queue.claimId() });
    state.addSubmitted({ task, item: item.id, ...labels });
    if (!task.isRevision) state.count(1, task.assignment.id);
    this.cancel();
    this.#enqueue(task, item, labels);
    this.#showAfter(next);
    setTimeout(() => void this.showWaiting(), navigator.onLine ? UNSENT_AFTER_MS : 0);
  }

  /**
   * The draft ends once the outbox has the answers, even if the page closes before they are on disk: a draft that stays
   * would later hide newer answers.
   * @param {Task} task  @param {outbox.NewItem} item  @param {Labels} labels
   */
  #enqueue(task, item, labels) {
    const { drafts } = this.bench.editor;
    if (drafts) drafts.isPaused = true;
    const stored = outbox.enqueue(item);
    const isCopied = hasCopy(item.id);
    const endDraft = () => drafts?.end({ forget: true });
    if (isCopied) endDraft();
    stored.then(
      () => isCopied || endDraft(), // not twice: the dialogue may be open again, with a draft of its own
      (error) => void this.#onNotKept(task, item.id, labels, error),
    );
  }

  /** @param {Task} task  @param {Labels} labels  @param {number} madeAt */
  #createItem({ assignment }, labels, madeAt) {
    const id = uuid();
    return {
      ...{ id, kind: "labels", lane: this.state.lane, assignment: assignment.id, position: 0, url: location.pathname },
      text: openingOf(assignment),
      sent: { id, schema: assignment.schema, ...labels, ...this.bench.activity.report() },
      made_at: madeAt,
    };
  }

  /** @param {Task | undefined} next  what lay ready */
  #showAfter(next) {
    const { state, bench } = this;
    // "You have open work" may be about the dialogue that is being sent.
    const reason = state.emptyReason?.details?.open ? null : state.emptyReason;
    if (next) void bench.show(next);
    else bench.showEmpty(reason ?? loadingReason());
    bench.queue.keep();
  }

  /** The outbox could not keep the item. @param {Task} task  @param {string} item  @param {Labels} labels  @param {unknown} error */
  async #onNotKept(task, item, labels, error) {
    this.state.submitted = this.state.submitted.filter((submitted) => submitted.item !== item);
    await this.bench.show(task, labels);
    this.bench.editor.keepDraft();
    this.bench.notices.showError(error, "volatile");
  }

  /** Report submissions that have waited for a while. */
  async showWaiting() {
    const { notices, state } = this.bench;
    const waiting = (await outbox.itemsInLane(state.lane)).filter((item) => !item.problem);
    if (!navigator.onLine) notices.showOffline();
    if (waiting.length === 0) return;
    if (isVolatile()) {
      const text = gettext("This browser cannot keep unsent answers on disk.");
      notices.show("volatile", { tone: "warn", text, remedy: gettext("Keep this tab open until everything is sent.") });
    }
    if (state.isAway) showUnsentCount(waiting.length);
  }

  // ---- undo --------------------------------------------------------------------------------------------------------

  /** Undo the last answer, or the last submission if there is no answer. */
  async undo() {
    const { bench, state } = this;
    if (state.isSubmitPending) {
      this.cancel(gettext("Not submitted."));
      return;
    }
    await bench.shown();
    if (state.current && bench.questions.undo()) return;
    const last = state.submitted.pop();
    if (last) await this.#takeBack(last);
    else (await import("./leaving_dialogs.js")).openLast(bench);
  }

  /** @param {SubmittedTask} submitted */
  async #takeBack({ task, item, answers, note, isRefused }) {
    const { bench, state } = this;
    const before = state.current;
    const isUnsent = await outbox.withdraw(item);
    if (isUnsent && !task.isRevision && !isRefused) state.count(-1, task.assignment.id);
    // If the other was never stored, the time floor of this one starts again after it.
    if (before && before !== task) bench.queue.putBack(isUnsent ? { ...before, dueAt: null } : before);
    if (!isUnsent) task.assignment = { ...task.assignment, state: "submitted" };
    await bench.show({ ...task, isRevision: task.isRevision || !isUnsent }, { answers, note });
    bench.editor.keepDraft();
    const message = isUnsent
      ? gettext("The last submission was taken back before it was sent.")
      : gettext("The last submission is open again; submit it as a correction.");
    toast(message);
  }
}

/** Whether a revision changes nothing. @param {Task} task  @param {Labels} labels */
function isUnchanged({ assignment: { stage, submission } }, labels) {
  return stage === "label" && submission !== null && LABELS.fingerprint(submission) === LABELS.fingerprint(labels);
}

/** @param {import("./queue.js").Assignment} assignment */
function openingOf({ dialogue }) {
  return dialogue.utterances.find(({ text }) => text.trim())?.text.slice(0, OPENING_CHARACTERS) ?? "";
}
