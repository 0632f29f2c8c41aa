// @ts-check
/**
 * The right side of the workbench as it is drawn: ideas for the opening, then the candidates of the turn in all their
 * states. It says so when nobody generates, when the server is gone, and when some candidates are missing.
 */
import { createElement, format, gettext, ngettext } from "../shared/page.js";

/**
 * @typedef {import("./candidates.js").CandidateRequest} CandidateRequest
 * @typedef {import("./candidates.js").Topic} Topic
 * @typedef {{ text: string, lang: string, title?: string, score?: number }} Row
 */

const AT_ONCE_MS = 150;
const SLOW_MS = { queued: 8000, running: 20_000 };
const WAITING = { queued: gettext("Waiting for the model"), running: gettext("Being generated") };
const WAITING_FOR = { queued: gettext("Waiting for the model · {s} s"), running: gettext("Being generated · {s} s") };
export const SERVER_AWAY = gettext("The server cannot be reached. Candidates will appear when it is back.");

/** @param {CandidateRequest} request */
export const isLive = (request) => request.state === "queued" || request.state === "running";

/** @param {number | null} ms */
const formatSeconds = (ms) => ((ms ?? 0) / 1000).toFixed(1);

/** @param {"queued" | "running"} state  @param {number} workers */
function slowText(state, workers) {
  if (state === "running") return gettext("Taking longer than usual: a worker is still generating them · {s} s");
  return ngettext(
    "Taking longer than usual: {n} worker is running but has not started on them yet · {s} s",
    "Taking longer than usual: {n} workers are running, but none has started on them yet · {s} s",
    workers,
  );
}

/** Whole seconds, and none at first: a number that runs draws the eye away from the writing. @param {CandidateRequest | undefined} request */
function waitingText(request) {
  const waited = request?.waited_ms ?? 0;
  const workers = request?.workers_alive ?? 0;
  const state = request?.state === "running" ? "running" : "queued";
  if (waited < 1000) return WAITING[state];
  const message = waited >= SLOW_MS[state] ? slowText(state, workers) : WAITING_FOR[state];
  return format(message, { n: workers, s: Math.floor(waited / 1000) });
}

export class CandidateList {
  /**
   * @param {{ panel: HTMLElement, lang: string, candidates: number, onPick: (place: number) => void, onMore: () => void,
   *   onSet: (ordinal: number) => void }} options
   *   candidates: how many a set has
   */
  constructor(options) {
    this.options = options;
    const part = (/** @type {string} */ name) =>
      /** @type {HTMLElement} */ (options.panel.querySelector(`[data-${name}]`));
    this.title = part("title");
    this.more = /** @type {HTMLButtonElement} */ (part("more"));
    this.moreWords = /** @type {HTMLElement} */ (this.more.querySelector("[data-words]"));
    this.sets = /** @type {HTMLSelectElement} */ (part("sets"));
    this.model = part("model");
    this.list = part("list");
    this.message = part("message");
    this.status = part("status");
    this.live = part("live");
    this.row = /** @type {HTMLTemplateElement} */ (document.getElementById("candidate-row"));
    this.more.addEventListener("click", () => this.more.getAttribute("aria-disabled") !== "true" && options.onMore());
    this.sets.addEventListener("change", () => options.onSet(Number(this.sets.value)));
    this.list.addEventListener("click", (event) => {
      const row = event.target instanceof Element && event.target.closest("[data-place]");
      if (row instanceof HTMLElement) options.onPick(Number(row.dataset.place));
    });
  }

  /** The rows of the turn before are still shown: nothing can be picked. */
  freeze() {
    this.list.inert = true;
  }

  get isFrozen() {
    return this.list.inert;
  }

  /** Another turn is written: its candidates are read from the first one on. */
  scrollToStart() {
    this.list.parentElement?.scrollTo({ top: 0 });
  }

  /** Nothing new to read out. */
  silence() {
    this.live.textContent = "";
  }

  /** Empty but for the rows. @param {{ isOpening: boolean, isOpen: boolean }} turn  isOpen: the dialogue can be written on */
  reset({ isOpening, isOpen }) {
    this.title.textContent = isOpening ? gettext("Ideas for the opening") : gettext("Candidates");
    this.list.inert = false;
    this.message.hidden = true;
    this.status.className = "";
    this.silence();
    this.options.panel.hidden = !isOpen; // a closed dialogue has nothing to choose
  }

  // ---- controls ----------------------------------------------------------------------------------------------------

  /** @param {{ text: string, title?: string, isOff: boolean, isAgain?: boolean }} button  isAgain: it tries again */
  showMoreButton({ text, title = "", isOff, isAgain = false }) {
    this.moreWords.textContent = text;
    this.more.setAttribute("aria-disabled", String(isOff));
    this.more.title = title;
    this.more.classList.toggle("primary", isAgain);
    this.more.classList.toggle("quiet", !isAgain);
  }

  /** @param {number} count  @param {number} current */
  showSets(count, current) {
    const option = (/** @type {number} */ n) => new Option(format(gettext("Set {n}"), { n: n + 1 }), String(n));
    this.sets.hidden = count < 2;
    this.sets.replaceChildren(...Array.from({ length: count }, (_, n) => option(n)));
    this.sets.value = String(current);
  }

  /** @param {(place: number) => boolean} isMarked */
  mark(isMarked) {
    for (const row of this.list.querySelectorAll("[data-place]"))
      row.setAttribute("aria-pressed", String(isMarked(Number(row.getAttribute("data-place")))));
  }

