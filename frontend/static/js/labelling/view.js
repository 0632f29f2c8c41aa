// @ts-check
/** What the labelling page shows around the questions: the head, the state of the dialogue, the time floor, notices. */
import { call, isPassing, isSignedOut, Problem } from "../shared/api.js";
import { byId, clock, format, gettext, ngettext, showNotice } from "../shared/page.js";
import { isOpen } from "./queue.js";

/**
 * @typedef {import("../shared/page.js").Notice} Notice
 * @typedef {import("./queue.js").Assignment} Assignment
 * @typedef {import("./queue.js").EmptyReason} EmptyReason
 */

const FLOOR_MARGIN_S = 0.15;
/** @type {Record<string, { text: string, remedy: string }>} */
const STATES = {
  saved: { text: gettext("Saved for later, kept until {when}."), remedy: gettext("Keep answering to resume it.") },
  expired: {
    text: gettext("This dialogue was kept for you until {when}."),
    remedy: gettext("Keep answering to resume it, unless somebody else has taken it."),
  },
  released: {
    text: gettext("You gave this dialogue back."),
    remedy: gettext("You can resume it until somebody else takes it."),
  },
  submitted: {
    text: gettext("You submitted this dialogue."),
    remedy: gettext("Submit again to correct it; the earlier answers are kept as history."),
  },
  confirming: {
    text: gettext("The others have not confirmed their answers yet."),
    remedy: gettext("You have confirmed yours; there is nothing for you to do here."),
  },
  disputed: {
    text: gettext("You and the others disagree about this dialogue."),
    remedy: gettext("A trainer decides; there is nothing for you to do here."),
  },
  decided: {
    text: gettext("A trainer has decided this dialogue."),
    remedy: gettext("If you think something is wrong, ask in the dialogue's thread."),
  },
};

/** @param {HTMLElement} holder  where the words of a control stand, beside its icon and its key */
const wordsOf = (holder) => /** @type {HTMLElement} */ (holder.querySelector("[data-words]"));

export class View {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #tick;
  #pendingText = "";

  /** @param {import("./workbench.js").Workbench} bench */
  constructor(bench) {
    this.bench = bench;
    this.state = bench.state;
  }

  /** Put the dialogue into the address, for a reload, and into the link to its thread. @param {Assignment} assignment */
  showAddress({ id, dialogue }) {
    history.replaceState(null, "", this.state.urls.bench.replace("/0/", `/${id}/`));
    const ask = document.getElementById("ask");
    if (ask instanceof HTMLAnchorElement) ask.href = ask.href.replace(/\/\d+\/?$/, `/${dialogue.id}/`);
  }

  showPanes() {
    byId("nothing").hidden = true;
    byId("sending").prepend(byId("notices"));
    byId("panes").hidden = false;
    for (const body of document.querySelectorAll("#panes .pane-body")) body.scrollTop = 0;
  }

  // ---- the head ----------------------------------------------------------------------------------------------------

  showHead() {
    const { today, done } = this.state;
    const left = today.goal - today.finished;
    byId("stage").textContent = this.#stage();
    const leftToday = format(ngettext("{n} dialogue left today", "{n} dialogues left today", left), { n: left });
    byId("today").textContent = left > 0 ? leftToday : gettext("Today's goal is reached");
    const progress = byId("progress");
    const bar = /** @type {HTMLProgressElement} */ (progress.querySelector("progress"));
    progress.hidden = !done.of;
    Object.assign(bar, { max: done.of || 1, value: Math.min(done.n, done.of) });
    bar.setAttribute("aria-label", gettext("Dialogues that you have labelled"));
    wordsOf(progress).textContent = format(gettext("{n} of {of} labelled"), {
      n: done.n,
      of: done.of,
    });
    this.showLeft();
  }

