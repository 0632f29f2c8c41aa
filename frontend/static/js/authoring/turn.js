// @ts-check
/**
 * The turn that is written: where its text comes from after a reload, whose text wins, sending it and taking turns back.
 * What the server says comes back as events of the outbox, from this tab or another.
 */
import { call, uuid } from "../shared/api.js";
import { Drafts, RETRY_MS, setAside, wordsSetAside } from "../shared/drafts.js";
import * as outbox from "../shared/outbox.js";
import { format, gettext, showNotice } from "../shared/page.js";
import { hideNotices, KEPT_MESSAGE, pendingTurn, showError, showSignedOut, storedTurn, waysOut } from "./dialogue.js";

/**
 * @typedef {import("./composer.js").Source} Source
 * @typedef {import("./dialogue.js").StoredDraft} StoredDraft
 * @typedef {import("../shared/drafts.js").Words} Words
 * @typedef {import("../shared/drafts.js").KeptWords} KeptWords
 */

const TWICE_MS = 500; // between two presses of Enter

// ---- the draft ------------------------------------------------------------------------------------------------------

export class DraftKeeper {
  /** @param {import("./workbench.js").Workbench} bench  @param {StoredDraft | null} stored */
  constructor(bench, stored) {
    this.bench = bench;
    const { state, activity, composer } = bench;
    const states = { saved: gettext("draft saved"), local: gettext("draft kept in this browser") };
    this.drafts = new Drafts({
      assignment: state.id,
      stored,
      read: () => this.words(),
      time: () => activity.report(),
      onState: (name) => composer.showDraft(composer.text && state.isOpen ? states[name] : ""),
      onConflict: (theirs) => void this.#offerChoice(theirs),
      onOther: () => void bench.reload(),
      onPassed: (theirs) => void this.#catchUp(theirs),
      onSignedOut: () => void showSignedOut(state.urls.login),
    });
  }

  keep() {
    this.drafts.keep();
  }

  /** The server has another draft now. @param {number} version  @param {{ position: number, text: string, source: Source | null }} words */
  adoptVersion(version, words) {
    this.drafts.adoptVersion(version, words);
  }

  // ---- the words of this turn --------------------------------------------------------------------------------------

  /** What is in the input, and for which turn. @returns {Words} */
  words() {
    const { state, composer } = this.bench;
    return { position: state.position, text: composer.field.value, source: composer.source };
  }

  /** The text of a stored draft, if it is for the current turn. @param {StoredDraft | null} draft */
  wordsOf(draft) {
    if (!draft || draft.position !== this.bench.state.position) return { text: "", source: null };
    return { text: draft.text, source: this.#sourceIn(draft.candidate_set, draft.source) };
  }

  /** @param {number | null} set  @param {number | null} place  @returns {Source | null} */
  #sourceIn(set, place) {
    const candidateSet = this.bench.candidates.finishedSets().find(({ id }) => id === set);
    const text = place === null ? undefined : candidateSet?.texts[place];
    if (!candidateSet || text === undefined || place === null) return null;
    return { set: candidateSet.id, place, text, ordinal: candidateSet.ordinal };
  }

  /** When the page opens: restore this browser's draft or the server's, or let the person choose. @param {StoredDraft | null} draft */
  restore(draft) {
    const { composer, activity, candidates, state } = this.bench;
    const local = this.drafts.local();
    if (local !== null && local.position !== state.position && this.leaveBehind(local, !local.dirty))
      this.#showMoved(local.position);
    const isForThisTurn = local !== null && local.position === state.position;
    const stored = this.wordsOf(draft);
    const isMine = isForThisTurn && local.text !== "" && (local.dirty || !stored.text || local.text === stored.text);
    composer.load(isMine ? local.text : stored.text, isMine ? local.source : stored.source);
    if (isForThisTurn) activity.begin(local.activity);
    if (composer.text) composer.focusEnd();
    candidates.mark(composer.source);
    const isConflict =
      isMine && local.dirty && stored.text && stored.text !== local.text && local.version !== draft?.version;
    if (isConflict && draft) {
      this.drafts.isPaused = true;
      void this.#offerChoice(draft);
    } else if (!composer.source && draft?.source !== null && stored.text) void this.findSource();
    this.keep();
  }

  // ---- another turn is written now ---------------------------------------------------------------------------------

