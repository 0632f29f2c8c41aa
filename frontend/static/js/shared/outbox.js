// @ts-check
/**
 * The one way out for everything that is sent later: turns, labels, judgements of a sample.
 *
 * Items of one lane (an assignment; the labels of a project; a batch's sample) are sent strictly in order, by one tab at
 * a time (Web Locks), again and again until the server answers. Every item has an id of its own, so a second send changes
 * nothing. A refused item stays until its page has shown it. Every page sends what waits, and a badge in its header says
 * what waits for long or was refused.
 */
import { call, isPassing, isSignedOut, Problem } from "./api.js";
import * as store from "./outbox_store.js";
import { format, gettext, ngettext } from "./page.js";

/**
 * @typedef {import("./outbox_store.js").Item} Item
 * @typedef {Omit<import("./outbox_store.js").Confirmed, "seq">} Confirmed
 * @typedef {Omit<Item, "owner" | "attempts" | "seq" | "problem">} NewItem
 * @typedef {{ address: (item: Item) => string, body: (item: Item) => Record<string, unknown>,
 *   confirmed?: (item: Item, answer: any) => Confirmed }} Kind
 *   address: below /api/v1; confirmed: what a page from the cache has to know
 * @typedef {(
 *   | { kind: "queued" | "refused" | "withdrawn", item: Item }
 *   | { kind: "stored", item: Item, answer: any }
 *   | { kind: "waiting", signedOut: boolean }
 * )} Event
 */

const LONGEST_WAIT_MS = 30_000;

/** @param {Item} item  @param {any} answer  @returns {Confirmed} */
const confirmItem = ({ kind, assignment, position }, answer) => ({
  assignment: Number(assignment),
  touched_at: answer.assignment.touched_at,
  position,
  turn: kind === "turn" ? answer.turn : null,
});

/** @type {Record<string, Kind>} */
const KINDS = {
  turn: {
    address: ({ assignment }) => `/assignments/${assignment}/turns/`,
    body: ({ sent }) => sent,
    confirmed: confirmItem,
  },
  undo: {
    address: ({ assignment }) => `/assignments/${assignment}/undo/`,
    body: ({ sent }) => sent,
    confirmed: confirmItem,
  },
  labels: {
    address: ({ assignment }) => `/labelling/${assignment}/submissions/`,
    // The server counts the reading time only until the person submitted.
    body: ({ sent, made_at }) => ({ ...sent, waited_ms: Math.max(0, Date.now() - made_at) }),
    confirmed: confirmItem,
  },
  judgement: {
    address: ({ sent }) => `/sample-items/${sent.sample_item}/judgements/`,
    body: ({ sent: { sample_item: _address, ...body } }) => body,
  },
};

/** The sending state of this tab. */
const sending = {
  failures: 0,
  isSignedOut: false,
  isOther: false, // somebody else is signed in
  nextTry: /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined),
};

const sendingState = () => ({ hasFailed: sending.failures > 0, ...sending });

// ---- in and out ------------------------------------------------------------------------------------------------------

/** Waiting and refused items, oldest first. @param {number} [assignment]  only what is about it */
export async function items(assignment) {
  const all = await store.allItems();
  return assignment === undefined ? all : all.filter((item) => item.assignment === assignment);
}

/** @param {string} lane */
export async function itemsInLane(lane) {
  return (await store.allItems()).filter((item) => item.lane === lane);
}

/** Resolves when the item is on disk; it is then sent in the background. @param {NewItem} added */
export async function enqueue(added) {
  /** @type {Item} */
  const item = { ...added, owner: store.owner, attempts: 0 };
  await store.addItem(item);
  announce({ kind: "queued", item });
  void send(store.laneOf(item));
}

/** Take an item back that was never sent. @param {string} id  @returns {Promise<boolean>} false: it is on its way */
export async function withdraw(id) {
  const item = await store.deleteUnsent(id);
  if (item) announce({ kind: "withdrawn", item });
  return item !== undefined;
}

/** Remove items for good; the caller keeps their content. @param {Item[]} removed */
export async function remove(removed) {
  await store.deleteItems(removed);
  for (const item of removed) announce({ kind: "withdrawn", item });
}

// ---- sending ---------------------------------------------------------------------------------------------------------

/** Send all waiting items. */
export async function flush() {
  clearTimeout(sending.nextTry);
  const waiting = (await items()).filter((item) => !item.problem);
  for (const lane of new Set(waiting.map(store.laneOf))) void send(lane);
}

/** @param {string} lane */
async function send(lane) {
  const work = () => drain(lane);
  try {
    await (navigator.locks ? navigator.locks.request(`lapidary-outbox-${lane}`, work) : work());
  } catch (error) {
    retryLater(error);
  }
}

/** Send items one after the other, until the lane is empty or a call fails. @param {string} lane */
async function drain(lane) {
  for (let item = await store.takeForSending(lane); item; item = await store.takeForSending(lane)) {
    const kind = KINDS[item.kind];
    try {
      const answer = await call("POST", kind.address(item), kind.body(item));
      await store.settleItem(item, kind.confirmed?.(item, answer) ?? null);
      Object.assign(sending, { failures: 0, isSignedOut: false, isOther: false });
      announce({ kind: "stored", item, answer });
    } catch (error) {
      if (isPassing(error) || isSignedOut(error)) throw error;
      await onRefused(item, /** @type {Problem} */ (error));
    }
  }
}

