// @ts-check
/**
 * The turn that is written: where its text comes from after a reload, whose text wins, sending it and taking turns back.
 * What the server says comes back as events of the outbox, from this tab or another.
 */
import { call, uuid } from "../shared/api.js";
import { Drafts, setAside, textsSetAside } from "../shared/drafts.js";
import * as outbox from "../shared/outbox.js";
import { gettext, showNotice } from "../shared/page.js";
import { toast } from "../shared/toast.js";
import { hideNotices, pendingTurn, showError, showSignedOut, storedTurn, waysOut } from "./dialogue.js";

/**
 * @typedef {import("./composer.js").Source} Source
 * @typedef {import("./dialogue.js").StoredDraft} StoredDraft
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
      read: () => ({ position: state.position, text: composer.field.value, source: composer.source }),
      time: () => activity.report(),
      onState: (name) => composer.showDraft(composer.text && state.isOpen ? states[name] : ""),
      onConflict: (theirs) => void this.#offerChoice(theirs),
      onOther: () => void bench.reload(),
      onSignedOut: () => showSignedOut(state.urls.login),
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
    this.#rescue(local);
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

  /** Set aside an unsaved draft of another turn. @param {import("../shared/drafts.js").Local | null} local */
  #rescue(local) {
    const { turns, position } = this.bench.state;
    if (!local?.dirty || !local.text.trim() || local.position === position) return;
    if (!turns.some((turn) => turn.text === local.text.trim())) void this.putAside([local.text]);
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
    this.drafts.isPaused = false;
    this.bench.composer.load(theirs.text);
    this.adoptVersion(theirs.version, { position: theirs.position, text: theirs.text, source: null });
    await this.bench.reload({ quiet: true });
    await this.findSource();
  }

  /** Show texts above the input, so that they are not lost. @param {string[]} texts */
  async putAside(texts) {
    const { state, composer } = this.bench;
    const all = [...textsSetAside(state.id), ...texts.filter((text) => text.trim())];
    setAside(state.id, all);
    if (all.length > 0) (await import("./set_aside.js")).showSetAside(state.id, composer);
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
        if (event.signedOut) showSignedOut(this.state.urls.login);
      } else if (event.item.assignment !== this.state.id) return;
      else if (event.kind === "stored" && event.item.kind === "undo") this.#onUndone(event.item, event.answer);
      else if (event.kind === "stored") this.#onStored(event.item, event.answer);
      else if (event.kind === "queued") this.#onQueued(event.item);
      else if (event.kind === "refused") void this.onRefused();
    });
  }

  // ---- what the person does ----------------------------------------------------------------------------------------

  async submit() {
    const { bench, state } = this;
    const { composer, keeper } = bench;
    const { text } = composer;
    if (!state.isOpen) return;
    if (!text || [...text].length > state.settings.max_utterance_length) {
      const isRepeat = performance.now() - this.#sentAt <= TWICE_MS;
      if (!isRepeat) composer.show(text ? "" : gettext("Write something, or pick a candidate."));
      composer.field.focus();
      return;
    }
    const { source } = composer;
    const item = this.#addPendingTurn(text);
    this.#sentAt = performance.now();
    bench.begin({ forget: true });
    bench.conversation.toEnd();
    composer.field.focus(); // it left when Submit was clicked
    hideNotices("conflict", "check");
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
    if (composer.text && !composer.holdsUntouchedPick) void keeper.putAside([composer.text]);
    state.turns.pop();
    state.undone.add(last.turn_id);
    hideNotices("check");
    bench.begin({ text: last.text, source: last.from ?? null });
    composer.focusEnd();
    keeper.keep();
    toast(gettext("Turn undone; its words are in the input."));
    if (last.isPending && (await outbox.withdraw(last.turn_id))) return;
    const { position, text, turn_id } = last;
    await this.#enqueue({ id: uuid(), kind: "undo", position, text, sent: { turn_id } });
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
    bench.show();
    if (!state.isBusy)
      bench.keeper.adoptVersion(assignment.draft_version, { position: state.position, text: "", source: null });
    bench.candidates.receive(request);
  }

  /** Add a turn that another tab wrote. The text in the input stays, unless it is the same. @param {import("./dialogue.js").Utterance} turn */
  #addForeignTurn(turn) {
    const { composer } = this.bench;
    this.state.turns.push(turn);
    this.bench.begin({ text: composer.text === turn.text ? "" : composer.field.value, forget: true });
  }

  /** @param {outbox.Item} item */
  #onQueued({ kind, id, position, text }) {
    const isShown = this.state.turns.some((turn) => turn.turn_id === id);
    if (kind === "undo" || isShown || position !== this.state.position) return;
    this.#addForeignTurn(pendingTurn(position, text, id));
  }

  /** @param {outbox.Item} item  @param {any} answer */
  #onUndone({ position, text }, { request, assignment }) {
    const { bench, state } = this;
    const { composer } = bench;
    bench.updateAssignment(assignment);
    if (position < state.position && state.turns[position].turn_id === null) return;
    const isHere = state.position === position;
    if (!isHere && !state.isBusy) {
      state.turns = state.turns.slice(0, position);
      bench.begin({ text: composer.text || text });
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
    const items = await outbox.items(state.id);
    const refused = items.find((item) => item.problem);
    if (!refused?.problem) return;
    const unstored = items.filter((item) => Number(item.seq) >= Number(refused.seq));
    this.#bringBack(unstored.filter((item) => item.kind === "turn").map((item) => item.text));
    await outbox.remove(unstored);
    const ids = new Set(unstored.map((item) => item.id));
    state.turns = state.turns.filter((turn) => !turn.turn_id || !ids.has(turn.turn_id));
    const { code, message, remedy } = refused.problem;
    showNotice("refused", {
      tone: "bad",
      text: message || gettext("A turn was not stored."),
      // The page already does what the server's remedy says.
      remedy: code === "written_elsewhere" ? syncedMessage() : remedy,
      actions: code === "lease_gone" ? waysOut(bench) : [],
    });
    await bench.reload({ quiet: true });
    bench.keeper.keep();
  }

  /** Put the first text into the input, unless it holds another one; show the rest above it. @param {string[]} texts */
  #bringBack(texts) {
    const { composer, keeper } = this.bench;
    const isTaken = composer.text !== "" && !texts.includes(composer.text);
    const [first, ...rest] = isTaken ? ["", ...texts] : texts;
    if (first) composer.load(first);
    void keeper.putAside(rest);
  }
}

export const syncedMessage = () => gettext("Another tab or device wrote in this dialogue. This is what is stored now.");