  /** Another tab or device has written turns, or taken some back. @param {Words} left  what was in the input before */
  moveOn(left) {
    const isKept = this.leaveBehind(left);
    if (isKept) this.#showMoved(left.position);
    else this.bench.note(this.#movedText(left.position));
    this.keep();
  }

  /**
   * Words belong to their turn, and so to its speaker: when another turn is written, they are set aside.
   * @param {Words} left  @param {boolean} [isSaved]  the server had them as a draft
   * @returns {boolean} whether there were any that are stored nowhere
   */
  leaveBehind({ position, text, source }, isSaved = text.trim() === this.drafts.savedLast) {
    const words = text.trim();
    // Another device may have gone on from what was saved here.
    const isStored = this.#isStored({ position, text }) || (isSaved && this.#storedAt(position).startsWith(words));
    const isPick = source !== null && source.text.trim() === words; // nothing was typed
    if (!words || isStored || isPick) return false;
    void this.putAside([{ position, text }]);
    return true;
  }

  /** @param {number | null} position */
  #storedAt(position) {
    return this.bench.state.turns[position ?? -1]?.text.trim() ?? "";
  }

  /** @param {KeptWords} words */
  #isStored({ position, text }) {
    return this.#storedAt(position) === text.trim();
  }

  /** @param {number} before  the turn that was written until now */
  #showMoved(before) {
    showNotice("moved", { tone: "warn", text: this.#movedText(before), remedy: KEPT_MESSAGE });
  }

  /** @param {number} before */
  #movedText(before) {
    const { position } = this.bench.state;
    return position > before
      ? format(gettext("Turn {n} was written in another tab or on another device."), { n: position })
      : format(gettext("Turn {n} was taken back in another tab or on another device."), { n: position + 1 });
  }

  /** The server has another turn than this page. @param {StoredDraft | null} theirs  its draft */
  async #catchUp(theirs) {
    const { state } = this.bench;
    const { position } = state;
    if ((await outbox.items(state.id)).length > 0) {
      this.drafts.saveLater(RETRY_MS); // it has yet to hear of what was done here
      return;
    }
    await this.bench.reload();
    // A draft for a turn that is not written now is of no use to anybody.
    if (theirs && state.position === position) this.drafts.keepMine(theirs.version);
  }

  /** After a reload or on another device: find the candidate that the text was started from. */
  async findSource() {
    const { state, candidates, composer } = this.bench;
    const full = await call("GET", `/assignments/${state.id}/`).catch(() => null);
    /** @type {StoredDraft | null | undefined} */
    const draft = full?.draft;
    if (!draft || draft.source === null || draft.position !== state.position) return;
    for (let ordinal = 0; ordinal < (full.request?.ordinal ?? 0); ordinal++) await candidates.loadSet(ordinal);
    candidates.receive(full.request);
    const source = this.#sourceIn(draft.candidate_set, draft.source);
    if (!source || composer.source || composer.field.value !== draft.text) return;
    composer.load(draft.text, source);
    candidates.mark(source);
    this.adoptVersion(draft.version, { position: draft.position, text: draft.text, source });
  }

  // ---- two wordings ------------------------------------------------------------------------------------------------

  /** @param {StoredDraft} theirs */
  async #offerChoice(theirs) {
    const { offerDraftChoice } = await import("./set_aside.js");
    const keepMine = () => this.drafts.keepMine(theirs.version);
    offerDraftChoice(this.bench.composer, theirs.text, { keepMine, takeTheirs: () => void this.#take(theirs) });
  }

  /** @param {StoredDraft} theirs */
  async #take(theirs) {
    const full = await this.bench.reload({ quiet: true });
    this.drafts.isPaused = false;
    if (this.bench.state.position !== theirs.position) return; // it was sent meanwhile
    const { position, text, version } = full?.draft?.text ? full.draft : theirs;
    this.bench.composer.load(text);
    this.adoptVersion(version, { position, text, source: null });
    await this.findSource();
  }

  /** Show words above the input, so that they are not lost. @param {KeptWords[]} words */
  async putAside(words) {
    const { state } = this.bench;
    const kept = wordsSetAside(state.id);
    const isKept = (/** @type {KeptWords} */ { position, text }) =>
      kept.some((one) => one.position === position && one.text === text);
    setAside(state.id, [...kept, ...words.filter((one) => one.text.trim() && !isKept(one))]);
    await this.#showSetAside();
  }

  /**
   * Put words for the current turn back into the input, unless others were typed; those that are stored after all leave.
   * @param {KeptWords[]} words  that were set aside, the newest last
   */
  async takeBack(words) {
    const { state, composer } = this.bench;
    const own = words.findLast(({ position }) => position === state.position);
    const text = own?.text.trim() ?? "";
    // The server may have had them as a draft, or the beginning of them.
    const isBeginning = text.startsWith(composer.text) && (composer.pristine || !composer.text);
    if (own && isBeginning && composer.text !== text) composer.load(own.text);
    const isBack = (/** @type {KeptWords} */ { position, text: kept }) =>
      position === own?.position && kept === own?.text && text === composer.text;
    const isNeeded = (/** @type {KeptWords} */ one) => !isBack(one) && !this.#isStored(one);
    setAside(state.id, wordsSetAside(state.id).filter(isNeeded));
    this.keep();
    await this.#showSetAside();
  }

  async #showSetAside() {
    const { state, composer } = this.bench;
    const isShown = document.querySelector("#notices [data-cause=aside]") !== null;
    if (wordsSetAside(state.id).length > 0 || isShown)
      (await import("./set_aside.js")).showSetAside(state.id, composer, () => state.position);
  }
}

