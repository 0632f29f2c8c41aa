// @ts-check
/** Notices of the authoring workbench. */
import { Problem } from "../shared/api.js";
import { clock, format, gettext, showNotice } from "../shared/page.js";

/** @typedef {import("./workbench.js").Workbench} Workbench */

/** @type {Record<string, { text: string, remedy: string }>} */
const STATES = {
  saved: { text: gettext("Saved for later, kept until {when}."), remedy: gettext("Write on to take it up again.") },
  expired: {
    text: gettext("This dialogue was kept for you until {when}."),
    remedy: gettext("Write on to take it up again, as long as nobody else has."),
  },
  submitted: {
    text: gettext("This dialogue is finished."),
    remedy: gettext("You can take it back as long as no expert reads it."),
  },
  reading: {
    text: gettext("This dialogue is finished, and an expert is reading it."),
    remedy: gettext("It cannot be taken back any more; the verdict appears in your queue."),
  },
  passed: {
    text: gettext("Experts passed this dialogue."),
    remedy: gettext("It is in the data and cannot be taken back."),
  },
  vetoed: {
    text: gettext("An expert vetoed this dialogue."),
    remedy: gettext("It is out of the data and cannot be taken back. The reason is above."),
  },
  released: {
    text: gettext("You gave this dialogue back."),
    remedy: gettext("You can take it up again as long as nobody else has."),
  },
};

/** @param {string[]} causes */
export function hideNotices(...causes) {
  for (const cause of causes) showNotice(cause, null);
}

/** @param {unknown} error  @param {string} [cause] */
export function showError(error, cause = "error") {
  const failed = gettext("That did not work. Nothing was changed.");
  if (error instanceof Problem) showNotice(cause, { tone: "bad", text: error.message || failed, remedy: error.remedy });
  else showNotice(cause, { tone: "warn", text: gettext("No connection."), remedy: failed });
}

export function showOffline() {
  showNotice("connection", {
    tone: "warn",
    text: gettext("No connection."),
    remedy: gettext("Go on writing: everything is kept in this browser and sent, in order, when it is back."),
  });
}

/** @param {string} loginUrl */
export function showSignedOut(loginUrl) {
  const login = `${loginUrl}?next=${encodeURIComponent(location.pathname)}`;
  showNotice("signed-out", {
    tone: "warn",
    text: gettext("You are signed out."),
    remedy: gettext("Sign in again, also in another tab: what waits here is sent then."),
    actions: [{ label: gettext("Sign in"), run: () => location.assign(login) }],
  });
}

export function showVolatile() {
  showNotice("volatile", {
    tone: "warn",
    text: gettext("This browser cannot keep unsent turns on disk."),
    remedy: gettext("Keep this tab open until everything is sent."),
  });
}

/** Why the dialogue cannot be written on, or what writing on does. @param {Workbench} bench */
export function showState(bench) {
  const { assignment, isOpen, decision } = bench.state;
  const { state, lease_until } = assignment;
  hideNotices("state");
  if (state === "active") return;
  // What experts have judged or are reading cannot be taken back.
  const key = state === "submitted" && decision ? decision : state;
  const isFinished = state === "submitted";
  const takeUp = {
    label: isFinished ? gettext("Take it back") : gettext("Take it up again"),
    run: () => void bench.takeUp(isFinished ? "take-back" : "resume"),
  };
  const { text, remedy } = STATES[key];
  const actions = isOpen || key !== state ? [] : [takeUp];
  showNotice("state", { tone: "", text: format(text, { when: clock(lease_until) }), remedy, actions });
}

/** Ways out when somebody else may have the dialogue. @param {Workbench} bench */
export function waysOut(bench) {
  return [
    { label: gettext("Take it up again"), run: () => void bench.takeUp("resume") },
    { label: gettext("To the queue"), run: () => location.assign(bench.state.urls.queue) },
  ];
}
