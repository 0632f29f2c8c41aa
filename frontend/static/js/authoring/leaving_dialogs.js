// @ts-check
/** Leaving a dialogue: finish, save for later, give back, start over. Needs the network, so it is loaded on need. */

import { call, clock, Problem, uuid } from "../shared/api.js";
import { byId } from "../shared/elements.js";
import { format, gettext, ngettext } from "../shared/messages.js";
import { showNotice } from "../shared/notices.js";
import { toast } from "../shared/toast.js";
import { showError } from "./notices.js";

/** @typedef {import("./workbench.js").Workbench} Workbench */

const SENDING_MS = 10_000;

/** Turns on their way arrive first. @param {Workbench} bench  @returns {Promise<boolean>} */
async function allSent({ state }) {
  const begun = performance.now();
  if (state.isBusy) showNotice("sending", { tone: "", text: gettext("Your last turns are being sent first.") });
  while (state.isBusy && navigator.onLine && performance.now() - begun < SENDING_MS) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  showNotice(
    "sending",
    state.isBusy
      ? { tone: "warn", text: gettext("Your last turns are not sent yet. Try again when the connection is back.") }
      : null,
  );
  return !state.isBusy;
}

/** @param {string} id */
const dialog = (id) => /** @type {HTMLDialogElement} */ (byId(id));

/** @param {Workbench} bench  @param {string} action  @param {unknown} [body] */
const act = ({ state }, action, body = {}) => call("POST", `/assignments/${state.id}/${action}/`, body);

/** @param {Workbench} bench */
export async function finish(bench) {
  if (!(await allSent(bench))) return;
  const { today, ...now } = await act(bench, "finish");
  bench.updateAssignment(now);
  bench.showToday(today);
  const n = Math.floor(now.utterance_count / 2);
  const said = [
    format(ngettext("{n} round, handed in.", "{n} rounds, handed in.", n), { n }),
    format(gettext("{n} of {goal} today."), { n: today.finished, goal: today.goal }),
  ];
  if (today.finished === today.goal) said.push(gettext("That is today's goal. Well done."));
  byId("finished-words").textContent = said.join(" ");
  byId("next-problem").textContent = "";
  byId("next").onclick = () => void next(bench);
  byId("take-back").onclick = () => void takeBack(bench);
  dialog("finished").showModal();
}

/** One claim a dialogue that was finished here, however often the key is pressed. */
let claim = "";

/** @param {Workbench} bench */
async function next({ state: { assignment, urls } }) {
  claim ||= uuid();
  try {
    const claimed = await call("POST", `/projects/${assignment.project}/assignments/`, { claim_id: claim });
    location.assign(urls.workbench.replace("/0/", `/${claimed.id}/`));
  } catch (error) {
    claim = "";
    const said = error instanceof Problem ? `${error.message} ${error.remedy}` : String(error);
    byId("next-problem").textContent = said;
  }
}

/** @param {Workbench} bench */
async function takeBack(bench) {
  dialog("finished").close();
  await takeUp(bench, "take-back");
}

/** Take up what was given back, finished or lost. @param {Workbench} bench  @param {"resume" | "take-back"} how */
export async function takeUp(bench, how) {
  try {
    const { today } = await act(bench, how);
    if (today) bench.showToday(today);
    bench.adopt(await call("GET", `/assignments/${bench.state.id}/`));
    showNotice("refused", null);
  } catch (error) {
    showError(error);
  }
}

/** @param {Workbench} bench */
export async function save(bench) {
  if (!(await allSent(bench))) return;
  const now = await act(bench, "save");
  bench.updateAssignment(now);
  toast(format(gettext("Saved for later, kept until {when}."), { when: clock(now.lease_until) }), { tone: "good" });
  location.assign(bench.state.urls.queue);
}

/** @param {Workbench} bench */
export async function giveBack(bench) {
  const asked = dialog("give-back");
  const form = /** @type {HTMLFormElement} */ (asked.querySelector("form"));
  form.onsubmit = async (event) => {
    event.preventDefault();
    asked.close();
    if (!(event.submitter instanceof HTMLButtonElement) || event.submitter.value !== "yes") return;
    try {
      if (!(await allSent(bench))) return;
      await act(bench, "release", { reason: new FormData(form).get("reason") });
      location.assign(bench.state.urls.queue);
    } catch (error) {
      showError(error);
    }
  };
  asked.showModal();
}

/** @param {Workbench} bench */
export async function startOver(bench) {
  if (!(await allSent(bench))) return;
  const { turn_ids } = await act(bench, "reset");
  bench.adopt(await call("GET", `/assignments/${bench.state.id}/`));
  if (turn_ids.length === 0) return;
  const run = () =>
    void act(bench, "restore", { turn_ids })
      .then((full) => bench.adopt(full))
      .catch((error) => showError(error));
  toast(gettext("Started over."), { action: { label: gettext("Put back"), run }, stay: true });
}
