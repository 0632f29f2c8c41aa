// @ts-check
/** While the person is active the leases of the dialogues here are renewed, well before they end. */
import { call, isPassing, isSignedOut, Problem } from "../shared/api.js";

/** @typedef {import("./workbench.js").Workbench} Workbench */

const SOONEST_MS = 20_000;
const LATEST_MS = 300_000;

/** @param {Workbench} bench */
export function holdLeases(bench) {
  const ends = bench.state.heldTasks().map(({ assignment }) => Date.parse(assignment.lease_until));
  const span = Math.min(...ends, Date.now() + 3 * LATEST_MS) - Date.now();
  setTimeout(() => void renewLeases(bench), Math.min(Math.max(span / 3, SOONEST_MS), LATEST_MS));
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

/** @param {Workbench} bench  @param {import("./state.js").Task} task */
async function renewLease({ state, notices }, task) {
  try {
    const { lease_until, state: now } = await call("POST", `/assignments/${task.assignment.id}/renew/`, {});
    Object.assign(task.assignment, { lease_until, state: now });
  } catch (error) {
    if (!(error instanceof Problem) || isPassing(error) || isSignedOut(error)) return;
    if (task === state.current) notices.show("refused", { tone: "bad", text: error.message, remedy: error.remedy });
    else state.dropAhead(task.assignment.id);
  }
}
