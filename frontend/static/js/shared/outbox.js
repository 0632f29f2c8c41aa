// @ts-check
/**
 * The one way out for everything that is sent later: turns, labels, judgements of a sample.
 *
 * Items of one lane (an assignment; the labels of a project; a batch's sample) are sent strictly in order, by one tab at
 * a time (Web Locks), again and again until the server answers. Every item has an id of its own, so a second send changes
 * nothing. A refused item stays until its page has shown it. Any page sends what waits, so each area registers in KINDS
 * where its items go and what the request holds.
 */
import { call, isPassing, isSignedOut } from "./api.js";
import * as store from "./outbox_store.js";

export { confirmedSince, isVolatile, owner } from "./outbox_store.js";

/**
 * @typedef {import("./outbox_store.js").Item} Item
 * @typedef {Omit<Item, "owner" | "attempts" | "seq" | "problem">} NewItem
 * @typedef {import("./api.js").Problem} Problem
 * @typedef {{ address: (item: Item) => string, body: (item: Item) => Record<string, unknown>,
 *   confirmed?: (item: Item, answer: any) => Omit<import("./outbox_store.js").Confirmed, "seq"> }} Kind
 *   address: below /api/v1; confirmed: what a page from the cache has to know
 * @typedef {(
 *   | { kind: "queued" | "refused" | "withdrawn", item: Item }
 *   | { kind: "stored", item: Item, answer: any }
 *   | { kind: "waiting", signedOut: boolean }
 * )} Event
 */

const LONGEST_WAIT_MS = 30_000;

/** A module per area, loaded when the first of its items is sent; the area's own pages have it from the beginning. @type {Record<string, () => Promise<{ KINDS: Record<string, Kind> }>>} */
const AREAS = {
  turn: () => import("../authoring/outbox_kinds.js"),
  undo: () => import("../authoring/outbox_kinds.js"),
  labels: () => import("../labelling/outbox_kinds.js"),
  judgement: () => import("../batch_review/outbox_kinds.js"),
};

/** What this tab knows of sending. */
const sending = {
  failures: 0,
  isSignedOut: false,
  nextTry: /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined),
};

/** @returns {{ hasFailed: boolean, isSignedOut: boolean }} */
export const sendingState = () => ({ hasFailed: sending.failures > 0, isSignedOut: sending.isSignedOut });

// ---- in and out ------------------------------------------------------------------------------------------------------

/** What waits or was refused, oldest first. @param {number} [assignment]  only what is about it */
export async function items(assignment) {
  const all = await store.allItems();
  return assignment === undefined ? all : all.filter((item) => item.assignment === assignment);
}

/** @param {string} lane */
export async function itemsInLane(lane) {
  return (await store.allItems()).filter((item) => item.lane === lane);
}

/** Resolves when the item is on disk; sending follows by itself. @param {NewItem} added */
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

/** Take items out for good; the caller keeps their words. @param {Item[]} removed */
export async function remove(removed) {
  await store.deleteItems(removed);
  for (const item of removed) announce({ kind: "withdrawn", item });
}

// ---- sending ---------------------------------------------------------------------------------------------------------

/** Send everything that waits. */
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

/** One after the other, until none is left or none gets through. @param {string} lane */
async function drain(lane) {
  for (let item = await store.takeForSending(lane); item; item = await store.takeForSending(lane)) {
    const kind = (await AREAS[item.kind]()).KINDS[item.kind];
    try {
      const answer = await call("POST", kind.address(item), kind.body(item));
      await store.settleItem(item, kind.confirmed?.(item, answer) ?? null);
      Object.assign(sending, { failures: 0, isSignedOut: false });
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

/** What was stored since this page was opened: its script may begin after that. @param {string} lane */
export const storedSinceLoad = (lane) => storedHere.filter(({ item }) => item.lane === lane);

/** Hear what happens to items, in whatever tab. @param {(event: Event) => void} listener */
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
