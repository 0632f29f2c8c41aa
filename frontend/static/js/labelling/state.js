// @ts-check
/** What the labelling workbench knows: the dialogue that is shown, those ahead of it, and those submitted here. */
import { call } from "../shared/api.js";

/**
 * @typedef {import("./questions/answer_sheet.js").Answers} Answers
 * @typedef {import("./questions/answer_sheet.js").Content} Content
 * @typedef {{ id: string, revision: number, answers: Answers, note: string, stored_at: string }} Submission
 * @typedef {{ id: number, project: string, state: string, task_state: string, stage: "label" | "confirmation",
 *   lease_until: string, touched_at: string, served_at: string | null, seconds_left: number, min_seconds: number,
 *   schema: number, claim?: string,
 *   dialogue: { id: number, language: string, utterances: import("./questions/answer_sheet.js").Utterance[] },
 *   draft: { answers: Answers, note: string, version: number } | null, submission: Submission | null,
 *   is_decided: boolean, others: { answers: Answers, note: string }[], differences: string[] }} Assignment
 *   as the API gives it; claim: the id of the claim that brought it, set by queue.js
 * @typedef {{ assignment: Assignment, dueAt: number | null, isRevision: boolean }} Task
 *   dueAt: when the time floor is over, by this page's clock; null: not shown yet
 * @typedef {{ code: string, message: string, remedy: string, details?: Record<string, any> }} EmptyReason
 * @typedef {{ task: Task, item: string, answers: Answers, note: string, isRefused?: boolean }} SubmittedTask
 *   item: its id in the outbox
 * @typedef {{ project: string, made_at: number, assignment: Assignment | null,
 *   schema: { version: number, content: Content } | null, today: { finished: number, goal: number }, done: number,
 *   of: number, files: string[], urls: { bench: string, next: string, queue: string, login: string } }} PageData
 */

const SUBMITTED_KEPT = 50;
const FLOOR_MARGIN_MS = 150;

export class State {
  /** @type {Task | null} */
  current = null;
  /** @type {Task[]} the next, claimed already */
  ahead = [];
  /** @type {Assignment[]} what an earlier page had ready, for when the server does not answer */
  spare = [];
  /** @type {SubmittedTask[]} what was submitted on this page, the last one at the end */
  submitted = [];
  /** @type {EmptyReason | null} why nothing more came */
  emptyReason = null;
  /** Submit was pressed before the time floor was over. */
  isSubmitPending = false;
  /** The server did not answer, whatever the browser says of the network. */
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

  /** Whether a dialogue is shown, ahead, or was submitted here. @param {number} id  of the assignment */
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

  /** @param {string} item  its id in the outbox */
  submittedAs(item) {
    return this.submitted.find((submitted) => submitted.item === item);
  }

  /** @param {1 | -1} step  one submission more or less */
  count(step) {
    this.done.n += step;
    this.today.finished += step;
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

/** Whether answers can be sent for it. @param {Assignment} assignment */
export function isOpen({ state, task_state, stage, is_decided }) {
  if (task_state === "disputed" || is_decided) return false;
  if (state === "submitted") return stage === "confirmation" || task_state !== "confirming";
  return state !== "released";
}
