// @ts-check
/**
 * The authoring workbench. What the person does shows at once and goes through the outbox (turn.js); what the server
 * says comes back as events, in this tab or another, and corrects what is shown. What was typed is always somewhere: in
 * the input (composer.js), in the outbox, in the conversation, or among the texts set aside (set_aside.js).
 */
import { call, isPassing, isSignedOut, Problem } from "../shared/api.js";
import { Activity } from "../shared/drafts.js";
import * as outbox from "../shared/outbox.js";
import { confirmedSince, isVolatile } from "../shared/outbox_store.js";
import { byId, closePopover, format, gettext, ngettext, showNotice } from "../shared/page.js";
import { toast } from "../shared/toast.js";
import { Candidates, wireDigits } from "./candidates.js";
import { Composer } from "./composer.js";
import {
  Conversation,
  fitToKeyboard,
  hideNotices,
  pendingTurn,
  State,
  showError,
  showOffline,
  showState,
  showVolatile,
  storedTurn,
  waysOut,
} from "./dialogue.js";
import { DraftKeeper, Sender, syncedMessage } from "./turn.js";

/** @typedef {"finish" | "save" | "giveBack" | "startOver"} LeavingAction */

const AHEAD_PICKED_MS = 150;
const AHEAD_TYPED_MS = 600;
const UNSENT_AFTER_MS = 1500;
const SOONEST_RENEWAL_MS = 20_000;
const LATEST_RENEWAL_MS = 300_000;
const WRITABLE_STATES = ["active", "saved", "expired"];

export class Workbench {
  activity = new Activity();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #aheadTimer;
  #aheadText = "";
  /** For the current turn only: the timer of an earlier turn must not fire during this one. @type {ReturnType<typeof setTimeout> | undefined} */
  #unsentTimer;
  /** What was begun so far: an answer to an earlier question is out of date. */
  #begun = 0;
  /** Takes the notes away that are about the turn before. @type {(() => void)[]} */
  #notes = [];
  form = /** @type {HTMLFormElement} */ (byId("composer"));
  buttons = Object.fromEntries(
    ["submit", "undo", "clear", "finish"].map((name) => [name, /** @type {HTMLButtonElement} */ (byId(name))]),
  );

  /** @param {import("./dialogue.js").PageData} data */
  constructor(data) {
    this.data = data;
    this.state = new State(data);
    const { settings } = this.state;
    this.conversation = new Conversation({ lang: data.lang, leastRounds: settings.min_rounds });
    this.composer = this.#createComposer();
    this.candidates = this.#createCandidates();
    this.keeper = new DraftKeeper(this, data.assignment.draft);
    this.sender = new Sender(this);
  }

