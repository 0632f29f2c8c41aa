// @ts-check
/** The answers to the dialogue that is shown: restored from a draft or a submission, and kept as a draft at every change. */
import { call } from "../shared/api.js";
import { Drafts, LABELS } from "../shared/drafts.js";
import { gettext } from "../shared/messages.js";
import { isOpen } from "./state.js";

/**
 * @typedef {import("./state.js").Answers} Answers
 * @typedef {{ answers: Answers, note: string }} Labels
 * @typedef {Labels & { version: number }} StoredDraft
 * @typedef {import("./state.js").Task} Task
 */

export class Editor {
  /** @type {Drafts | null} */
  drafts = null;

  /**
   * @param {import("./workbench.js").Workbench} bench  @param {import("./questions/questions.js").Questions} questions
   * @param {HTMLTextAreaElement} note
   */
  constructor(bench, questions, note) {
    this.bench = bench;
    this.questions = questions;
    this.note = note;
  }

  /** What is answered now. @returns {Labels} */
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
  }

  keepDraft() {
    this.drafts?.keep();
  }

  /** @param {import("./state.js").Assignment} assignment */
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
        onSignedOut: () => notices.showSignedOut(),
      },
      LABELS,
    );
  }

  /** What was answered before: in this browser, on the server, or in the submission under revision. @param {import("./state.js").Assignment} assignment  @returns {Labels} */
  #restore({ draft, submission }) {
    const local = this.drafts?.local();
    this.bench.activity.begin(local?.activity);
    const stored = draft && LABELS.print(draft) ? draft : null;
    if (!local || (!local.dirty && stored))
      return stored ?? submission ?? { answers: { dialogue: {}, utterances: {} }, note: "" };
    const isConflict = stored && local.version !== stored.version && LABELS.said(stored) !== LABELS.said(local);
    if (isConflict && this.drafts) {
      this.drafts.held = true;
      this.#offerChoice(stored);
    }
    return local;
  }

  /** @param {StoredDraft} theirs  saved in another tab or on another device */
  #offerChoice(theirs) {
    const { notices } = this.bench;
    const mine = this.drafts;
    const choice = (/** @type {string} */ label, /** @type {() => void} */ choose) => {
      const run = () => {
        notices.hide("conflict");
        choose();
      };
      return { label, run };
    };
    notices.show("conflict", {
      tone: "warn",
      text: gettext("The answers to this dialogue were changed in another tab or on another device."),
      actions: [
        choice(gettext("Keep these"), () => mine?.keepMine(theirs.version)),
        choice(gettext("Take the ones there"), () => this.#load(theirs)),
      ],
    });
  }

  /** @param {StoredDraft} draft */
  #load(draft) {
    if (!this.drafts) return;
    this.drafts.held = false;
    this.questions.load(draft.answers);
    this.note.value = draft.note;
    this.drafts.moved(draft.version, draft);
    this.bench.view.showLeft();
  }

  /** Nothing was answered here; what another device answered is shown. */
  async #loadOtherDraft() {
    const { state } = this.bench;
    const id = state.current?.assignment.id;
    const assignment = await call("GET", `/labelling/${id}/`).catch(() => null);
    if (assignment?.draft && state.current?.assignment.id === id) this.#load(assignment.draft);
  }
}