// ---- sending --------------------------------------------------------------------------------------------------------

export class Sender {
  #sentAt = Number.NEGATIVE_INFINITY;

  /** @param {import("./workbench.js").Workbench} bench */
  constructor(bench) {
    this.bench = bench;
    this.state = bench.state;
  }

  listen() {
    outbox.listen((event) => {
      if (event.kind === "waiting") {
        this.bench.showWaiting();
        if (event.signedOut) void showSignedOut(this.state.urls.login);
      } else if (event.item.assignment !== this.state.id) return;
      else if (event.kind === "stored" && event.item.kind === "undo") this.#onUndone(event.item, event.answer);
      else if (event.kind === "stored") this.#onStored(event.item, event.answer);
      else if (event.kind === "queued") this.#onQueued(event.item);
      else if (event.kind === "withdrawn" && event.item.kind === "undo")
        this.state.undone.delete(String(event.item.sent.turn_id)); // it was refused, so the turn stays
      else if (event.kind === "refused" && this.state.items.has(event.item.id)) void this.onRefused();
    });
  }

  // ---- what the person does ----------------------------------------------------------------------------------------

  /** There are candidates from the second utterance on. */
  #sayWhatToWrite() {
    return this.state.position === 0
      ? gettext("Write the first utterance, or start from an idea.")
      : gettext("Write something, or pick a candidate.");
  }

  async submit() {
    const { bench, state } = this;
    const { composer, keeper } = bench;
    const { text } = composer;
    if (!state.isOpen) return;
    if (!text || [...text].length > state.settings.max_utterance_length) {
      const isRepeat = performance.now() - this.#sentAt <= TWICE_MS;
      if (!isRepeat) composer.show(text ? "" : this.#sayWhatToWrite());
      composer.focus();
      return;
    }
    const { source } = composer;
    const item = this.#addPendingTurn(text);
    this.#sentAt = performance.now();
    bench.begin({ forget: true });
    bench.conversation.toEnd();
    composer.focus(); // it left when Submit was clicked
    keeper.drafts.isPaused = true; // until the outbox has the words, this browser's copy keeps them
    try {
      await this.#enqueue(item);
    } catch (error) {
      state.turns.pop();
      bench.begin({ text, source });
      showError(error, "volatile");
    }
    keeper.drafts.isPaused = false;
    keeper.keep();
  }

  /** @param {string} text */
  #addPendingTurn(text) {
    const { composer, candidates, activity } = this.bench;
    const { action, set, place, distance } = composer.derive();
    const [id, position] = [uuid(), this.state.position];
    // Without a pick the set that is looked at still goes along: the text may equal one of its candidates.
    const sent = { id, position, text, candidate_set: set ?? candidates.shownSet, source: place, ...activity.report() };
    const turn = { action, source: place, edit_distance: distance, from: composer.source };
    this.state.turns.push({ ...pendingTurn(position, text, id), ...turn });
    return { id, kind: "turn", position, text, sent };
  }

  /** @param {Pick<outbox.Item, "id" | "kind" | "position" | "text" | "sent">} item */
  #enqueue(item) {
    this.state.items.add(item.id);
    return outbox.enqueue({ ...item, assignment: this.state.id, url: location.pathname, made_at: Date.now() });
  }

  async undo() {
    const { bench, state } = this;
    const { composer, keeper } = bench;
    const last = state.turns.at(-1);
    if (!state.isOpen || !last) return;
    if (!last.turn_id) {
      composer.show(gettext("There is no turn to undo."));
      return;
    }
    const { position, text, source } = keeper.words();
    if (!composer.holdsUntouchedPick) keeper.leaveBehind({ position, text: text.trim(), source });
    state.turns.pop();
    state.undone.add(last.turn_id);
    bench.begin({ text: last.text, source: last.from ?? null });
    composer.focusEnd();
    keeper.keep();
    bench.note(gettext("Turn undone; its words are in the input."));
    if (last.isPending && (await outbox.withdraw(last.turn_id))) return;
    const sent = { turn_id: last.turn_id };
    await this.#enqueue({ id: uuid(), kind: "undo", position: last.position, text: last.text, sent });
  }

  // ---- what the server says ----------------------------------------------------------------------------------------

  /** @param {outbox.Item} item  @param {any} answer */
  #onStored({ position }, { turn, request, assignment }) {
    const { bench, state } = this;
    hideNotices("connection", "signed-out", "refused", "error");
    bench.updateAssignment(assignment);
    if (state.undone.has(turn.id)) return;
    const turnShown = state.turns.find(({ turn_id }) => turn_id === turn.id);
    if (turnShown) Object.assign(turnShown, { ...turn, turn_id: turn.id, isPending: false });
    else if (position === state.position) this.#addForeignTurn(storedTurn(turn, position));
    else if (position > state.position) void bench.reload();
    bench.show();
    if (!state.isBusy) {
      hideNotices("sending"); // it says that leaving has to wait for the last turns
      bench.keeper.adoptVersion(assignment.draft_version, { position: state.position, text: "", source: null });
    }
    bench.candidates.receive(request);
  }

  /** Add a turn that another tab wrote. @param {import("./dialogue.js").Utterance} turn */
  #addForeignTurn(turn) {
    const { keeper } = this.bench;
    const left = keeper.words();
    this.state.turns.push(turn);
    this.bench.begin({ forget: true });
    keeper.moveOn(left);
  }

  /** @param {outbox.Item} item */
  #onQueued({ kind, id, position, text }) {
    const isShown = this.state.turns.some((turn) => turn.turn_id === id);
    if (kind === "undo" || isShown || position !== this.state.position) return;
    this.state.items.add(id);
    this.#addForeignTurn(pendingTurn(position, text, id));
  }

  /** @param {outbox.Item} item  @param {any} answer */
  #onUndone({ position, text }, { request, assignment }) {
    const { bench, state } = this;
    const { composer } = bench;
    bench.updateAssignment(assignment);
    if (position < state.position && state.turns[position].turn_id === null) return;
    const isHere = state.position === position;
    if (!state.isBusy) hideNotices("sending");
    // A page that is before this turn already shows the result of a later undo.
    if (position < state.position && !state.isBusy) {
      const left = bench.keeper.words();
      state.turns = state.turns.slice(0, position);
      bench.begin({ text });
      bench.keeper.moveOn(left);
    }
    if (state.position !== position) return;
    bench.keeper.adoptVersion(assignment.draft_version, { position, text, source: composer.source });
    bench.candidates.receive(request);
    // Which set the undone text was started from, only the server knows after a reload.
    if (isHere && !composer.source && composer.pristine) void bench.keeper.findSource();
  }

  /** The server will not store something: show why, bring the words back, go on from what is stored. */
  async onRefused() {
    const { bench, state } = this;
    const { keeper } = bench;
    const items = await outbox.items(state.id);
    const refused = items.find((item) => item.problem);
    if (!refused?.problem) return;
    const unstored = items.filter((item) => Number(item.seq) >= Number(refused.seq));
    const sent = unstored.filter((item) => item.kind === "turn").map(({ position, text }) => ({ position, text }));
    void keeper.putAside(sent);
    await outbox.remove(unstored);
    // Read only now, when nothing more can be typed before the input is emptied.
    const { position, text } = keeper.words();
    const isSent = sent.some((words) => words.position === position && words.text === text.trim());
    const words = isSent || !text.trim() ? sent : [...sent, { position, text }];
    void keeper.putAside(words);
    const ids = new Set(unstored.map((item) => item.id));
    state.turns = state.turns.filter((turn) => !turn.turn_id || !ids.has(turn.turn_id));
    bench.begin({ forget: true });
    const { code, message, remedy } = refused.problem;
    showNotice("refused", {
      tone: "bad",
      text: message || gettext("A turn was not stored."),
      // The page already does what the server's remedy says.
      remedy: code === "written_elsewhere" ? KEPT_MESSAGE : remedy,
      actions: code === "lease_gone" ? waysOut(bench) : [],
    });
    await bench.reload({ quiet: true });
    await keeper.takeBack(words);
    keeper.keep();
  }
}

export const syncedMessage = () =>
  gettext("This dialogue was changed in another tab or on another device. You now see the saved version.");