/** @param {Item} item  @param {Problem} problem */
async function onRefused(item, { code, message, remedy, body }) {
  if (code === "too_early") {
    await sendAgainAfter(item, Number(body.seconds_left ?? 1));
    return;
  }
  item.problem = { code, message, remedy, body };
  await store.updateItem(item);
  announce({ kind: "refused", item });
}

/**
 * This clock runs a little faster than the server's: the submission counts as made when the time is over.
 * @param {Item} item  @param {number} seconds
 */
async function sendAgainAfter(item, seconds) {
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000 + 50));
  await store.updateItem({ ...item, made_at: Date.now() });
}

/** @param {unknown} error */
function retryLater(error) {
  const wait = Math.min(LONGEST_WAIT_MS, 1000 * 2 ** sending.failures) * (0.75 + Math.random() / 2);
  sending.isSignedOut = isSignedOut(error);
  sending.isOther = error instanceof Problem && error.code === "other_person";
  sending.failures += 1;
  clearTimeout(sending.nextTry);
  sending.nextTry = setTimeout(flush, wait);
  announce({ kind: "waiting", signedOut: sending.isSignedOut });
}

// ---- events ----------------------------------------------------------------------------------------------------------

/** @type {Set<(event: Event) => void>} */
const listeners = new Set();
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("lapidary-outbox") : undefined;
if (channel) channel.onmessage = (message) => notify(message.data);

/** @type {{ item: Item, answer: any }[]} */
const storedHere = [];

/** Items stored since this page was loaded; a page's own script may start later than this module. @param {string} lane */
export const storedSinceLoad = (lane) => storedHere.filter(({ item }) => item.lane === lane);

/** Be notified of what happens to items, in any tab. @param {(event: Event) => void} listener */
export function listen(listener) {
  listeners.add(listener);
}

/** @param {Event} event  to all tabs */
function announce(event) {
  channel?.postMessage(event);
  notify(event);
}

/** @param {Event} event */
function notify(event) {
  if (event.kind === "stored") storedHere.push(event);
  for (const listener of listeners) listener(event);
}

// ---- pages kept for a reload without a network ----------------------------------------------------------------------

const CACHE = "lapidary";
const KEPT_FILES = /^\/(static|jsi18n)\//; // as in service_worker.js

/**
 * Keep this page and its files. <html data-kept-offline> says when that is done.
 * @param {string[]} [more]  files that are loaded on need
 */
export async function keepPage(more = []) {
  if (!("serviceWorker" in navigator)) return;
  await navigator.serviceWorker.register("/service-worker.js", { scope: "/", updateViaCache: "none" });
  const { active } = await navigator.serviceWorker.ready;
  const used = performance.getEntriesByType("resource").map((entry) => entry.name);
  const files = [...used, ...more].filter((url) => KEPT_FILES.test(new URL(url, location.origin).pathname));
  const channel = new MessageChannel();
  channel.port1.onmessage = () => {
    document.documentElement.dataset.keptOffline = "true";
  };
  active?.postMessage({ keep: files, page: location.pathname }, [channel.port2]);
}

/** Signing out deletes all pages kept in this browser. */
export function forgetPages() {
  if ("caches" in globalThis) void caches.delete(CACHE);
}

// ---- the badge ------------------------------------------------------------------------------------------------------

const LATE_AFTER_MS = 1500; // a turn normally takes less

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
    const unsent = await items();
    const refused = unsent.filter((item) => item.problem);
    const { hasFailed, isSignedOut, isOther } = sendingState();
    const age = unsent.length > 0 ? Date.now() - unsent[0].made_at : 0;
    const isLate = unsent.length > 0 && (hasFailed || !navigator.onLine || age > LATE_AFTER_MS);
    this.link.hidden = refused.length === 0 && !isLate;
    if (this.link.hidden) {
      if (unsent.length > 0) this.#later = setTimeout(() => void this.show(), LATE_AFTER_MS - age + 10);
      return;
    }
    this.words.textContent = refused.length > 0 ? refusedText(refused) : waitingText(unsent, isSignedOut);
    const isLogin = refused.length === 0 && isSignedOut;
    const { login = "", logout = "" } = this.link.dataset;
    const entrance = isOther ? `${logout}?next=${encodeURIComponent(login)}` : login;
    this.link.href = isLogin ? entrance : (refused[0] ?? unsent[0]).url;
  }
}

// ---- signing out ----------------------------------------------------------------------------------------------------

/** Dispatched when a person is about to sign out: pages put what waits on them into the outbox. */
export const SIGNING_OUT = "lapidary:signing-out";

/** Warn before somebody signs out while work is unsent. @param {HTMLDialogElement} dialog */
function listenForSignOut(dialog) {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.matches("[action$='/logout/']")) return;
    event.preventDefault();
    import("./sign_out.js").then(({ askAndSignOut }) => askAndSignOut(dialog, form)).catch(() => form.submit());
  });
}

function startSending() {
  const link = document.getElementById("outbox");
  const badge = link instanceof HTMLAnchorElement ? new Badge(link) : null;
  listen(() => void badge?.show());
  addEventListener("online", () => void flush());
  addEventListener("offline", () => void badge?.show());
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && void flush());
  const dialog = document.getElementById("sign-out");
  if (dialog instanceof HTMLDialogElement) listenForSignOut(dialog);
  void flush();
  void badge?.show();
}

if (store.owner) startSending();
else forgetPages(); // waiting items stay, stored under the id of their owner
