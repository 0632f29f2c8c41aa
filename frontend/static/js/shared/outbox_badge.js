// @ts-check
/** On every page: sends what waits, and says in the header what waits for long or was refused. */
import { format, gettext, ngettext } from "./messages.js";
import { forgetPages } from "./offline_pages.js";
import * as outbox from "./outbox.js";

const WORTH_SAYING_MS = 1500; // not for the blink of an eye that a turn normally takes

/** @typedef {outbox.Item} Item */

/** @param {Item[]} refused */
function refusedText({ length: n }) {
  return format(ngettext("{n} not stored", "{n} not stored", n), { n });
}

/** @param {Item[]} waiting  @param {boolean} isSignedOut */
function waitingText({ length: n }, isSignedOut) {
  const message = isSignedOut
    ? gettext("Sign in to send {n}")
    : ngettext("{n} waiting to send", "{n} waiting to send", n);
  return format(message, { n });
}

class Badge {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #later;

  /** @param {HTMLAnchorElement} link */
  constructor(link) {
    this.link = link;
    this.words = /** @type {HTMLElement} */ (link.querySelector("[data-words]"));
  }

  async show() {
    clearTimeout(this.#later);
    const items = await outbox.items();
    const refused = items.filter((item) => item.problem);
    const { hasFailed, isSignedOut } = outbox.sendingState();
    const age = items.length > 0 ? Date.now() - items[0].made_at : 0;
    const isLate = items.length > 0 && (hasFailed || !navigator.onLine || age > WORTH_SAYING_MS);
    this.link.hidden = refused.length === 0 && !isLate;
    if (this.link.hidden) {
      if (items.length > 0) this.#later = setTimeout(() => void this.show(), WORTH_SAYING_MS - age + 10);
      return;
    }
    this.words.textContent = refused.length > 0 ? refusedText(refused) : waitingText(items, isSignedOut);
    const isLogin = refused.length === 0 && isSignedOut;
    this.link.href = isLogin ? (this.link.dataset.login ?? "") : (refused[0] ?? items[0]).url;
  }
}

function start() {
  const link = document.getElementById("outbox");
  const badge = link instanceof HTMLAnchorElement ? new Badge(link) : null;
  outbox.listen(() => void badge?.show());
  addEventListener("online", () => void outbox.flush());
  addEventListener("offline", () => void badge?.show());
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && void outbox.flush());
  document.addEventListener("submit", (event) => {
    if (event.target instanceof HTMLFormElement && event.target.matches("[action$='/logout/']")) forgetPages();
  });
  void outbox.flush();
  void badge?.show();
}

if (outbox.owner) start();
else forgetPages(); // what waits stays, under its owner's number
