// @ts-check
/**
 * One input at a time goes to the server, with an id made here, so that sending it again is safe; then its reply is
 * waited for. Without a network both go on when it returns.
 */
import { isPassing, Problem } from "../shared/api.js";
import { request } from "./api.js";

/**
 * @typedef {import("./memory.js").Memory} Memory
 * @typedef {import("./memory.js").Unsent} Unsent
 * @typedef {{ onStored: (turn: string, number: number) => void, onReply: (text: string) => void,
 *   onOffline: (isOffline: boolean) => void, onOver: () => void, onRefused: (input: Unsent, problem: Problem) => void
 * }} Listener
 *   onOver: the conversation is no longer the participant's present step; onRefused: the input will not be stored
 */

const RETRY_MS = [500, 1000, 2000, 5000];
const OVER = ["session_voided", "not_chatting", "assignment_over"];

export class Exchange {
  #failures = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #busy = false;
  #ended = false;

  /** @param {string} url  @param {Memory} memory  @param {string} waiting  turn without a reply  @param {Listener} listener */
  constructor(url, memory, waiting, listener) {
    this.url = url;
    this.memory = memory;
    this.waiting = waiting;
    this.listener = listener;
    addEventListener("online", () => this.run());
  }

  /** @returns {Unsent | null} */
  get unsent() {
    return this.memory.read("unsent", /** @type {Unsent | null} */ (null));
  }

  get isBusy() {
    return this.waiting !== "" || this.unsent !== null;
  }

  /** @param {Unsent} input */
  send(input) {
    this.memory.write("unsent", input);
    this.run();
  }

  /** Do the next thing now: send what is unsent, or ask for the reply. */
  run() {
    clearTimeout(this.#timer);
    if (!this.#busy && !this.#ended) void this.#step();
  }

  async #step() {
    this.#busy = true;
    let next = 0;
    try {
      if (this.waiting) next = await this.#poll();
      else if (this.unsent) await this.#post(this.unsent);
      this.#failures = 0;
      this.listener.onOffline(false);
    } catch (error) {
      next = this.#failed(error);
    } finally {
      this.#busy = false;
    }
    if (this.isBusy && !this.#ended) this.#timer = setTimeout(() => this.run(), next);
  }

  /** @param {Unsent} input */
  async #post(input) {
    const stored = await request("POST", `${this.url}turns/`, input);
    this.memory.write("unsent", null);
    this.waiting = stored.id;
    this.listener.onStored(stored.id, stored.number);
  }

  /** @returns {Promise<number>} when to go on, in ms */
  async #poll() {
    const { state, reply, retry_after_ms } = await request("GET", `${this.url}turns/${this.waiting}/`);
    if (state === "waiting") return retry_after_ms;
    if (state === "replied") {
      this.waiting = "";
      this.listener.onReply(reply);
    } else this.#end();
    return 0;
  }

  #end() {
    this.#ended = true;
    this.listener.onOver();
  }

  /** @param {unknown} error  @returns {number} when to try again, in ms */
  #failed(error) {
    const wait = RETRY_MS[Math.min(this.#failures, RETRY_MS.length - 1)];
    this.#failures += 1;
    if (isPassing(error)) {
      this.listener.onOffline(true);
      return wait;
    }
    const problem = /** @type {Problem} */ (error);
    if (problem.code === "reply_pending") {
      this.waiting = String(problem.body.turn); // another device wrote it
      return 0;
    }
    const input = this.unsent;
    if (OVER.includes(problem.code) || !input || this.waiting) this.#end();
    else {
      this.memory.write("unsent", null);
      this.listener.onRefused(input, problem);
    }
    return wait;
  }
}
