// @ts-check
/**
 * The right side of the workbench: ideas for the opening, then the candidates of the turn in all their states, among
 * them those that are no use to anybody unsaid: nobody generates, the server is gone, some of the seven are missing.
 */

import { call, isPassing, isSignedOut, Problem } from "../shared/api.js";
import { format, gettext, ngettext } from "../shared/messages.js";

/**
 * @typedef {{
 *   id: string, position: number, ordinal: number, state: "queued" | "running" | "done" | "failed" | "cancelled",
 *   candidates: { text: string, score?: number }[], candidate_set: number | null, model_version: string, error: string, remedy: string,
 *   failures: string[], workers_alive: number, waited_ms: number | null, generated_ms: number | null,
 * }} CandidateRequest
 * @typedef {{ title: string, example: string, language: string }} Topic
 */

const SKELETON_AFTER_MS = 180; // a set that is there at once shows without a flash
const AT_ONCE_MS = 150;
const SLOW_MS = { queued: 8000, running: 20_000 };
const IDEAS_SHOWN = 7;
const WAITING = { queued: gettext("Waiting for the model"), running: gettext("Being generated") };
const WAITING_FOR = { queued: gettext("Waiting for the model · {s} s"), running: gettext("Being generated · {s} s") };

/** @param {"queued" | "running"} state  @param {number} workers */
function slowWords(state, workers) {
  if (state === "running") return gettext("Taking longer than usual: a worker has begun and not finished yet · {s} s");
  return ngettext(
    "Taking longer than usual: {n} worker is there and has not begun it yet · {s} s",
    "Taking longer than usual: {n} workers are there, none has begun it yet · {s} s",
    workers,
  );
}

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** @param {number | null} ms */
const seconds = (ms) => ((ms ?? 0) / 1000).toFixed(1);
/** @param {CandidateRequest} request */
const isLive = (request) => request.state === "queued" || request.state === "running";

/** How long until the next question, ms. @param {number} asked  for so long, ms  @param {CandidateRequest} request */
function pause(asked, request) {
  if (document.hidden) return 3000;
  if (request.workers_alive === 0) return 1500;
  return asked < 2000 ? 120 : asked < 10_000 ? 400 : asked < 60_000 ? 1000 : 3000;
}

export class Candidates {
  /** What is known of each turn: position → its requests by ordinal. @type {Map<number, CandidateRequest[]>} */
  #known = new Map();
  #position = 0;
  #shownOrdinal = 0;
  #ideasFrom = 0;
  /** Polling belongs to one request; a newer one makes the older loop end. */
  #turn = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #skeleton;
  #isOpen = true;
  #isUnsent = false;
  /** A place that was asked for before its candidates were there. @type {number | null} */
  #wished = null;
  /** @type {import("./composer.js").Source | null} */
  #marked = null;

