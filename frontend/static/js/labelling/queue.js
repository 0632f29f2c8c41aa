// @ts-check
/**
 * The dialogues that this page holds: the one that is shown, those ahead of it, and those submitted here. The next one is
 * claimed while the present one is labelled, so that a submission shows it at once; the answer to a submission brings the
 * one after. Claims have ids, so a claim whose answer was lost is sent again.
 */
import { call, isPassing, isSignedOut, Problem, uuid } from "../shared/api.js";
import { owner } from "../shared/outbox_store.js";
import { gettext } from "../shared/page.js";

/**
 * @typedef {import("./questions/answer_sheet.js").Answers} Answers
 * @typedef {import("./questions/answer_sheet.js").Content} Content
 * @typedef {import("./workbench.js").Workbench} Workbench
 * @typedef {{ id: string, revision: number, answers: Answers, note: string, stored_at: string }} Submission
 * @typedef {{ id: number, project: string, state: string, task_state: string, stage: "label" | "confirmation",
 *   lease_until: string, touched_at: string, served_at: string | null, seconds_left: number, min_seconds: number,
 *   schema: number, claim?: string,
 *   dialogue: { id: number, language: string, utterances: import("./questions/answer_sheet.js").Utterance[] },
 *   draft: { answers: Answers, note: string, version: number } | null, submission: Submission | null,
 *   is_decided: boolean, others: { answers: Answers, note: string }[], differences: string[] }} Assignment
 *   as the API gives it; claim: the id of the claim that brought it, set by Queue
 * @typedef {{ assignment: Assignment, dueAt: number | null, isRevision: boolean, isGone?: boolean }} Task
 *   dueAt: when the time floor is over, by this page's clock; null: not shown yet; isGone: the server took it away
 * @typedef {{ code: string, message: string, remedy: string, details?: Record<string, any> }} EmptyReason
 * @typedef {{ task: Task, item: string, answers: Answers, note: string, isRefused?: boolean }} SubmittedTask
 *   item: its id in the outbox
 * @typedef {{ project: string, made_at: number, assignment: Assignment | null,
 *   schema: { version: number, content: Content } | null, today: { finished: number, goal: number }, done: number, to_confirm: number[],
 *   most_to_confirm: number, of: number, files: string[], urls: { bench: string, next: string, queue: string, login: string } }} PageData
 */

const SUBMITTED_KEPT = 50;
const FLOOR_MARGIN_MS = 150;
const ASK_AGAIN_MS = 5000;
const SOONEST_RENEWAL_MS = 20_000;
const LATEST_RENEWAL_MS = 300_000;
const OVER = ["submitted", "released"]; // states of assignments that a repeated claim may return
const CACHE = "lapidary"; // emptied when the person signs out

export class State {
  /** @type {Task | null} */
  current = null;
  /** @type {Task[]} the next, claimed already */
  ahead = [];
  /** @type {Assignment[]} what an earlier page had ready, for when the server does not answer */
  spare = [];
  /** @type {SubmittedTask[]} what was submitted on this page, the last one at the end */
  submitted = [];
  /** @type {Set<number>} assignments whose first submission is counted here, but not by the server yet */
  #counted = new Set();
  /** @type {EmptyReason | null} why nothing more came */
  emptyReason = null;
  /** Submit was pressed before the time floor was over. */
  isSubmitPending = false;
  /** The server did not answer, even if the browser reports a network. */
  isUnanswered = false;

  /** @param {PageData} data */
  constructor(data) {
    this.project = data.project;
    this.urls = data.urls;
    this.lane = `labels-${data.project}`;
    this.today = { ...data.today };
    this.done = { n: data.done, of: data.of };
    /** @type {Map<number, Content>} */
    this.schemas = new Map(data.schema ? [[data.schema.version, data.schema.content]] : []);
  }

  get isAway() {
    return this.isUnanswered || !navigator.onLine;
  }

  /** The server answered: what an earlier page prefetched is no longer needed. */
  onServerAnswer() {
    this.isUnanswered = false;
    this.spare = [];
  }

  /** @param {Assignment} assignment  @returns {Promise<Content>} */
  async fetchSchema({ project, schema }) {
    const { content } = await call("GET", `/projects/${project}/schemas/${schema}/`);
    this.schemas.set(schema, content);
    return content;
  }

