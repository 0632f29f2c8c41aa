// @ts-check
/** Leaving a dialogue, and coming back to one: skip, save for later, give back, previous submissions. Loaded on need. */
import { call, Problem } from "../shared/api.js";
import { byId, clock, cloneTemplate, format, gettext, joinSentences } from "../shared/page.js";
import { toast } from "../shared/toast.js";
import { loseAssignment } from "./queue.js";

/**
 * @typedef {import("./queue.js").Answers} Answers
 * @typedef {import("./workbench.js").Workbench} Workbench
 * @typedef {{ assignment: number, dialogue: number, opening: string, revision: number, answers: Answers, stored_at: string }} Row
 */

/** @param {unknown} error */
function explainError(error) {
  if (error instanceof Problem) return joinSentences(error.message, error.remedy);
  return gettext("This needs the connection. Try again when it is back.");
}

/** @param {Workbench} bench */
export async function save({ state, editor }) {
  if (!state.current) return;
  await editor.drafts?.finish(); // answers that arrive later would take the dialogue up again
  const { id } = state.current.assignment;
  await call("POST", `/assignments/${id}/save/`, {});
  await loseAssignment(state, id);
  location.assign(state.urls.queue);
}

/** @param {Workbench} bench */
export function skip(bench) {
  askForReason(bench, "skip", async (id, reason) => {
    const next = bench.state.ahead.length > 0 ? {} : { next_claim: bench.queue.claimId() };
    const answer = await call("POST", `/labelling/${id}/skip/`, { reason, ...next });
    return () => bench.onSkipped(id, answer);
  });
}

/** @param {Workbench} bench */
export function giveBack(bench) {
  askForReason(bench, "giveBack", async (id, reason) => {
    await call("POST", `/labelling/${id}/skip/`, { reason });
    await loseAssignment(bench.state, id);
    return () => location.assign(bench.state.urls.queue);
  });
}

/**
 * @param {Workbench} bench  @param {"skip" | "giveBack"} action
 * @param {(id: number, reason: string) => Promise<() => void>} send  resolves with what is done when the dialog is closed
 */
function askForReason({ state }, action, send) {
  if (!state.current) return;
  const { id } = state.current.assignment;
  const dialog = /** @type {HTMLDialogElement} */ (byId("skip-dialog"));
  const form = /** @type {HTMLFormElement} */ (dialog.querySelector("form"));
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (dialog.querySelector(name));
  const problem = part("[data-problem]");
  part("h2").textContent = part("h2").dataset[action] ?? "";
  part("[data-keep]").onclick = () => dialog.close();
  part("[type=submit] [data-words]").textContent = action === "skip" ? gettext("Skip") : gettext("Give back");
  problem.textContent = "";
  form.reset();
  let isSending = false;
  form.onsubmit = async (event) => {
    event.preventDefault();
    if (isSending) return;
    isSending = true;
    problem.textContent = await sendReason(dialog, form, (reason) => send(id, reason));
    isSending = false;
  };
  dialog.showModal();
}

/**
 * @param {HTMLDialogElement} dialog  @param {HTMLFormElement} form
 * @param {(reason: string) => Promise<() => void>} send  @returns {Promise<string>} why it was not sent, "" if it was
 */
async function sendReason(dialog, form, send) {
  const reason = reasonIn(form);
  if (!reason) return gettext("Choose a reason, or write one.");
  try {
    const finish = await send(reason);
    dialog.close();
    finish();
    return "";
  } catch (error) {
    return explainError(error);
  }
}

/** @param {HTMLFormElement} form */
function reasonIn(form) {
  const data = new FormData(form);
  return [data.get("reason"), data.get("words")].filter((part) => String(part ?? "").trim()).join(": ");
}

// ---- previous submissions ----------------------------------------------------------------------------------------------

/** @param {Workbench} bench  @param {string} [address]  of an older page  @returns {Promise<{ results: Row[], next: string | null }>} */
function fetchSubmissions({ state }, address) {
  const query = address ? new URL(address, location.origin).search : "";
  return call("GET", `/projects/${state.project}/labelling/mine/${query}`);
}

/** @param {Workbench} bench */
export async function previous(bench) {
  const sheet = /** @type {HTMLDialogElement} */ (byId("previous"));
  sheet.querySelector("[data-list]")?.replaceChildren();
  if (!sheet.open) sheet.showModal();
  await showPage(bench, sheet);
}

/** @param {Workbench} bench  @param {HTMLDialogElement} sheet  @param {string} [address] */
async function showPage(bench, sheet, address) {
  const [status, list] = [sheet.querySelector("[data-state]"), sheet.querySelector("[data-list]")];
  const older = /** @type {HTMLButtonElement} */ (sheet.querySelector("[data-older]"));
  if (!status || !list) return;
  status.textContent = gettext("The next dialogue is on its way.");
  try {
    const page = await fetchSubmissions(bench, address);
    list.append(...page.results.map((submission) => createRow(bench, sheet, submission)));
    status.textContent = list.childElementCount > 0 ? "" : gettext("You have not submitted anything here yet.");
    older.hidden = !page.next;
    older.onclick = () => void showPage(bench, sheet, page.next ?? "");
    if (!address) list.querySelector("button")?.focus();
  } catch (error) {
    status.textContent = explainError(error);
  }
}

/** @param {Workbench} bench  @param {HTMLDialogElement} sheet  @param {Row} submission */
function createRow(bench, sheet, submission) {
  const { row, part } = cloneTemplate("previous-row");
  part("opening").textContent = submission.opening || `#${submission.dialogue}`;
  part("answers").textContent = describeAnswers(bench, submission.answers);
  part("revision").textContent = format(gettext("revision {n}"), { n: submission.revision });
  part("revision").hidden = submission.revision === 1;
  part("time").textContent = clock(submission.stored_at);
  /** @type {HTMLElement} */ (row.querySelector("button")).onclick = async () => {
    try {
      await bench.reopen(submission.assignment);
      sheet.close();
    } catch (error) {
      const status = sheet.querySelector("[data-state]");
      if (status) status.textContent = explainError(error);
    }
  };
  return row;
}

/** The answers about a dialogue as text, each after the key of its question. @param {Workbench} bench  @param {Answers} answers */
function describeAnswers({ state, questions }, answers) {
  const content = [...state.schemas.values()].at(-1);
  const texts = Object.entries(answers.dialogue).flatMap(([key, value]) => {
    const options = content?.questions.find((question) => question.key === key)?.options ?? [];
    const textOf = (/** @type {number | string} */ chosen) =>
      options.find((option) => option.value === chosen)?.text[questions.language.code] ?? String(chosen);
    return [`${key}: ${[value].flat().map(textOf).join(", ")}`];
  });
  return texts.join(" · ");
}

/** Undo on a page that has not submitted anything yet: open the last submission. @param {Workbench} bench */
export async function openLast(bench) {
  try {
    const [last] = (await fetchSubmissions(bench)).results;
    if (!last) toast(gettext("There is nothing to undo."));
    else await bench.reopen(last.assignment);
  } catch (error) {
    bench.notices.showError(error);
  }
}