  /**
   * @param {{ panel: HTMLElement, lang: string, assignment: number, topics: Topic[],
   *   settings: { candidates: number, new_sets_per_turn: number },
   *   onPick: (text: string, source: import("./composer.js").Source | null, place: number) => void,
   *   onShown: (what: Record<string, unknown>) => void, onAsked: (ordinal: number) => void }} options
   */
  constructor(options) {
    this.options = options;
    const { panel } = options;
    const find = (/** @type {string} */ name) => /** @type {HTMLElement} */ (panel.querySelector(`[data-${name}]`));
    this.title = find("title");
    this.more = /** @type {HTMLButtonElement} */ (find("more"));
    this.moreWords = /** @type {HTMLElement} */ (this.more.querySelector("[data-words]"));
    this.sets = /** @type {HTMLSelectElement} */ (find("sets"));
    this.model = find("model");
    this.list = find("list");
    this.message = find("message");
    this.status = find("status");
    this.live = find("live");
    this.row = /** @type {HTMLTemplateElement} */ (document.getElementById("candidate-row"));
    this.more.addEventListener("click", () => void this.#onMore());
    this.sets.addEventListener("change", () => void this.#onSet(Number(this.sets.value)));
    this.list.addEventListener("click", (event) => {
      const row = event.target instanceof Element && event.target.closest("[data-place]");
      if (row instanceof HTMLElement) this.pick(Number(row.dataset.place));
    });
  }

  /** The finished sets of this turn, for telling where a text comes from. */
  shown() {
    return this.#requests()
      .filter((request) => request?.candidate_set)
      .map((request) => ({
        id: /** @type {number} */ (request.candidate_set),
        ordinal: request.ordinal,
        texts: request.candidates.map((candidate) => candidate.text),
      }));
  }

  /** @returns {number | null} the set that is looked at */
  get present() {
    return this.#requests()[this.#shownOrdinal]?.candidate_set ?? null;
  }

  /** Nothing is known of this turn: the server has not been asked, or has not answered. */
  get areUnknown() {
    return this.#position > 0 && this.#requests().length === 0;
  }

  /** @param {boolean} isOpen  whether picking is of use */
  open(isOpen) {
    if (isOpen === this.#isOpen) return;
    this.#isOpen = isOpen;
    this.#show();
  }

  #requests() {
    return this.#known.get(this.#position) ?? [];
  }

  /**
   * Another turn is written now. What is known of it is shown; else `later` says what to do until it is.
   * @param {number} position  @param {{ isOpen: boolean, forget?: boolean }} how  forget: its context has changed
   */
  begin(position, { isOpen, forget = false }) {
    for (const known of [...this.#known.keys()]) {
      if (known > position || (forget && known === position)) this.#known.delete(known);
    }
    this.#turn += 1;
    this.#position = position;
    this.#isOpen = isOpen;
    this.#isUnsent = false;
    this.#wished = null;
    this.#shownOrdinal = Math.max(0, this.#requests().length - 1);
    this.#marked = null;
    this.live.textContent = "";
    clearTimeout(this.#skeleton);
    if (position === 0 || !isOpen || this.#requests().length > 0) this.#show();
    else {
      this.list.inert = true;
      this.#skeleton = setTimeout(() => this.#show(), SKELETON_AFTER_MS);
    }
    const newest = this.#requests().at(-1);
    if (newest && isLive(newest)) void this.#follow(newest);
  }

  /** What the server says of this turn's newest request. @param {CandidateRequest | null} request */
  take(request) {
    if (!request || request.position !== this.#position) return;
    const isNew = !this.#requests()[request.ordinal];
    this.#store(request);
    if (isNew) this.#shownOrdinal = request.ordinal;
    if (isLive(request)) void this.#follow(request);
    else this.#show();
  }

  /** @param {CandidateRequest} request */
  #store(request) {
    const requests = this.#requests();
    requests[request.ordinal] = request;
    this.#known.set(request.position, requests);
  }

  /** Ask until it is there. @param {CandidateRequest} request */
  async #follow(request) {
    this.#turn += 1;
    const turn = this.#turn;
    const begun = performance.now();
    let current = request;
    clearTimeout(this.#skeleton);
    this.#skeleton = setTimeout(() => turn === this.#turn && this.#show(), SKELETON_AFTER_MS);
    while (isLive(current)) {
      await sleep(pause(performance.now() - begun, current));
      if (turn !== this.#turn) return;
      try {
        current = await call("GET", `/candidate-requests/${request.id}/`);
      } catch (error) {
        if (turn === this.#turn)
          this.#say(gettext("The server cannot be reached. Candidates come when it answers again."), "", "warn");
        if (!isPassing(error) && !isSignedOut(error)) return;
        await sleep(2000);
        continue;
      }
      if (turn !== this.#turn) return;
      this.#store(current);
      if (!isLive(current) || performance.now() - begun > SKELETON_AFTER_MS) this.#show();
    }
  }

  /** New candidates; the same button tries failed ones again, and turns over the ideas for the opening. */
  async #onMore() {
    if (this.more.getAttribute("aria-disabled") === "true") return;
    if (this.#position === 0) {
      this.#ideasFrom += IDEAS_SHOWN;
      this.#show();
      return;
    }
    const newest = this.#requests().at(-1);
    if (!newest) return;
    const isAgain = newest.state === "failed" || newest.state === "cancelled";
    const ordinal = isAgain ? newest.ordinal : newest.ordinal + 1;
    this.options.onAsked(ordinal);
    const position = this.#position;
    try {
      const asked = isAgain
        ? await call("POST", `/candidate-requests/${newest.id}/retry/`, {})
        : await call("POST", `/assignments/${this.options.assignment}/candidates/`, { ordinal });
      if (position !== this.#position) return;
      this.#store(asked);
      this.#shownOrdinal = ordinal;
      if (isLive(asked)) void this.#follow(asked);
      else this.#show();
    } catch (error) {
      const { message, remedy } =
        error instanceof Problem
          ? error
          : { message: gettext("The server cannot be reached. Candidates come when it answers again."), remedy: "" };
      this.status.textContent = `${message} ${remedy}`;
      this.status.className = "is-warn";
    }
  }

  /** Look at another set of this turn. @param {number} ordinal */
  async #onSet(ordinal) {
    this.#shownOrdinal = ordinal;
    await this.load(ordinal).catch(() => undefined);
    this.#show();
  }

  /** A set that an earlier visit of this page asked for. @param {number} ordinal */
  async load(ordinal) {
    if (this.#requests()[ordinal] || this.#position === 0) return;
    this.#store(await call("POST", `/assignments/${this.options.assignment}/candidates/`, { ordinal }));
  }

  /** @param {number} place  from 0  @returns {boolean} whether there is such a candidate */
  pick(place) {
    this.#wished = null;
    if (this.list.inert || !this.#isOpen) return false;
    if (this.#position === 0) {
      const idea = this.#ideas()[place];
      if (idea) this.options.onPick(idea.example || idea.title, null, place);
      return Boolean(idea);
    }
    const request = this.#requests()[this.#shownOrdinal];
    const text = request?.candidates[place]?.text;
    if (text === undefined || !request.candidate_set) return false;
    this.options.onPick(text, { set: request.candidate_set, place, text, ordinal: request.ordinal }, place);
    return true;
  }

  /**
   * A place that is asked for while the set is on its way is picked when it comes; the digit is no word of the turn.
   * @param {number} place  @returns {boolean} whether there is anything to wait for
   */
  wish(place) {
    const request = this.#requests()[this.#shownOrdinal];
    const isComing = request ? isLive(request) : !this.#isUnsent && navigator.onLine;
    if (!isComing || !this.#isOpen || this.#position === 0 || place >= this.options.settings.candidates) return false;
    this.#wished = place;
    return true;
  }

  /** Something was written instead. */
  forgetWish() {
    this.#wished = null;
  }

  #grant() {
    const request = this.#requests()[this.#shownOrdinal];
    if (this.#wished === null || !request || isLive(request)) return;
    this.pick(this.#wished);
  }

  /** Which candidate the text in the input was started from. @param {import("./composer.js").Source | null} source */
  mark(source) {
    this.#marked = source;
    for (const row of this.list.querySelectorAll("[data-place]")) {
      const place = Number(row.getAttribute("data-place"));
      const isMarked = source !== null && source.set === this.present && source.place === place;
      row.setAttribute("aria-pressed", String(isMarked));
    }
  }

  // ---- what is seen --------------------------------------------------------------------------------------------------

  #ideas() {
    const { topics } = this.options;
    const count = Math.min(IDEAS_SHOWN, topics.length);
    return Array.from({ length: count }, (_, n) => topics[(this.#ideasFrom + n) % topics.length]);
  }

  #show() {
    clearTimeout(this.#skeleton);
    const isOpening = this.#position === 0;
    this.title.textContent = isOpening ? gettext("Ideas for the opening") : gettext("Candidates");
    this.list.inert = false;
    this.message.hidden = true;
    this.status.className = "";
    this.live.textContent = "";
    this.options.panel.hidden = !this.#isOpen; // a closed dialogue has nothing to choose
    this.#showSets();
    if (isOpening) this.#showIdeas();
    else this.#showRequest(this.#requests()[this.#shownOrdinal]);
    this.#showMore();
    this.mark(this.#marked);
    this.#grant();
  }

  #showMore() {
    const { settings, topics } = this.options;
    const newest = this.#requests().at(-1);
    const isAgain = newest?.state === "failed" || newest?.state === "cancelled";
    const isOver = !isAgain && (newest?.ordinal ?? 0) >= settings.new_sets_per_turn;
    const isBusy = !newest || isLive(newest);
    const isOff = this.#position === 0 ? topics.length <= IDEAS_SHOWN : isOver || isBusy;
    this.moreWords.textContent =
      this.#position === 0 ? gettext("Other ideas") : isAgain ? gettext("Try again") : gettext("New");
    this.more.setAttribute("aria-disabled", String(isOff || !this.#isOpen));
    this.more.title = this.#position > 0 && isOver ? gettext("No more new sets in this turn.") : "";
    this.more.classList.toggle("primary", isAgain);
    this.more.classList.toggle("quiet", !isAgain);
  }

  #showSets() {
    const count = (this.#requests().at(-1)?.ordinal ?? 0) + 1;
    this.sets.hidden = count < 2;
    this.sets.replaceChildren(
      ...Array.from({ length: count }, (_, n) => new Option(format(gettext("Set {n}"), { n: n + 1 }), String(n))),
    );
    this.sets.value = String(this.#shownOrdinal);
  }

  #showIdeas() {
    this.model.textContent = "";
    this.status.textContent = this.#isOpen ? gettext("Take an idea as a start, or write about something else.") : "";
    this.#rows(this.#ideas().map(({ title, example, language }) => ({ title, text: example, lang: language })));
  }

  /** @param {CandidateRequest | undefined} request */
  #showRequest(request) {
    const { settings, lang } = this.options;
    this.model.textContent = this.model.title = request?.model_version ?? "";
    if (!this.#isOpen) {
      this.status.textContent = "";
      this.#rows([]);
    } else if (!request || isLive(request)) this.#showWaiting(request);
    else if (request.state === "done") {
      this.#rows(request.candidates.map(({ text, score }) => ({ text, lang, score })));
      this.#showDone(request);
    } else {
      const cause =
        request.state === "failed"
          ? request.error || gettext("The candidates failed.")
          : gettext("These candidates were cancelled.");
      this.#say(cause, request.remedy, "bad");
    }
    this.list.style.setProperty("--rows", String(settings.candidates));
  }

  /** @param {CandidateRequest} request */
  #showDone(request) {
    const { settings } = this.options;
    const count = request.candidates.length;
    const isAtOnce = (request.waited_ms ?? 0) <= AT_ONCE_MS && request.ordinal === 0;
    const ready = format(
      isAtOnce ? gettext("Ready at once · generated in {s} s while you wrote") : gettext("Ready · generated in {s} s"),
      { s: seconds(request.generated_ms) },
    );
    if (count < settings.candidates) {
      const partial = format(gettext("{n} of {wanted} candidates."), { n: count, wanted: settings.candidates });
      this.status.textContent = [partial, ...new Set(request.failures)].join(" ");
      this.status.className = "is-warn";
    } else this.status.textContent = ready;
    this.live.textContent = format(ngettext("{n} candidate is here.", "{n} candidates are here.", count), { n: count });
    this.options.onShown({ set: request.candidate_set, ordinal: request.ordinal });
  }

  /** @param {CandidateRequest | undefined} request */
  #showWaiting(request) {
    const { settings } = this.options;
    if (!request && this.#isUnsent) {
      if (navigator.onLine)
        this.#say(
          gettext("Candidates come when your turn is stored. Go on by yourself if you like: that counts as rewriting."),
          "",
          "warn",
        );
      else
        this.#say(
          gettext("No connection. Candidates come when it is back."),
          gettext("Go on writing by yourself if you like: nothing is lost."),
          "warn",
        );
      return;
    }
    if (request && request.workers_alive === 0) {
      this.#say(
        gettext("No worker is running, so no candidates come."),
        gettext("This page keeps asking. You can write without them; tell your manager if it lasts."),
        "warn",
      );
      return;
    }
    if (!this.list.querySelector(".skeleton")) {
      const skeleton = document.createElement("li");
      skeleton.className = "skeleton";
      skeleton.setAttribute("aria-hidden", "true");
      skeleton.append(...Array.from({ length: settings.candidates }, () => document.createElement("i")));
      this.list.replaceChildren(skeleton);
    }
    const waited = request?.waited_ms ?? 0;
    const kind = request?.state === "running" ? "running" : "queued";
    const values = { n: request?.workers_alive, s: Math.floor(waited / 1000) };
    // Whole seconds, and none at first: a number that runs draws the eye away from the writing.
    this.status.textContent =
      waited < 1000
        ? WAITING[kind]
        : format(waited >= SLOW_MS[kind] ? slowWords(kind, request?.workers_alive ?? 0) : WAITING_FOR[kind], values);
  }

  /** The turn before waits to be sent, so nobody has been asked yet. */
  showUnsent() {
    if (!this.areUnknown || !this.#isOpen) return;
    this.#isUnsent = true;
    this.#show();
  }

  /** Words in place of the rows. @param {string} cause  @param {string} remedy  @param {"warn" | "bad"} tone */
  #say(cause, remedy, tone) {
    this.#rows([]);
    this.message.hidden = false;
    this.message.className = `alert ${tone}`;
    const [causeWords, remedyWords] = this.message.querySelectorAll("[data-cause], [data-remedy]");
    this.status.textContent = "";
    if (causeWords.textContent === cause && remedyWords.textContent === remedy) return;
    causeWords.textContent = cause;
    remedyWords.textContent = remedy;
  }

  /** @param {{ text: string, lang: string, title?: string, score?: number }[]} rows */
  #rows(rows) {
    this.list.replaceChildren(
      ...rows.map(({ text, lang, title = "", score }, place) => {
        const row = /** @type {DocumentFragment} */ (this.row.content.cloneNode(true));
        const find = (/** @type {string} */ name) => /** @type {HTMLElement} */ (row.querySelector(`[data-${name}]`));
        find("place").dataset.place = String(place);
        find("number").textContent = String(place + 1);
        find("text").textContent = text || title;
        find("text").lang = lang;
        find("score").textContent = score === undefined ? "" : score.toFixed(2);
        find("score").hidden = score === undefined;
        find("topic").textContent = text ? title : "";
        find("topic").hidden = !(text && title);
        return row;
      }),
    );
  }
}