  // ---- rows --------------------------------------------------------------------------------------------------------

  /** @param {Topic[]} ideas  @param {boolean} isOpen */
  showIdeas(ideas, isOpen) {
    this.model.textContent = "";
    this.status.textContent = isOpen ? gettext("Start from one of these ideas, or write about something else.") : "";
    this.#showRows(ideas.map(({ title, example, language }) => ({ title, text: example, lang: language })));
  }

  /**
   * @param {CandidateRequest | undefined} request
   * @param {{ isOpen: boolean, isUnsent: boolean }} turn  isUnsent: the turn before waits to be sent
   */
  showRequest(request, { isOpen, isUnsent }) {
    if (!this.model.hidden) this.model.textContent = this.model.title = request?.model_version ?? ""; // for managers
    if (!isOpen) {
      this.status.textContent = "";
      this.#showRows([]);
    } else if (!request && isUnsent) this.#showUnsent();
    else if (!request || isLive(request)) this.#showWaiting(request);
    else if (request.state === "done") this.#showCandidates(request);
    else this.#showFailure(request);
    this.list.style.setProperty("--rows", String(this.options.candidates));
  }

  /** @param {CandidateRequest} request */
  #showCandidates({ candidates, failures, waited_ms, generated_ms, ordinal }) {
    const { lang, candidates: wanted } = this.options;
    const n = candidates.length;
    this.#showRows(candidates.map(({ text, score }) => ({ text, lang, score })));
    const isAtOnce = (waited_ms ?? 0) <= AT_ONCE_MS && ordinal === 0;
    const ready = isAtOnce
      ? gettext("Ready at once · generated in {s} s while you wrote")
      : gettext("Ready · generated in {s} s");
    const partial = format(gettext("{n} of {wanted} candidates."), { n, wanted });
    this.status.textContent =
      n < wanted ? [partial, ...new Set(failures)].join(" ") : format(ready, { s: formatSeconds(generated_ms) });
    if (n < wanted) this.status.className = "is-warn";
    this.live.textContent = format(ngettext("{n} candidate is here.", "{n} candidates are here.", n), { n });
  }

  /** @param {CandidateRequest} request */
  #showFailure({ state, error, remedy }) {
    const cause =
      state === "failed"
        ? error || gettext("The candidates could not be generated.")
        : gettext("These candidates were cancelled.");
    this.showMessage(cause, remedy, "bad");
  }

  #showUnsent() {
    if (navigator.onLine)
      this.showMessage(
        gettext(
          "Candidates appear once your turn is saved. You can also write your own reply now; it counts as a rewrite.",
        ),
      );
    else
      this.showMessage(
        gettext("No connection. Candidates will appear when it is back."),
        gettext("You can write your own reply in the meantime; nothing is lost."),
      );
  }

  /** @param {CandidateRequest | undefined} request */
  #showWaiting(request) {
    if (request?.queue_reachable === false) {
      this.showMessage(
        gettext("The queue cannot be reached, so candidates have to wait. What you have sent is saved."),
        gettext(
          "They will appear when the queue is back. You can write without them; tell your manager if this goes on.",
        ),
      );
      return;
    }
    if (request?.workers_alive === 0) {
      this.showMessage(
        gettext("No worker is running, so no candidates can be generated."),
        gettext("This page keeps trying. You can write without them; tell your manager if this goes on."),
      );
      return;
    }
    if (!this.list.querySelector(".skeleton")) this.list.replaceChildren(this.#createSkeleton());
    this.status.textContent = waitingText(request);
  }

  #createSkeleton() {
    const skeleton = createElement("li", "skeleton");
    skeleton.setAttribute("aria-hidden", "true");
    skeleton.append(...Array.from({ length: this.options.candidates }, () => createElement("i")));
    return skeleton;
  }

  /** @param {string} text  under the list */
  showWarning(text) {
    this.status.textContent = text;
    this.status.className = "is-warn";
  }

  /** A message instead of the rows. @param {string} cause  @param {string} [remedy]  @param {"warn" | "bad"} [tone] */
  showMessage(cause, remedy = "", tone = "warn") {
    this.#showRows([]);
    this.message.hidden = false;
    this.message.className = `alert ${tone}`;
    const [causeWords, remedyWords] = this.message.querySelectorAll("[data-cause], [data-remedy]");
    this.status.textContent = "";
    if (causeWords.textContent === cause && remedyWords.textContent === remedy) return; // it is not read out again
    causeWords.textContent = cause;
    remedyWords.textContent = remedy;
  }

  /** @param {Row[]} rows */
  #showRows(rows) {
    this.list.replaceChildren(...rows.map((row, place) => this.#createRow(row, place)));
  }

  /** @param {Row} row  @param {number} place */
  #createRow({ text, lang, title = "", score }, place) {
    const row = /** @type {DocumentFragment} */ (this.row.content.cloneNode(true));
    const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (row.querySelector(`[data-${name}]`));
    part("place").dataset.place = String(place);
    part("number").textContent = String(place + 1);
    part("text").textContent = text || title;
    part("text").lang = lang;
    part("score").textContent = score === undefined ? "" : score.toFixed(2);
    part("score").hidden = score === undefined;
    part("topic").textContent = text ? title : "";
    part("topic").hidden = !(text && title);
    return row;
  }
}
