// @ts-check
/**
 * The candidates of every turn: asked for, waited for, and picked. candidate_list.js draws them. Also the keys that no
 * control declares: digits pick a candidate from anywhere but a field, with Alt from there too. In the input digits follow
 * the composer's own rule; all other keys stand on their controls (data-key).
 */
import { call, isPassing, isSignedOut, Problem } from "../shared/api.js";
import { isComposing, isTyping } from "../shared/keys.js";
import { gettext, joinSentences } from "../shared/page.js";
import { CandidateList, isLive, SERVER_AWAY } from "./candidate_list.js";

/**
 * @typedef {import("./composer.js").Source} Source
 * @typedef {{
 *   id: string, position: number, ordinal: number, state: "queued" | "running" | "done" | "failed" | "cancelled",
 *   candidates: { text: string, score?: number }[], candidate_set: number | null, model_version: string, error: string, remedy: string,
 *   failures: string[], workers_alive: number, queue_reachable: boolean, waited_ms: number | null, generated_ms: number | null,
 * }} CandidateRequest
 * @typedef {{ title: string, example: string, language: string }} Topic
 */

const SKELETON_AFTER_MS = 180; // a set that is there at once shows without a flash
const IDEAS_SHOWN = 7;

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {CandidateRequest | undefined} request */
const isRepeatable = (request) => request?.state === "failed" || request?.state === "cancelled";

/** How long until the server is asked again, ms. @param {number} waited  for so long, ms  @param {CandidateRequest} request */
function pollInterval(waited, request) {
  if (document.hidden) return 3000;
  if (request.workers_alive === 0 || !request.queue_reachable) return 1500;
  return waited < 2000 ? 120 : waited < 10_000 ? 400 : waited < 60_000 ? 1000 : 3000;
}

export class Candidates {
  /** Requests of each turn: position → requests by ordinal. @type {Map<number, CandidateRequest[]>} */
  #known = new Map();
  #position = 0;
  #shownOrdinal = 0;
  #ideasFrom = 0;
  /** Polling belongs to one request; a newer one makes the older loop end. */
  #polling = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #showLater;
  #isOpen = true;
  #isUnsent = false;
  /** A place that was asked for before its candidates were there. @type {number | null} */
  #wishedPlace = null;
  /** @type {Source | null} */
  #marked = null;

  /**
   * @param {{ panel: HTMLElement, lang: string, assignment: number, topics: Topic[],
   *   settings: { candidates: number, new_sets_per_turn: number },
   *   onPick: (text: string, source: Source | null, place: number) => void,
   *   onShown: (set: Record<string, unknown>) => void, onAsked: (ordinal: number) => void }} options
   */
  constructor(options) {
    this.options = options;
    this.view = new CandidateList({
      ...{ panel: options.panel, lang: options.lang, candidates: options.settings.candidates },
      onPick: (place) => this.pick(place),
      onMore: () => void this.#requestMore(),
      onSet: (ordinal) => void this.#showSet(ordinal),
    });
  }

