// @ts-check
/**
 * Signing out with work that is not stored yet: what waits is sent first, and the person is asked about the rest. Without
 * a connection signing out cannot work, and the dialog says so. Loaded when somebody signs out.
 */
import { call, csrfToken, isSignedOut, Problem } from "./api.js";
import { flush, forgetPages, items, listen, SIGNING_OUT } from "./outbox.js";
import { format, ngettext } from "./page.js";

class SignOut {
  /** @type {HTMLFormElement | undefined} */
  #form;
  #isAway = false;

  /** @param {HTMLDialogElement} dialog */
  constructor(dialog) {
    this.dialog = dialog;
    this.anyway = /** @type {HTMLButtonElement} */ (dialog.querySelector("[data-anyway]"));
    this.anyway.addEventListener("click", () => this.#orSubmit(this.#leave()));
    listen(() => void (this.dialog.open && this.#show()));
    addEventListener("online", () => {
      this.#isAway = false;
      if (this.dialog.open) void this.#show();
    });
  }

  /** @param {HTMLFormElement} form */
  start(form) {
    this.#form = form;
    this.#orSubmit(this.#ask());
  }

  /** If the outbox cannot be read, the form goes out without a warning. @param {Promise<void>} step */
  #orSubmit(step) {
    step.catch(() => this.#form?.submit());
  }

  async #ask() {
    dispatchEvent(new Event(SIGNING_OUT));
    this.#isAway = !navigator.onLine;
    flush().catch(() => undefined);
    const until = Date.now() + Number(this.dialog.dataset.sendingMs);
    while (!this.#isAway && (await hasWaiting()) && Date.now() < until) await new Promise((go) => setTimeout(go, 50));
    if (this.#isAway || (await items()).length > 0) await this.#open();
    else await this.#leave();
  }

  async #open() {
    await this.#show();
    if (!this.dialog.open) this.dialog.showModal();
  }

  async #show() {
    const { length: n } = await items();
    const part = (/** @type {string} */ name) =>
      /** @type {HTMLElement} */ (this.dialog.querySelector(`[data-${name}]`));
    part("away").hidden = !this.#isAway;
    part("unsent").hidden = n === 0;
    part("sent").hidden = n > 0 || this.#isAway;
    this.anyway.hidden = this.#isAway;
    const message = ngettext(
      "{n} piece of your work has not reached the server yet.",
      "{n} pieces of your work have not reached the server yet.",
      n,
    );
    part("count").textContent = format(message, { n });
  }

  /** With the current token: signing in again in another tab has changed it. */
  async #leave() {
    const form = /** @type {HTMLFormElement} */ (this.#form);
    try {
      await call("GET", "/me/");
      forgetPages();
      const token = form.elements.namedItem("csrfmiddlewaretoken");
      if (token instanceof HTMLInputElement) token.value = csrfToken();
    } catch (error) {
      if (isSignedOut(error)) return location.assign(form.action); // the page there says who is signed in
      if (!(error instanceof Problem)) {
        this.#isAway = true;
        return this.#open();
      }
      // The server answers, but with an error: the form goes out, and the server's page reports what is wrong.
    }
    form.submit();
  }
}

const hasWaiting = async () => (await items()).some((item) => !item.problem);

/** @type {SignOut | undefined} */
let signOut;

/** @param {HTMLDialogElement} dialog  @param {HTMLFormElement} form  the one that signs out */
export function askAndSignOut(dialog, form) {
  signOut ??= new SignOut(dialog);
  signOut.start(form);
}
