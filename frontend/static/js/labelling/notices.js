// @ts-check
/** Notices of the labelling workbench. What draws them is loaded on need: most pages never show one. */
import { isPassing, isSignedOut, Problem } from "../shared/api.js";
import { gettext } from "../shared/messages.js";

/** @typedef {import("../shared/notices.js").Notice} Notice */

export class Notices {
  /** @type {Promise<typeof import("../shared/notices.js")> | undefined} */
  #module;

  /** @param {string} login  URL of the page to sign in */
  constructor(login) {
    this.login = login;
  }

  /** @param {string} cause  one notice per cause  @param {Notice} notice */
  show(cause, notice) {
    this.#module ??= import("../shared/notices.js");
    this.#module.then(
      ({ showNotice }) => showNotice(cause, notice),
      () => {
        this.#module = undefined; // no network, and no service worker yet: the next notice tries again
      },
    );
  }

  /** @param {string[]} causes */
  hide(...causes) {
    const hideAll = (/** @type {typeof import("../shared/notices.js")} */ { showNotice }) => {
      for (const cause of causes) showNotice(cause, null);
    };
    this.#module?.then(hideAll, () => undefined);
  }

  /** @param {unknown} error  @param {string} [cause] */
  showError(error, cause = "error") {
    const failed = gettext("That did not work. Nothing was changed.");
    if (isSignedOut(error)) this.showSignedOut();
    else if (error instanceof Problem && !isPassing(error))
      this.show(cause, { tone: "bad", text: error.message || failed, remedy: error.remedy });
    else this.show(cause, { tone: "warn", text: gettext("No connection."), remedy: failed });
  }

  showSignedOut() {
    const login = `${this.login}?next=${encodeURIComponent(location.pathname)}`;
    this.show("signed-out", {
      tone: "warn",
      text: gettext("You are signed out."),
      remedy: gettext("Sign in again, also in another tab: what waits here is sent then."),
      actions: [{ label: gettext("Sign in"), run: () => location.assign(login) }],
    });
  }

  showOffline() {
    this.show("connection", {
      tone: "warn",
      text: gettext("No connection."),
      remedy: gettext("Go on: everything is kept in this browser and sent, in order, when the connection is back."),
    });
  }
}

/** @param {string} text */
export async function showToast(text) {
  (await import("../shared/toast.js")).toast(text);
}
