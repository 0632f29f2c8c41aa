// @ts-check
/** Leaving a dialogue to be labelled, and coming back to one: skip, save, give back, previous submissions. Loaded on need. */

import { call, clock, Problem } from "./api.js";
import { format, gettext } from "./messages.js";
import { toast } from "./toast.js";

/**
 * @typedef {{
 *   project: string, urls: Record<string, string>, current: () => any,
 *   sayError: (error: unknown) => void, reopen: (id: number) => Promise<void>, finishDraft: () => Promise<void>,
 *   claimId: () => string, hasNext: () => boolean, describe: (answers: any) => string, left: (id: number, answer: any) => void,
 * }} Bench
 */

/** @param {string} id */
const dialogOf = (id) => /** @type {HTMLDialogElement} */ (document.getElementById(id));

/** @param {Bench} bench */
export async function save(bench) {
  const assignment = bench.current();
  if (!assignment) return;
  await bench.finishDraft(); // answers that arrive later would take the dialogue up again
  await call("POST", `/assignments/${assignment.id}/save/`, {});
  location.assign(bench.urls.queue);
}

/** @param {Bench} bench */
export function skip(bench) {
  ask(bench, "skip", async (id, reason) => {
    const next = bench.hasNext() ? {} : { next_claim: bench.claimId() };
    const answer = await call("POST", `/labelling/${id}/skip/`, { reason, ...next });
    return () => bench.left(id, answer);
  });
}

/** @param {Bench} bench */
export function giveBack(bench) {
  ask(bench, "giveBack", async (id, reason) => {
    await call("POST", `/labelling/${id}/skip/`, { reason });
    return () => location.assign(bench.urls.queue);
  });
}

/** @param {Bench} bench  @param {"skip" | "giveBack"} how  @param {(id: number, reason: string) => Promise<() => void>} go
 *   sends it; what it returns is done when the question is closed */
function ask(bench, how, go) {
  const assignment = bench.current();
  if (!assignment) return;
  const asked = dialogOf("skip-dialog");
  const form = /** @type {HTMLFormElement} */ (asked.querySelector("form"));
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (asked.querySelector(name));
  part("h2").textContent = part("h2").dataset[how] ?? "";
  part("[data-keep]").onclick = () => asked.close();
  part("[type=submit] [data-words]").textContent = how === "skip" ? gettext("Skip") : gettext("Give back");
  part("[data-problem]").textContent = "";
  form.reset();
  let isSending = false;
  form.onsubmit = async (event) => {
    event.preventDefault();
    if (isSending) return;
    const given = new FormData(form);
    const reason = [given.get("reason"), given.get("words")].filter((one) => String(one ?? "").trim()).join(": ");
    if (!reason) {
      part("[data-problem]").textContent = gettext("Choose a reason, or write one.");
      return;
    }
    isSending = true;
    try {
      const goOn = await go(assignment.id, reason);
      asked.close();
      goOn();
    } catch (error) {
      part("[data-problem]").textContent =
        error instanceof Problem
          ? `${error.message} ${error.remedy}`
          : gettext("This needs the connection. Try again when it is back.");
    } finally {
      isSending = false;
    }
  };
  asked.showModal();
}

// ---- previous submissions ----------------------------------------------------------------------------------------------

/** @param {Bench} bench  @param {string} [address]  @returns {Promise<{ results: any[], next: string | null }>} */
function mine({ project }, address) {
  const query = address ? new URL(address, location.origin).search : "";
  return call("GET", `/projects/${project}/labelling/mine/${query}`);
}

/** @param {Bench} bench */
export async function previous(bench) {
  const sheet = dialogOf("previous");
  sheet.querySelector("[data-list]")?.replaceChildren();
  if (!sheet.open) sheet.showModal();
  await more(bench, sheet);
}

/** @param {Bench} bench  @param {HTMLDialogElement} sheet  @param {string} [address] */
async function more(bench, sheet, address) {
  const [state, list] = [sheet.querySelector("[data-state]"), sheet.querySelector("[data-list]")];
  const older = /** @type {HTMLButtonElement} */ (sheet.querySelector("[data-older]"));
  if (!state || !list) return;
  state.textContent = gettext("The next dialogue is on its way.");
  try {
    const page = await mine(bench, address);
    list.append(...page.results.map((one) => row(bench, sheet, one)));
    state.textContent = list.childElementCount > 0 ? "" : gettext("You have not submitted anything here yet.");
    older.hidden = !page.next;
    older.onclick = () => void more(bench, sheet, page.next ?? "");
    if (!address) list.querySelector("button")?.focus();
  } catch (error) {
    state.textContent =
      error instanceof Problem
        ? `${error.message} ${error.remedy}`
        : gettext("This needs the connection. Try again when it is back.");
  }
}

/** @param {Bench} bench  @param {HTMLDialogElement} sheet  @param {any} submission */
function row(bench, sheet, submission) {
  const template = /** @type {HTMLTemplateElement} */ (document.getElementById("previous-row"));
  const line = /** @type {HTMLElement} */ (template.content.firstElementChild?.cloneNode(true));
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (line.querySelector(name));
  part("[data-dialogue]").textContent = `#${submission.dialogue}`;
  part("[data-answers]").textContent = bench.describe(submission.answers);
  part("[data-revision]").textContent = format(gettext("revision {n}"), { n: submission.revision });
  part("[data-time]").textContent = clock(submission.stored_at);
  part("button").onclick = async () => {
    try {
      await bench.reopen(submission.assignment);
      sheet.close();
    } catch (error) {
      const state = sheet.querySelector("[data-state]");
      if (state)
        state.textContent =
          error instanceof Problem
            ? `${error.message} ${error.remedy}`
            : gettext("This needs the connection. Try again when it is back.");
    }
  };
  return line;
}

/** Undo, on a page that has submitted nothing yet. @param {Bench} bench */
export async function openLast(bench) {
  try {
    const [last] = (await mine(bench)).results;
    if (!last) toast(gettext("There is nothing to undo."));
    else await bench.reopen(last.assignment);
  } catch (error) {
    bench.sayError(error);
  }
}
