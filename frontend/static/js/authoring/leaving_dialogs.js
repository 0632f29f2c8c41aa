// @ts-check
/** Leaving a dialogue: finish, save for later, give back, start over. Needs the network, so it is loaded on need. */
import { call, Problem, uuid } from "../shared/api.js";
import { byId, clock, createElement, format, gettext, joinSentences, ngettext, showNotice } from "../shared/page.js";
import { toast } from "../shared/toast.js";
import { showError } from "./dialogue.js";

/** @typedef {import("./workbench.js").Workbench} Workbench */

const SENDING_MS = 10_000;

/** Wait until all turns are sent. @param {Workbench} bench  @returns {Promise<boolean>} */
async function waitUntilSent({ state }) {
  const begun = performance.now();
  if (state.isBusy && navigator.onLine)
    showNotice("sending", { tone: "", text: gettext("Your last turns are being sent first.") });
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
const dialogById = (id) => /** @type {HTMLDialogElement} */ (byId(id));

/** @param {Workbench} bench  @param {string} action  @param {unknown} [body] */
const postAction = ({ state }, action, body = {}) => call("POST", `/assignments/${state.id}/${action}/`, body);

/** @param {Workbench} bench */
export async function finish(bench) {
  if (!(await waitUntilSent(bench))) return;
  showNotice("check", null);
  try {
    await handIn(bench, true);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "check_first") throw error;
    showWarnings(bench, error);
  }
}

/** What the server finds worth a second look; the author decides. @param {Workbench} bench  @param {Problem} problem */
function showWarnings(bench, { message, remedy, body }) {
  const list = createElement("ul");
  list.append(...body.warnings.map((/** @type {{ message: string }} */ it) => createElement("li", "", it.message)));
  const run = () => {
    showNotice("check", null);
    handIn(bench, false).catch((error) => showError(error));
  };
  showNotice("check", {
    ...{ tone: "warn", text: message, remedy, more: [list] },
    actions: [{ label: gettext("Finish anyway"), run }],
  });
  // Not its button: the Enter that goes to the next dialogue would finish this one before anybody has read the warnings.
  const notice = /** @type {HTMLElement} */ (byId("notices").querySelector('[data-cause="check"]'));
  notice.tabIndex = -1;
  notice.focus();
}

/** @param {Workbench} bench  @param {boolean} check  whether the server may ask for a second look */
async function handIn(bench, check) {
  const { today, ...now } = await postAction(bench, "finish", { check });
  bench.updateAssignment(now);
  bench.showToday(today);
  const n = Math.floor(now.utterance_count / 2);
  const sentences = [
    format(ngettext("{n} round, submitted.", "{n} rounds, submitted.", n), { n }),
    format(gettext("{n} of {goal} dialogues today."), { n: today.finished, goal: today.goal }),
  ];
  if (today.finished === today.goal) sentences.push(gettext("That is today's goal. Well done."));
  byId("finished-words").textContent = sentences.join(" ");
  byId("next-problem").textContent = "";
  byId("next").onclick = () => void next(bench);
  byId("take-back").onclick = () => void takeBack(bench);
  dialogById("finished").showModal();
}

/** One claim per finished dialogue, however often the key is pressed. */
let claim = "";

/** @param {Workbench} bench */
async function next({ state: { assignment, urls } }) {
  claim ||= uuid();
  try {
    const claimed = await call("POST", `/projects/${assignment.project}/assignments/`, { claim_id: claim });
    location.assign(urls.workbench.replace("/0/", `/${claimed.id}/`));
  } catch (error) {
    claim = "";
    byId("next-problem").textContent =
      error instanceof Problem ? joinSentences(error.message, error.remedy) : String(error);
  }
}

/** @param {Workbench} bench */
async function takeBack(bench) {
  dialogById("finished").close();
  await takeUp(bench, "take-back");
}

/** Take up a dialogue that was given back, finished or lost. @param {Workbench} bench  @param {"resume" | "take-back"} how */
export async function takeUp(bench, how) {
  try {
    const { today } = await postAction(bench, how);
    if (today) bench.showToday(today);
    bench.adoptOwn(await call("GET", `/assignments/${bench.state.id}/`));
    showNotice("refused", null);
  } catch (error) {
    showError(error);
  }
}

/** @param {Workbench} bench */
export async function save(bench) {
  if (!(await waitUntilSent(bench))) return;
  const now = await postAction(bench, "save");
  bench.updateAssignment(now);
  toast(format(gettext("Saved for later, kept until {when}."), { when: clock(now.lease_until) }), { tone: "good" });
  location.assign(bench.state.urls.queue);
}

/** @param {Workbench} bench */
export async function giveBack(bench) {
  const question = dialogById("give-back");
  const form = /** @type {HTMLFormElement} */ (question.querySelector("form"));
  form.onsubmit = async (event) => {
    event.preventDefault();
    question.close();
    if (!(event.submitter instanceof HTMLButtonElement) || event.submitter.value !== "yes") return;
    try {
      if (!(await waitUntilSent(bench))) return;
      await postAction(bench, "release", { reason: new FormData(form).get("reason") });
      location.assign(bench.state.urls.queue);
    } catch (error) {
      showError(error);
    }
  };
  question.showModal();
}

/** Ask before turns are discarded: only this page can put them back. @param {Workbench} bench  @returns {Promise<boolean>} */
async function confirmStartOver({ state }) {
  const n = state.turns.filter((turn) => turn.turn_id).length;
  if (n === 0) return true;
  const question = dialogById("start-over");
  byId("start-over-title").textContent = format(ngettext("Discard {n} turn?", "Discard {n} turns?", n), { n });
  question.returnValue = ""; // Esc leaves the last answer as it was
  question.showModal();
  await new Promise((resolve) => question.addEventListener("close", resolve, { once: true }));
  return question.returnValue === "yes";
}

/** @param {Workbench} bench */
export async function startOver(bench) {
  if (!(await confirmStartOver(bench))) return;
  if (!(await waitUntilSent(bench))) return;
  const { turn_ids } = await postAction(bench, "reset");
  const left = bench.adoptOwn(await call("GET", `/assignments/${bench.state.id}/`));
  if (turn_ids.length === 0) return;
  const run = () =>
    void postAction(bench, "restore", { turn_ids })
      .then((full) => {
        bench.adoptOwn(full);
        if (left) void bench.keeper.takeBack([left]);
      })
      .catch((error) => showError(error));
  bench.note(gettext("Started over."), { action: { label: gettext("Put back"), run }, stay: true });
}