  /** Whether a dialogue is shown, claimed ahead, or was submitted on this page. @param {number} id  of the assignment */
  knows(id) {
    const tasks = [this.current, ...this.ahead, ...this.submitted.map(({ task }) => task)];
    return tasks.some((task) => task?.assignment.id === id);
  }

  /** The dialogues that this page holds. @returns {Task[]} */
  heldTasks() {
    return [this.current, ...this.ahead].filter((task) => task !== null);
  }

  /** @param {number} id  of the assignment */
  dropAhead(id) {
    this.ahead = this.ahead.filter((task) => task.assignment.id !== id);
  }

  /** @param {SubmittedTask} submitted */
  addSubmitted(submitted) {
    this.submitted = [...this.submitted.slice(-SUBMITTED_KEPT), submitted];
  }

  /** Whether it was sent: it is still shown while the schema of the next dialogue is on its way. @param {Task} task */
  isSubmitted(task) {
    return this.submitted.some((submitted) => submitted.task === task);
  }

  /** @param {string} item  its id in the outbox */
  submittedAs(item) {
    return this.submitted.find((submitted) => submitted.item === item);
  }

  /** One submission more or less, which the server does not know yet. @param {1 | -1} step  @param {number} id  of the assignment */
  count(step, id) {
    this.done.n += step;
    this.today.finished += step;
    if (step > 0) this.#counted.add(id);
    else this.#counted.delete(id);
  }

  /**
   * What the server counts once a submission is stored. A page from the cache began with older numbers.
   * @param {number} id  of the assignment  @param {{ finished: number, goal: number }} today
   */
  onCounted(id, { finished, goal }) {
    this.#counted.delete(id);
    const now = finished + this.#counted.size;
    this.done.n += Math.max(0, now - this.today.finished); // less than before: another day has begun
    this.today = { finished: now, goal };
  }

  /** Seconds until the current dialogue has been shown for long enough. */
  get secondsLeft() {
    return Math.max(0, ((this.current?.dueAt ?? 0) - performance.now()) / 1000);
  }
}

/** @param {Assignment} assignment  @returns {Task} */
export const newTask = (assignment) => ({ assignment, dueAt: null, isRevision: assignment.submission !== null });

/** The time floor runs from when the dialogue is first shown. @param {Task} task */
export function startFloor(task) {
  const { served_at, seconds_left, min_seconds } = task.assignment;
  const seconds = served_at === null ? min_seconds : Math.max(0, seconds_left);
  task.dueAt ??= performance.now() + seconds * 1000 + (seconds > 0 ? FLOOR_MARGIN_MS : 0);
}

/** Whether answers can be submitted for an assignment. @param {Assignment} assignment */
export function isOpen({ state, task_state, stage, is_decided }) {
  if (task_state === "disputed" || is_decided) return false;
  if (state === "submitted") return stage === "confirmation" || task_state !== "confirming";
  return state !== "released";
}

// ---- claims ---------------------------------------------------------------------------------------------------------

/** @returns {EmptyReason} */
export const loadingReason = () => ({
  code: "loading",
  message: gettext("The next dialogue is on its way."),
  remedy: "",
});

export class Queue {
  /** @type {Promise<void> | undefined} */
  #claiming;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #nextClaim;

  /** @param {Workbench} bench */
  constructor(bench) {
    this.bench = bench;
    this.state = bench.state;
    this.claimKey = `lapidary.claim.${owner}.${bench.state.project}`;
  }

  // ---- claims ------------------------------------------------------------------------------------------------------

  /** The id of the current claim; retries and reloads use the same one. */
  claimId() {
    return localStorage.getItem(this.claimKey) ?? this.#newClaim();
  }