  #requests() {
    return this.#known.get(this.#position) ?? [];
  }

  get #shownRequest() {
    return this.#requests()[this.#shownOrdinal];
  }

  /** The finished sets of this turn, for telling where a text comes from. */
  finishedSets() {
    return this.#requests()
      .filter((request) => request?.candidate_set)
      .map((request) => ({
        id: /** @type {number} */ (request.candidate_set),
        ordinal: request.ordinal,
        texts: request.candidates.map((candidate) => candidate.text),
      }));
  }

  /** @returns {number | null} the set that is looked at */
  get shownSet() {
    return this.#shownRequest?.candidate_set ?? null;
  }

  /** Whether no request of this turn is known: the server was not asked, or did not answer. */
  get areUnknown() {
    return this.#position > 0 && this.#requests().length === 0;
  }

  /** @param {boolean} isOpen  whether picking is of use */
  setOpen(isOpen) {
    if (isOpen === this.#isOpen) return;
    this.#isOpen = isOpen;
    this.#show();
  }

  /**
   * Another turn is written now. What is known of it is shown; the rows of the turn before stay a moment otherwise.
   * @param {number} position  @param {{ isOpen: boolean, forget?: boolean }} how  forget: its context has changed
   */
  begin(position, { isOpen, forget = false }) {
    for (const known of [...this.#known.keys()]) {
      if (known > position || (forget && known === position)) this.#known.delete(known);
    }
    this.#polling += 1;
    this.#position = position;
    this.#isOpen = isOpen;
    this.#isUnsent = false;
    this.#wishedPlace = null;
    this.#shownOrdinal = Math.max(0, this.#requests().length - 1);
    this.#marked = null;
    this.view.silence();
    this.view.scrollToStart();
    clearTimeout(this.#showLater);
    if (position === 0 || !isOpen || this.#requests().length > 0) this.#show();
    else {
      this.view.freeze();
      this.#showLater = setTimeout(() => this.#show(), SKELETON_AFTER_MS);
    }
    const newest = this.#requests().at(-1);
    if (newest && isLive(newest)) void this.#poll(newest);
  }

  // ---- requests ----------------------------------------------------------------------------------------------------

  /** Store the newest request of this turn, as the server sent it. @param {CandidateRequest | null} request */
  receive(request) {
    if (!request || request.position !== this.#position) return;
    const isNew = !this.#requests()[request.ordinal];
    this.#store(request);
    if (isNew) this.#shownOrdinal = request.ordinal;
    this.#pollOrShow(request);
  }

  /** @param {CandidateRequest} request */
  #store(request) {
    const requests = this.#requests();
    requests[request.ordinal] = request;
    this.#known.set(request.position, requests);
  }

  /** @param {CandidateRequest} request */
  #pollOrShow(request) {
    if (isLive(request)) void this.#poll(request);
    else this.#show();
  }

  /** Poll until the candidates are there. @param {CandidateRequest} request */
  async #poll(request) {
    this.#polling += 1;
    const polling = this.#polling;
    const begun = performance.now();
    let current = request;
    clearTimeout(this.#showLater);
    this.#showLater = setTimeout(() => polling === this.#polling && this.#show(), SKELETON_AFTER_MS);
    while (isLive(current)) {
      await sleep(pollInterval(performance.now() - begun, current));
      if (polling !== this.#polling) return;
      try {
        current = await call("GET", `/candidate-requests/${request.id}/`);
      } catch (error) {
        if (polling === this.#polling) this.view.showMessage(SERVER_AWAY);
        if (!isPassing(error) && !isSignedOut(error)) return;
        await sleep(2000);
        continue;
      }
      if (polling !== this.#polling) return;
      this.#store(current);
      if (!isLive(current) || performance.now() - begun > SKELETON_AFTER_MS) this.#show();
    }
  }

  /** New candidates; the same button tries failed ones again, and turns over the ideas for the opening. */
  async #requestMore() {
    if (this.#position === 0) {
      this.#ideasFrom += IDEAS_SHOWN;
      this.#show();
      return;
    }
    const newest = this.#requests().at(-1);
    if (!newest) return;
    const ordinal = isRepeatable(newest) ? newest.ordinal : newest.ordinal + 1;
    this.options.onAsked(ordinal);
    const position = this.#position;
    try {
      const request = isRepeatable(newest)
        ? await call("POST", `/candidate-requests/${newest.id}/retry/`, {})
        : await call("POST", `/assignments/${this.options.assignment}/candidates/`, { ordinal });
      if (position !== this.#position) return;
      this.#store(request);
      this.#shownOrdinal = ordinal;
      this.#pollOrShow(request);
    } catch (error) {
      const { message, remedy } = error instanceof Problem ? error : { message: SERVER_AWAY, remedy: "" };
      this.view.showWarning(joinSentences(message, remedy));
    }
  }

  /** Look at another set of this turn. @param {number} ordinal */
  async #showSet(ordinal) {
    this.#shownOrdinal = ordinal;
    await this.loadSet(ordinal).catch(() => undefined);
    this.#show();
  }

  /** A set that an earlier visit of this page asked for. @param {number} ordinal */
  async loadSet(ordinal) {
    if (this.#requests()[ordinal] || this.#position === 0) return;
    this.#store(await call("POST", `/assignments/${this.options.assignment}/candidates/`, { ordinal }));
  }

  /** The turn before waits to be sent, so nobody has been asked yet. */
  showUnsent() {
    if (!this.areUnknown || !this.#isOpen) return;
    this.#isUnsent = true;
    this.#show();
  }

  // ---- picking -----------------------------------------------------------------------------------------------------

  #ideas() {
    const { topics } = this.options;
    const count = Math.min(IDEAS_SHOWN, topics.length);
    return Array.from({ length: count }, (_, n) => topics[(this.#ideasFrom + n) % topics.length]);
  }

  /** @param {number} place  from 0  @returns {boolean} whether there is such a candidate */
  pick(place) {
    this.#wishedPlace = null;
    if (this.view.isFrozen || !this.#isOpen) return false;
    if (this.#position === 0) return this.#pickIdea(place);
    const request = this.#shownRequest;
    const text = request?.candidates[place]?.text;
    if (text === undefined || !request.candidate_set) return false;
    this.options.onPick(text, { set: request.candidate_set, place, text, ordinal: request.ordinal }, place);
    return true;
  }

  /** @param {number} place */
  #pickIdea(place) {
    const idea = this.#ideas()[place];
    if (idea) this.options.onPick(idea.example || idea.title, null, place);
    return Boolean(idea);
  }

  /**
   * A place that is asked for while the set is on its way is picked when it comes; the digit is not typed.
   * @param {number} place  @returns {boolean} whether there is anything to wait for
   */
  pickWhenReady(place) {
    const request = this.#shownRequest;
    const isComing = request ? isLive(request) : !this.#isUnsent && navigator.onLine;
    if (!isComing || !this.#isOpen || this.#position === 0 || place >= this.options.settings.candidates) return false;
    this.#wishedPlace = place;
    return true;
  }

  /** The person typed something instead. */
  forgetWish() {
    this.#wishedPlace = null;
  }

  #pickWished() {
    const request = this.#shownRequest;
    if (this.#wishedPlace === null || !request || isLive(request)) return;
    this.pick(this.#wishedPlace);
  }

  /** Which candidate the text in the input was started from. @param {Source | null} source */
  mark(source) {
    this.#marked = source;
    this.view.mark((place) => source !== null && source.set === this.shownSet && source.place === place);
  }

  // ---- what is seen ------------------------------------------------------------------------------------------------

  #show() {
    clearTimeout(this.#showLater);
    const isOpening = this.#position === 0;
    const request = this.#shownRequest;
    this.view.reset({ isOpening, isOpen: this.#isOpen });
    this.view.showSets((this.#requests().at(-1)?.ordinal ?? 0) + 1, this.#shownOrdinal);
    if (isOpening) this.view.showIdeas(this.#ideas(), this.#isOpen);
    else this.view.showRequest(request, { isOpen: this.#isOpen, isUnsent: this.#isUnsent });
    if (!isOpening && this.#isOpen && request?.state === "done")
      this.options.onShown({ set: request.candidate_set, ordinal: request.ordinal });
    if (isOpening) this.#showMoreIdeas();
    else this.#showMoreSets();
    this.mark(this.#marked);
    this.#pickWished();
  }

  #showMoreIdeas() {
    const isOff = this.options.topics.length <= IDEAS_SHOWN || !this.#isOpen;
    this.view.showMoreButton({ text: gettext("Other ideas"), isOff });
  }

  #showMoreSets() {
    const newest = this.#requests().at(-1);
    const isAgain = isRepeatable(newest);
    const isOver = !isAgain && (newest?.ordinal ?? 0) >= this.options.settings.new_sets_per_turn;
    this.view.showMoreButton({
      text: isAgain ? gettext("Try again") : gettext("New"),
      title: isOver ? gettext("No more new candidates for this turn.") : "",
      isOff: isOver || !newest || isLive(newest) || !this.#isOpen,
      isAgain,
    });
  }
}

// ---- keys ------------------------------------------------------------------------------------------------------------

/** @param {KeyboardEvent} event  @returns {number | null} the place that a digit picks, from 0 */
function placeOfDigit(event) {
  // With Alt the character differs from the key; without, Shift is what some keyboards need for digits.
  const digit = event.altKey ? /^Digit([1-9])$/.exec(event.code)?.[1] : /^[1-9]$/.exec(event.key)?.[0];
  return digit ? Number(digit) - 1 : null;
}

/** @param {(place: number, digit: string) => boolean} pick  digit: "" with Alt, which picks whatever the input holds */
export function wireDigits(pick) {
  document.addEventListener("keydown", (event) => {
    const place = placeOfDigit(event);
    if (place === null || event.defaultPrevented || isComposing(event) || event.ctrlKey || event.metaKey) return;
    if (document.querySelector("dialog:modal") || (isTyping(event.target) && !event.altKey)) return;
    if (pick(place, event.altKey ? "" : event.key)) event.preventDefault();
  });
}