  #stage() {
    const { current } = this.state;
    if (current?.assignment.stage === "confirmation") return gettext("Confirm");
    return current?.isRevision ? gettext("Revise") : gettext("Label");
  }

  /** Show how many questions are still to be answered. */
  showLeft() {
    const { current } = this.state;
    if (!current) return;
    const left = this.bench.questions.missing().length;
    const text = this.state.isSubmitPending ? this.#pendingText : this.#leftText(current.assignment, left);
    byId("task").textContent = isOpen(current.assignment) ? text : "";
    byId("submit").toggleAttribute("data-ready", left === 0);
    this.#showCrowdedGoals();
  }

  /** @param {Assignment} assignment  @param {number} left */
  #leftText({ stage }, left) {
    if (left === 0) return gettext("Everything is answered; you can submit.");
    if (stage !== "confirmation")
      return format(ngettext("{n} question to answer", "{n} questions to answer", left), { n: left });
    const text = ngettext(
      "Somebody else answered {n} question differently: keep yours or change it.",
      "Somebody else answered {n} questions differently: keep yours or change them.",
      left,
    );
    return format(text, { n: left });
  }

  #showCrowdedGoals() {
    const goals = this.bench.questions.crowdedGoals();
    const message = gettext("{speaker} has {n} goal nuggets; only the first one counts.");
    if (goals.length === 0) this.bench.notices.hide("goals");
    else {
      const text = goals.map((goal) => format(message, goal)).join(" ");
      this.bench.notices.show("goals", { tone: "warn", text });
    }
  }

  /** @param {string} text */
  showDraftState(text) {
    byId("draft-state").textContent = text;
  }

  // ---- the state of the dialogue -----------------------------------------------------------------------------------

  showState() {
    const { current } = this.state;
    if (!current) return;
    const { assignment } = current;
    const open = isOpen(assignment);
    /** @type {HTMLButtonElement} */ (byId("submit")).disabled = !open;
    for (const control of document.querySelectorAll("#skip, [data-leaving=save], [data-leaving=giveBack]"))
      control.toggleAttribute("disabled", assignment.state === "submitted");
    this.bench.editor.note.readOnly = !open;
    const state = stateKey(assignment);
    if (state === "active" || (state === "submitted" && current.isRevision && open)) this.bench.notices.hide("state");
    else this.#showStateNotice(assignment, state);
  }

  /** @param {Assignment} assignment  @param {string} state */
  #showStateNotice(assignment, state) {
    const { text, remedy } = STATES[state];
    const takeUp = { label: gettext("Resume it"), run: () => void this.bench.takeUpAgain() };
    this.bench.notices.show("state", {
      tone: "",
      text: format(text, { when: clock(assignment.lease_until) }),
      remedy,
      actions: assignment.state === "released" ? [takeUp] : [],
    });
  }

  // ---- submitting --------------------------------------------------------------------------------------------------

  /** Show how long the dialogue must still be shown, and whether a submission waits for that. */
  countDown() {
    clearTimeout(this.#tick);
    const { secondsLeft, current, isSubmitPending } = this.state;
    const floor = byId("floor");
    floor.hidden = secondsLeft === 0;
    if (secondsLeft === 0) return;
    const shown = Math.max(1, Math.ceil(secondsLeft - FLOOR_MARGIN_S));
    const time = `${Math.floor(shown / 60)}:${String(shown % 60).padStart(2, "0")}`;
    const values = { min: current?.assignment.min_seconds, clock: time };
    floor.textContent = format(gettext("At least {min} s: {clock} left"), values);
    if (isSubmitPending) this.showPending(values);
    this.#tick = setTimeout(() => this.countDown(), Math.min(secondsLeft, secondsLeft - (shown - 1)) * 1000 + 5);
  }

  stopCountDown() {
    clearTimeout(this.#tick);
    byId("floor").hidden = true;
  }

  /** Whether a submission waits for its time; the button stays as it is and where it is. @param {Record<string, unknown>} [values] */
  showPending(values = {}) {
    const isPending = this.state.isSubmitPending;
    const text = isPending ? format(gettext("Submits in {clock}. To undo, press Esc."), values) : "";
    if (isPending && this.#pendingText === "") byId("live").textContent = text; // read aloud once, not every second
    this.#pendingText = text;
    byId("submit").toggleAttribute("data-pending", isPending);
    byId("cancel").hidden = !isPending;
    for (const id of ["skip", "ask"]) document.getElementById(id)?.toggleAttribute("hidden", isPending);
    byId("submits-when").textContent = isPending ? format(gettext("Submits in {clock}"), values) : "";
    this.showLeft();
  }
}

/** @param {Assignment} assignment  a key of STATES, or "active" */
function stateKey(assignment) {
  const { state, task_state, is_decided } = assignment;
  if (is_decided) return "decided";
  if (task_state === "disputed") return "disputed";
  return state === "submitted" && !isOpen(assignment) ? "confirming" : state;
}

// ---- the page between dialogues -------------------------------------------------------------------------------------

const emptyPagePart = (/** @type {string} */ name) =>
  /** @type {HTMLElement} */ (byId("nothing").querySelector(`[data-${name}]`));

/** @param {EmptyReason} reason  @param {boolean} isAway  the server cannot be reached  @returns {string} the code shown */
export function showEmptyPage(reason, isAway) {
  const { code, message, remedy, details } = reason.code === "loading" && isAway ? offlineReason() : reason;
  showActionsFor(code === "all_done" && details?.open ? "too_many_open" : code);
  emptyPagePart("title").textContent = message;
  emptyPagePart("text").textContent = remedy;
  const freeAt = gettext("The first becomes free at {when} if it is not finished by then.");
  emptyPagePart("more").textContent = details?.until ? format(freeAt, { when: clock(details.until).slice(-5) }) : "";
  const test = byId("nothing").querySelector("a[data-offered-for=admission_needed]");
  if (test instanceof HTMLAnchorElement && details?.url) test.href = details.url;
  byId("nothing").append(byId("notices"));
  byId("panes").hidden = true;
  byId("task").textContent = "";
  byId("nothing").hidden = false;
  emptyPagePart("title").focus();
  return code;
}

/** @returns {EmptyReason} */
function offlineReason() {
  return {
    code: "offline",
    message: gettext("No more dialogues are stored in this browser."),
    remedy: gettext("The next one loads when the connection is back."),
  };
}

/** Show the actions for a code, or those for "other". @param {string} code */
function showActionsFor(code) {
  const holder = byId("nothing");
  const codesOf = (/** @type {Element} */ element) =>
    (element.getAttribute("data-codes") ?? element.getAttribute("data-offered-for") ?? "").split(" ");
  const isKnown = [...holder.querySelectorAll("[data-codes]")].some((element) => codesOf(element).includes(code));
  /** @type {NodeListOf<HTMLElement>} */
  const elements = holder.querySelectorAll("[data-codes], [data-offered-for]");
  for (const element of elements) element.hidden = !codesOf(element).includes(isKnown ? code : "other");
}

/** Say how many submissions wait, on the page between dialogues. @param {number} n */
export function showUnsentCount(n) {
  if (byId("nothing").hidden) return;
  const message = ngettext(
    "{n} submission waits here and is not lost.",
    "{n} submissions wait here and are not lost.",
    n,
  );
  emptyPagePart("more").textContent = format(message, { n });
}

/** @param {import("./workbench.js").Workbench} bench */
export async function offerConfirmations(bench) {
  const { state, data } = bench;
  const address = `/projects/${state.project}/confirmations/?page_size=${data.most_to_confirm}`;
  const found = await call("GET", address).catch(() => ({ results: [] }));
  const ids = found.results.map((/** @type {{ id: number }} */ { id }) => id);
  showConfirmations(bench, ids);
}

/** @param {import("./workbench.js").Workbench} bench  @param {number[]} ids  of the assignments to confirm */
export function showConfirmations(bench, ids) {
  const { state, notices } = bench;
  const waiting = ids.filter((id) => id !== state.current?.assignment.id);
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-confirm]"))) {
    const words = button.querySelector("[data-words]");
    button.hidden = waiting.length === 0;
    const n = waiting.length;
    if (words) words.textContent = format(ngettext("{n} to confirm", "{n} to confirm", n), { n });
    button.onclick = () => void bench.reopen(waiting[0]).catch((error) => notices.showError(error));
  }
}