  #createComposer() {
    return new Composer({
      form: this.form,
      limit: this.state.settings.max_utterance_length,
      submitOnEnter: this.data.submit_on_enter,
      sets: () => this.candidates.finishedSets(),
      onChange: (why) => this.#onChange(why),
      onPick: (place) => this.#pick(place),
      onSubmit: () => void this.sender.submit(),
      onUndoTurn: () => void this.sender.undo(),
    });
  }

  #createCandidates() {
    const { activity } = this;
    return new Candidates({
      panel: byId("candidates"),
      lang: this.data.lang,
      assignment: this.state.id,
      topics: this.data.topics,
      settings: this.state.settings,
      onPick: (text, source, place) => {
        activity.record(source ? "pick" : "idea", source ? { set: source.set, source: source.place } : { idea: place });
        this.composer.fill(text, source, place);
      },
      onShown: (set) => activity.record("shown", set),
      onAsked: (ordinal) => activity.record("new_set", { ordinal }),
    });
  }

  /** Pick a candidate, or the one that will be at this place when it comes. @param {number} place */
  #pick(place) {
    return this.candidates.pick(place) || this.candidates.pickWhenReady(place);
  }

  // ---- what is shown -----------------------------------------------------------------------------------------------

  show() {
    const { isOpen, turns } = this.state;
    this.conversation.show(turns, isOpen);
    this.composer.field.readOnly = !isOpen;
    this.form.toggleAttribute("data-closed", !isOpen);
    for (const button of [this.buttons.submit, this.buttons.clear]) button.disabled = !isOpen;
    this.buttons.undo.disabled = !isOpen || turns.length === 0;
  }

  /** Show the count of the server. @param {{ finished: number, goal: number }} today */
  showToday({ finished, goal }) {
    byId("today").textContent = format(gettext("{n} of {goal} dialogues today"), { n: finished, goal });
  }

  /** Report turns that have waited for a while. */
  showWaiting() {
    if (!navigator.onLine) {
      showOffline();
      this.candidates.showUnsent();
    }
    if (!this.state.isBusy) return;
    this.conversation.show(this.state.turns, this.state.isOpen); // they are sent, or wait to be sent
    if (this.state.turns.at(-1)?.isPending) this.candidates.showUnsent();
    if (isVolatile()) showVolatile();
  }

  /** Begin another turn. @param {{ text?: string, source?: Composer["source"], forget?: boolean }} [how] */
  begin({ text = "", source = null, forget = false } = {}) {
    clearTimeout(this.#aheadTimer);
    this.#aheadText = "";
    this.#begun += 1;
    this.#forgetTurn();
    this.activity.begin();
    this.candidates.begin(this.state.position, { isOpen: this.state.isOpen, forget });
    this.composer.load(text, source);
    this.candidates.mark(source);
    this.show();
    clearTimeout(this.#unsentTimer);
    this.#unsentTimer = setTimeout(() => this.showWaiting(), navigator.onLine ? UNSENT_AFTER_MS : 0);
  }

  /** What was said of the turn before does not stand beside this one. */
  #forgetTurn() {
    for (const remove of this.#notes.splice(0)) remove();
    hideNotices("conflict", "moved", "check");
    this.keeper.drafts.isPaused = false;
  }

  /** A note that leaves by itself, with the next turn at the latest. @param {string} text  @param {Parameters<typeof toast>[1]} [options] */
  note(text, options) {
    this.#notes.push(toast(text, options));
  }

  // ---- writing -----------------------------------------------------------------------------------------------------

  /** @param {"typed" | "picked" | "cleared"} why */
  #onChange(why) {
    if (why === "cleared") this.activity.record("clear");
    if (why !== "picked") this.candidates.forgetWish();
    this.candidates.mark(this.composer.source);
    this.keeper.keep();
    this.composer.showDraft("");
    clearTimeout(this.#aheadTimer);
    this.#aheadTimer = setTimeout(() => this.#generateAhead(), why === "picked" ? AHEAD_PICKED_MS : AHEAD_TYPED_MS);
  }

  /** Have candidates generated for a draft that rests, before it is sent. A failure is harmless. */
  #generateAhead() {
    const { isOpen, isBusy, settings, id } = this.state;
    const { text } = this.composer;
    const isWanted = settings.generate_ahead && isOpen && text && text !== this.#aheadText;
    if (!isWanted || isBusy || !navigator.onLine) return;
    this.#aheadText = text;
    call("POST", `/assignments/${id}/ahead/`, { text }).catch(() => undefined);
  }

  // ---- the assignment ----------------------------------------------------------------------------------------------

  /** @param {Partial<import("./dialogue.js").Assignment>} assignment  as the server has it now */
  updateAssignment(assignment) {
    if (!this.state.update(assignment)) return;
    this.#showAssignmentState();
    this.candidates.setOpen(this.state.isOpen);
    this.show();
  }

  #showAssignmentState() {
    this.state.isOpen = WRITABLE_STATES.includes(this.state.assignment.state);
    showState(this);
  }

  /**
   * Show the stored dialogue; unsent turns stay, and the text in the input if it is for the turn that is written now.
   * @param {{ quiet?: boolean }} [how]  @returns {Promise<import("./dialogue.js").FullAssignment | null>} what was adopted
   */
  async reload({ quiet = false } = {}) {
    const begun = this.#begun;
    try {
      const full = await call("GET", `/assignments/${this.state.id}/`);
      if (begun !== this.#begun) return null;
      const words = this.adopt(full);
      if (words) this.keeper.moveOn(words);
      else if (!quiet) this.note(syncedMessage());
      return full;
    } catch (error) {
      if (!isPassing(error) && !isSignedOut(error)) showError(error);
      return null;
    }
  }

  /** Look whether another device has written meanwhile. Words that are not saved yet find out when they are saved. */
  async lookAgain() {
    const { state, keeper } = this;
    if (document.hidden || !navigator.onLine || state.isBusy) return;
    if (keeper.drafts.isDirty && !keeper.drafts.isPaused) return;
    if ((await outbox.items(state.id)).length === 0) await this.reload({ quiet: true });
  }

  /**
   * @param {import("./dialogue.js").FullAssignment} full
   * @returns {import("../shared/drafts.js").Words | null} what was in the input, if another turn is written now
   */
  adopt(full) {
    const { state, composer, candidates, keeper } = this;
    const left = keeper.words();
    state.replaceTurns(full.dialogue.utterances);
    this.updateAssignment(full);
    const isMoved = state.position !== left.position;
    if (isMoved) this.begin({ forget: true });
    candidates.receive(full.request);
    const isUnsaved = composer.text !== "" && keeper.drafts.isDirty;
    const { text, source } = keeper.wordsOf(full.draft);
    const isNewer = (full.draft?.version ?? 0) > keeper.drafts.version;
    if (text && (!composer.text || (isNewer && !isUnsaved))) composer.load(text, source);
    candidates.mark(composer.source);
    this.show();
    if (full.draft && !isUnsaved)
      keeper.adoptVersion(full.draft.version, { position: full.draft.position, text: full.draft.text, source });
    return isMoved ? left : null;
  }

  /** After something that the person did on this page. @param {import("./dialogue.js").FullAssignment} full */
  adoptOwn(full) {
    const left = this.adopt(full);
    if (left) this.keeper.leaveBehind(left);
    return left;
  }

  /** Take up a dialogue that was given back, finished or lost. @param {"resume" | "take-back"} how */
  async takeUp(how) {
    await (await import("./leaving_dialogs.js")).takeUp(this, how);
  }

  /** @param {LeavingAction} action */
  async #leave(action) {
    try {
      await (await import("./leaving_dialogs.js"))[action](this);
    } catch (error) {
      showError(error);
    }
  }

  /** Clear the input; after a tap or click, offer to undo it, because a touch screen has no key for that. @param {MouseEvent} event */
  #clear({ detail: isPointed }) {
    const run = this.composer.clear();
    if (!run || !isPointed) return;
    const action = { label: gettext("Undo"), run };
    import("../shared/toast.js").then(({ toast }) => toast(gettext("Cleared."), { action })).catch(showError);
  }

  #finish() {
    if (!this.composer.text) void this.#leave("finish");
    else this.composer.show(gettext("The input still holds unsent text. Submit or clear it, then finish."));
  }

  #explainTooEarly() {
    const n = this.state.settings.min_rounds - Math.floor(this.state.position / 2);
    const message = ngettext(
      "{n} more round, then it can be finished.",
      "{n} more rounds, then it can be finished.",
      n,
    );
    this.composer.show(format(message, { n }));
  }

  // ---- begin -------------------------------------------------------------------------------------------------------

  #wireControls() {
    const { buttons } = this;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.sender.submit();
    });
    buttons.undo.addEventListener("click", () => void this.sender.undo());
    buttons.clear.addEventListener("click", (event) => closePopover() || this.#clear(event));
    const isTooEarly = () => buttons.finish.getAttribute("aria-disabled") === "true";
    buttons.finish.addEventListener("click", () => (isTooEarly() ? this.#explainTooEarly() : this.#finish()));
    byId("too-early").addEventListener("click", () => this.#explainTooEarly());
    for (const control of document.querySelectorAll("[data-leaving]")) {
      control.addEventListener("click", () => {
        closePopover();
        void this.#leave(/** @type {LeavingAction} */ (control.getAttribute("data-leaving")));
      });
    }
    wireDigits((place, digit) => (digit ? this.composer.pickByDigit(digit) : this.#pick(place)));
    byId("theme-menu").addEventListener("beforetoggle", () => void import("../shared/theme.js"), { once: true });
  }

  #listen() {
    addEventListener("pagehide", () => this.keeper.keep());
    addEventListener("offline", () => this.showWaiting());
    addEventListener("online", () => {
      hideNotices("connection");
      this.showWaiting();
      void this.lookAgain();
    });
    document.addEventListener("visibilitychange", () => void this.lookAgain());
    this.sender.listen();
    fitToKeyboard();
  }

  /** The page may come from the cache: add what was stored since, unsent turns, and drafts of this browser. */
  async start() {
    const { state } = this;
    this.#wireControls();
    this.#listen();
    const confirmed = await confirmedSince(state.id, state.assignment.touched_at);
    const items = await outbox.items(state.id);
    this.#replay(confirmed, items);
    this.#showAssignmentState();
    this.#restore();
    void this.keeper.putAside([]);
    if (items.some((item) => item.problem)) await this.sender.onRefused();
    else if (confirmed.length > 0) await this.reload({ quiet: true });
    this.showWaiting();
    holdLease(this);
    void outbox.keepPage(this.data.files).catch(() => undefined);
  }

  /** @param {Awaited<ReturnType<typeof confirmedSince>>} confirmed  @param {outbox.Item[]} items */
  #replay(confirmed, items) {
    const { state } = this;
    for (const { position, turn } of confirmed) {
      state.turns = state.turns.slice(0, position);
      if (turn) state.turns.push(storedTurn(turn, position));
    }
    for (const { kind, id, position, text, sent } of items.filter((item) => !item.problem)) {
      state.items.add(id);
      state.turns = state.turns.slice(0, position);
      if (kind === "turn") state.turns.push(pendingTurn(position, text, id));
      else state.undone.add(String(sent.turn_id));
    }
  }

  #restore() {
    const { state, candidates } = this;
    const { draft, request } = this.data.assignment;
    candidates.begin(state.position, { isOpen: state.isOpen });
    if (!state.isBusy) candidates.receive(request);
    this.keeper.restore(draft);
    this.show();
    this.conversation.toEnd();
  }
}

// ---- the lease ------------------------------------------------------------------------------------------------------

/** @param {Workbench} bench */
function holdLease(bench) {
  const span = Date.parse(bench.state.assignment.lease_until) - Date.now();
  setTimeout(() => void renewLease(bench), Math.min(Math.max(span / 3, SOONEST_RENEWAL_MS), LATEST_RENEWAL_MS));
}

/** @param {Workbench} bench */
async function renewLease(bench) {
  const { state, activity } = bench;
  const isActive = activity.inputs > 0 && state.assignment.state === "active";
  activity.inputs = 0;
  try {
    if (isActive) bench.updateAssignment(await call("POST", `/assignments/${state.id}/renew/`, {}));
    if (state.assignment.utterance_count !== state.position) void bench.lookAgain();
  } catch (error) {
    if (error instanceof Problem && !isPassing(error) && !isSignedOut(error))
      showNotice("refused", { tone: "bad", text: error.message, remedy: error.remedy, actions: waysOut(bench) });
  }
  holdLease(bench);
}

await new Workbench(JSON.parse(byId("workbench").textContent ?? "")).start();
document.documentElement.dataset.ready = "true";