  #newClaim() {
    const id = uuid();
    try {
      localStorage.setItem(this.claimKey, id);
    } catch {
      // Storage is forbidden: a reload claims another dialogue.
    }
    return id;
  }

  /** Claim one more; it is shown if nothing else is. */
  claimAhead() {
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = undefined;
    });
    return this.#claiming;
  }

  /** @returns {Promise<void>} */
  async #claim() {
    clearTimeout(this.#nextClaim);
    const request = { claim_id: this.claimId(), ahead: this.state.current !== null };
    try {
      const claimed = await call("POST", `/projects/${this.state.project}/labelling/claim/`, request);
      this.state.onServerAnswer();
      if (this.add(claimed, request.claim_id)) return;
      this.#newClaim(); // that dialogue was labelled or given back in the meantime
      const isNew = this.claimId() !== request.claim_id; // a full store keeps the old id
      if (!this.state.current && isNew) await this.#claim();
    } catch (error) {
      this.#onClaimFailed(error);
    }
  }

  /** @param {unknown} error */
  #onClaimFailed(error) {
    const { state, bench } = this;
    if (isPassing(error)) {
      state.emptyReason = null;
      this.onUnanswered();
    } else if (!isSignedOut(error)) {
      const { code, message, remedy, body } = /** @type {import("../shared/api.js").Problem} */ (error);
      state.onServerAnswer();
      state.emptyReason = { code, message, remedy, details: body };
    }
    if (state.current) return;
    if (isSignedOut(error)) void bench.notices.showSignedOut();
    else if (isPassing(error)) this.#claimLater();
    else if (state.emptyReason) bench.showEmpty(state.emptyReason);
  }

  #claimLater() {
    const wait = ASK_AGAIN_MS * (0.75 + Math.random() / 2);
    this.#nextClaim = setTimeout(() => this.state.current ?? this.claimAhead(), wait);
  }

  /** Continue with what an earlier page had ready; if there is nothing, say once that the next dialogue is loading. */
  onUnanswered() {
    const { state } = this;
    const isNew = !state.isUnanswered;
    state.isUnanswered = true;
    const isUsable = (/** @type {Assignment} */ assignment) =>
      assignment.state === "active" &&
      state.schemas.has(assignment.schema) &&
      Date.parse(assignment.lease_until) > Date.now();
    const usable = state.spare.filter(isUsable);
    state.spare = [];
    for (const assignment of usable) this.add(assignment, assignment.claim ?? "");
    if (isNew && !state.current && !state.emptyReason) this.bench.showEmpty(loadingReason());
  }

  // ---- what lies ready ---------------------------------------------------------------------------------------------

  /** @param {Assignment | null | undefined} next  @param {string} [claim]  @returns {boolean} whether it is new here */
  add(next, claim = this.claimId()) {
    if (!next || OVER.includes(next.state) || this.state.knows(next.id)) return false;
    this.state.ahead.push(newTask({ ...next, claim }));
    this.keep();
    if (!this.state.current) this.showNext();
    return true;
  }

  /** The next dialogue; showing it ends the claim that brought it. */
  takeNext() {
    const next = this.state.ahead.shift();
    if (next?.assignment.claim === this.claimId()) this.#newClaim();
    return next;
  }

  showNext() {
    const next = this.takeNext();
    if (!next) return;
    void this.bench.show(next);
    this.keep();
  }

  /** Show this dialogue again after the next one, unless it is a revision. @param {Task} task */
  putBack(task) {
    if (this.state.isSubmitted(task)) return;
    this.bench.editor.keepDraft();
    if (!task.isRevision) this.state.ahead.unshift(task);
  }

  /** Keep the dialogues for a reload without a network. */
  keep() {
    document.documentElement.dataset.ahead = String(this.state.ahead.length);
    const held = this.state.heldTasks().filter(({ isGone }) => !isGone);
    void keepAssignments(held.map(({ assignment }) => assignment));
  }

  /** Claim the next dialogue at the first input, so that a person who only looks does not block dialogues. */
  claimWhenWorkBegins() {
    const names = ["keydown", "pointerdown"];
    const begin = () => {
      for (const name of names) removeEventListener(name, begin, true);
      if (this.state.ahead.length === 0) void this.claimAhead();
    };
    for (const name of names) addEventListener(name, begin, true);
  }
}

// ---- leases ---------------------------------------------------------------------------------------------------------

/** @param {Workbench} bench */
export function holdLeases(bench) {
  const ends = bench.state.heldTasks().map(({ assignment }) => Date.parse(assignment.lease_until));
  const span = Math.min(...ends, Date.now() + 3 * LATEST_RENEWAL_MS) - Date.now();
  setTimeout(() => void renewLeases(bench), Math.min(Math.max(span / 3, SOONEST_RENEWAL_MS), LATEST_RENEWAL_MS));
}

