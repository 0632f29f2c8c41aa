// @ts-check
/** What the server answers to submissions of this project, sent by this tab or another. */
import { createElement } from "../shared/elements.js";
import { gettext } from "../shared/messages.js";
import * as outbox from "../shared/outbox.js";
import { offerConfirmations } from "./confirmations.js";
import { forgetAssignment } from "./task_cache.js";

/**
 * @typedef {import("./workbench.js").Workbench} Workbench
 * @typedef {import("./state.js").SubmittedTask} SubmittedTask
 */

/** @param {Workbench} bench */
export function listenToOutbox(bench) {
  outbox.listen((event) => {
    if (event.kind === "waiting") onWaiting(bench, event.signedOut);
    else if (event.item.lane !== bench.state.lane || event.item.owner !== outbox.owner) return;
    else if (event.kind === "stored") onStored(bench, event.item, event.answer);
    else if (event.kind === "refused") onRefused(bench, event.item);
  });
}

/** @param {Workbench} bench  @param {boolean} isSignedOut */
function onWaiting({ sender, notices, queue }, isSignedOut) {
  void sender.showWaiting();
  if (isSignedOut) notices.showSignedOut();
  else queue.onUnanswered();
}

/** @param {Workbench} bench  @param {outbox.Item} item  @param {any} answer */
function onStored(bench, item, answer) {
  const { state, queue, notices, view } = bench;
  const id = Number(item.assignment);
  const submitted = state.submittedAs(item.id);
  state.onServerAnswer();
  notices.hide("connection", "signed-out", "error");
  Object.assign(state.today, answer.today);
  if (submitted) updateSubmitted(submitted, answer);
  else onStoredElsewhere(bench, id, answer);
  void forgetAssignment(id);
  if (answer.task_state === "confirming") void offerConfirmations(bench);
  // What another tab has claimed is for that tab, unless this one has nothing.
  if (submitted || !state.current) queue.add(answer.next, /** @type {string | undefined} */ (item.sent.next_claim));
  if (answer.nothing) state.emptyReason = answer.nothing;
  if (!state.current && state.ahead.length === 0) {
    if (answer.nothing) bench.showEmpty(answer.nothing);
    else if (item.sent.next_claim) void queue.claimAhead();
  }
  view.showHead();
}

/** @param {SubmittedTask} submitted  @param {any} answer */
function updateSubmitted({ task, item, answers, note }, { assignment, task_state, submission }) {
  const { revision, stored_at } = submission;
  const stored = { id: item, revision, answers, note, stored_at };
  task.assignment = { ...task.assignment, ...assignment, task_state, submission: stored, draft: null };
}

/** By another tab, or before a reload: it does not come next here. @param {Workbench} bench  @param {number} id  @param {any} answer */
function onStoredElsewhere({ state, queue, view, notices }, id, { assignment, task_state }) {
  const { current } = state;
  state.dropAhead(id);
  queue.keep();
  if (current?.assignment.id !== id || current.isRevision) return;
  current.isRevision = true;
  current.assignment = { ...current.assignment, ...assignment, task_state };
  view.showState();
  notices.show("elsewhere", {
    tone: "warn",
    text: gettext("You submitted this dialogue in another tab."),
    remedy: gettext("What you submit here replaces those answers."),
  });
}

/** It does not count any more. @param {Workbench} bench  @param {outbox.Item} item */
function onRefused(bench, item) {
  const { state, view } = bench;
  const submitted = state.submittedAs(item.id);
  if (submitted && !submitted.isRefused && !submitted.task.isRevision) {
    submitted.isRefused = true;
    state.count(-1);
    view.showHead();
  }
  void showRefused(bench);
}

/** Submissions that the server does not store come back, each with its answers. @param {Workbench} bench */
export async function showRefused(bench) {
  const [item] = (await outbox.itemsInLane(bench.state.lane)).filter(({ problem }) => problem);
  if (!item?.problem) {
    bench.notices.hide("refused");
    return;
  }
  const { message, remedy } = item.problem;
  const quote = createElement("q", "", item.text);
  quote.dir = "auto";
  const text = message || gettext("A submission was not stored.");
  const actions = [{ label: gettext("Open it"), run: () => void openRefused(bench, item) }];
  bench.notices.show("refused", { tone: "bad", text, remedy, more: [quote], actions });
}

/** @param {Workbench} bench  @param {outbox.Item} item */
async function openRefused(bench, item) {
  const { answers, note } = /** @type {import("./editor.js").Labels} */ (/** @type {unknown} */ (item.sent));
  try {
    await bench.reopen(Number(item.assignment), { answers, note });
    await outbox.remove([item]); // its answers lie in this browser's draft now
    await showRefused(bench);
  } catch (error) {
    bench.notices.showError(error);
  }
}
