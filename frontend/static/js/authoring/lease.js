// @ts-check
/** While the person is active the lease of the dialogue is renewed, well before it ends. */
import { call, isPassing, isSignedOut, Problem } from "../shared/api.js";
import { showNotice } from "../shared/notices.js";
import { waysOut } from "./notices.js";

/** @typedef {import("./workbench.js").Workbench} Workbench */

const SOONEST_MS = 20_000;
const LATEST_MS = 300_000;

/** @param {Workbench} bench */
export function holdLease(bench) {
  const span = Date.parse(bench.state.assignment.lease_until) - Date.now();
  setTimeout(() => void renewLease(bench), Math.min(Math.max(span / 3, SOONEST_MS), LATEST_MS));
}

/** @param {Workbench} bench */
async function renewLease(bench) {
  const { state, activity } = bench;
  const isActive = activity.inputs > 0 && state.assignment.state === "active";
  activity.inputs = 0;
  try {
    if (isActive) bench.updateAssignment(await call("POST", `/assignments/${state.id}/renew/`, {}));
  } catch (error) {
    if (error instanceof Problem && !isPassing(error) && !isSignedOut(error))
      showNotice("refused", { tone: "bad", text: error.message, remedy: error.remedy, actions: waysOut(bench) });
  }
  holdLease(bench);
}