/** @param {Workbench} bench */
async function renewLeases(bench) {
  const { activity, queue, state } = bench;
  if (activity.inputs > 0) {
    for (const task of state.heldTasks()) if (task.assignment.state === "active") await renewLease(bench, task);
  }
  activity.inputs = 0;
  queue.keep();
  holdLeases(bench);
}

/** @param {Workbench} bench  @param {Task} task */
async function renewLease({ state, notices }, task) {
  try {
    const { lease_until, state: now } = await call("POST", `/assignments/${task.assignment.id}/renew/`, {});
    Object.assign(task.assignment, { lease_until, state: now });
    if (task.isGone && task === state.current) notices.hide("lease");
    task.isGone = false;
  } catch (error) {
    if (!(error instanceof Problem) || isPassing(error) || isSignedOut(error)) return;
    await loseAssignment(state, task.assignment.id);
    if (task === state.current) notices.show("lease", { tone: "bad", text: error.message, remedy: error.remedy });
    else state.dropAhead(task.assignment.id);
  }
}

// ---- kept for a reload without a network ----------------------------------------------------------------------------

const addressOf = (/** @type {number} */ id) => `/api/v1/labelling/${id}/`;
const openCache = async () => ("caches" in globalThis ? caches.open(CACHE).catch(() => undefined) : undefined);

/** Changes run one after the other: what is forgotten must not be kept again by an earlier change. @type {Promise<unknown>} */
let changing = Promise.resolve();

/** @param {(cache: Cache) => Promise<unknown>} change */
function changeKept(change) {
  changing = changing.then(async () => {
    const cache = await openCache();
    if (cache) await change(cache).catch(() => undefined);
  });
  return changing;
}

/** @param {Assignment[]} assignments */
function keepAssignments(assignments) {
  const answers = assignments.map((assignment) => ({ id: assignment.id, text: JSON.stringify(assignment) }));
  return changeKept(async (cache) => {
    for (const { id, text } of answers) await cache.put(addressOf(id), new Response(text));
  });
}

/** @param {number} id */
export const forgetAssignment = (id) => changeKept((cache) => cache.delete(addressOf(id)));

/** The person no longer holds a dialogue, even if it is still shown. @param {State} state  @param {number} id */
export function loseAssignment(state, id) {
  for (const task of state.heldTasks()) if (task.assignment.id === id) task.isGone = true;
  return forgetAssignment(id);
}

/**
 * Forget what the person no longer holds: skipped or given back elsewhere, or taken away by the server. What is saved for
 * later or submitted may be open in another tab.
 * @param {State} state
 */
export async function forgetGone(state) {
  const kept = await keptAssignments(state.project, new Set());
  const isHere = (/** @type {number} */ id) => state.heldTasks().some(({ assignment }) => assignment.id === id);
  const others = kept.filter((assignment) => assignment.state !== "submitted" && !isHere(assignment.id));
  if (others.length === 0) return;
  const held = await call("GET", `/projects/${state.project}/assignments/?state=active&state=saved`).catch(() => null);
  if (!held || held.next) return;
  const states = new Map(held.results.map((/** @type {Assignment} */ assignment) => [assignment.id, assignment.state]));
  const isHeld = (/** @type {Assignment} */ { id, state: before }) =>
    states.get(id) === "active" || (states.has(id) && before === "saved");
  for (const { id } of others.filter((assignment) => !isHeld(assignment))) {
    state.spare = state.spare.filter((assignment) => assignment.id !== id);
    await forgetAssignment(id);
  }
}

/** Kept assignments that were not submitted since. @param {string} project  @param {Set<number>} submitted  @returns {Promise<Assignment[]>} */
export async function keptAssignments(project, submitted) {
  const cache = await openCache();
  const requests = (await cache?.keys()) ?? [];
  const own = requests.filter(({ url }) => /\/api\/v1\/labelling\/\d+\/$/.test(new URL(url).pathname));
  const found = await Promise.all(own.map(async (request) => (await cache?.match(request))?.json()));
  const kept = found.filter((assignment) => assignment?.project === project);
  for (const { id } of kept) if (submitted.has(id)) await forgetAssignment(id);
  return kept.filter(({ id }) => !submitted.has(id));
}