// ---- notices --------------------------------------------------------------------------------------------------------

export class Notices {
  /** @param {string} login  URL of the page to sign in */
  constructor(login) {
    this.login = login;
  }

  /** @param {string} cause  one notice per cause  @param {Notice} notice */
  show(cause, notice) {
    showNotice(cause, notice);
  }

  /** @param {string[]} causes */
  hide(...causes) {
    for (const cause of causes) showNotice(cause, null);
  }

  /** @param {unknown} error  @param {string} [cause] */
  showError(error, cause = "error") {
    const failed = gettext("That did not work. Nothing was changed; try again.");
    if (isSignedOut(error)) void this.showSignedOut();
    else if (error instanceof Problem && !isPassing(error))
      this.show(cause, { tone: "bad", text: error.message || failed, remedy: error.remedy });
    else this.show(cause, { tone: "warn", text: gettext("No connection."), remedy: failed });
  }

  async showSignedOut() {
    const { signedOutNotice } = await import("../shared/signed_out.js");
    this.show("signed-out", await signedOutNotice(this.login));
  }

  showOffline() {
    this.show("connection", {
      tone: "warn",
      text: gettext("No connection."),
      remedy: gettext(
        "Keep working: everything is kept in this browser and sent, in order, when the connection is back.",
      ),
    });
  }
}
