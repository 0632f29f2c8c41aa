// @ts-check
/** The draft of the turn that is written: where its words come from after a reload, and whose wording wins. */
import { call } from "../shared/api.js";
import { Drafts, setAside, textsSetAside } from "../shared/drafts.js";
import { gettext } from "../shared/page.js";
import { showSignedOut } from "./notices.js";

/**
 * @typedef {import("./composer.js").Source} Source
 * @typedef {import("./dialogue.js").StoredDraft} StoredDraft
 */

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

  /** The words of a stored draft, if they are for the turn that is written now. @param {StoredDraft | null} draft */
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

  /** When the page opens: this browser's words, the server's, or a choice between them. @param {StoredDraft | null} draft */
  restore(draft) {
    const { composer, activity, candidates, state } = this.bench;
    const local = this.drafts.local();
    this.#rescue(local);
    const isForThisTurn = local !== null && local.position === state.position;
    const stored = this.wordsOf(draft);
    const isMine = isForThisTurn && local.text !== "" && (local.dirty || !stored.text || local.text === stored.text);
    composer.load(isMine ? local.text : stored.text, isMine ? local.source : stored.source);
    if (isForThisTurn) activity.begin(local.activity);
    candidates.mark(composer.source);
    const isConflict =
      isMine && local.dirty && stored.text && stored.text !== local.text && local.version !== draft?.version;
    if (isConflict && draft) {
      this.drafts.isPaused = true;
      void this.#offerChoice(draft);
    } else if (!composer.source && draft?.source !== null && stored.text) void this.findSource();
    this.keep();
  }

  /** Unsaved words of another turn than the present one. @param {import("../shared/drafts.js").Local | null} local */
  #rescue(local) {
    const { turns, position } = this.bench.state;
    if (!local?.dirty || !local.text.trim() || local.position === position) return;
    if (!turns.some((turn) => turn.text === local.text.trim())) void this.putAside([local.text]);
  }

  /** After a reload or on another device: which candidate the words were started from. */
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

  /** Words that must stay within reach are shown above the input. @param {string[]} texts */
  async putAside(texts) {
    const { state, composer } = this.bench;
    const all = [...textsSetAside(state.id), ...texts.filter((text) => text.trim())];
    setAside(state.id, all);
    if (all.length > 0) (await import("./set_aside.js")).showSetAside(state.id, composer);
  }
}
