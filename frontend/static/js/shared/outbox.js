// @ts-check
/**
 * What was submitted and is not stored by the server yet. On every page.
 *
 * Items lie in IndexedDB, so they survive a reload and a crash. Those of one lane (an assignment; for labels, a project)
 * are sent strictly in order, by one tab at a time (Web Locks), again and again until the server has answered; every item
 * carries an id of its own, so a second send changes nothing. A refusal stops that assignment's items until the workbench
 * has shown it. What the server has confirmed since a page was made is kept too: a page that comes from the cache is out
 * of date.
 */

import { call, isPassing, isSignedOut, Problem } from "./api.js";
import { format } from "./messages.js";

/**
 * @typedef {{ code: string, message: string, remedy: string, body: Record<string, any> }} Refused
 * @typedef {{
 *   id: string, kind: "turn" | "undo" | "labels", owner: number, assignment: number, url: string, position: number,
 *   text: string, sent: Record<string, unknown>, made_at: number, attempts: number, lane?: string,
 *   problem?: Refused, seq?: number,
 * }} Item  sent: the body of the request
 * @typedef {{ assignment: number, touched_at: string, position: number, turn: Record<string, any> | null, seq?: number }}
 *   Confirmed  turn: null where it was undone
 * @typedef {(
 *   | { kind: "queued" | "refused" | "withdrawn", item: Item }
 *   | { kind: "stored" | "undone", item: Item, answer: any }
 *   | { kind: "waiting", signedOut: boolean }
 * )} Event
 */

const LONGEST_WAIT_MS = 30_000;
const WORTH_SAYING_MS = 1500;
const FORGET_AFTER_MS = 14 * 86_400_000;
const PAGES_CACHE = "lapidary";
const ADDRESSES = { turn: "assignments/{n}/turns", undo: "assignments/{n}/undo", labels: "labelling/{n}/submissions" };

const badge = document.getElementById("outbox");
export const owner = Number(badge?.dataset.user ?? 0);

// ---- on disk ---------------------------------------------------------------------------------------------------------

/** @type {Promise<IDBDatabase> | undefined} */
let opening;

function database() {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open("lapidary", 1);
    request.onupgradeneeded = () => {
      for (const name of ["outbox", "confirmed"]) {
        request.result.createObjectStore(name, { keyPath: "seq", autoIncrement: true });
      }
    };
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      request.result.onclose = () => {
        opening = undefined;
      };
      resolve(request.result);
    };
  });
  return opening;
}

/** In place of a store where the browser keeps nothing: as long as the tab lives. */
class MemoryStore {
  rows = new Map();
  last = 0;

  getAll() {
    /** @type {{ result: any[], onsuccess?: () => void }} */
    const request = { result: [...this.rows.values()].map((row) => structuredClone(row)) };
    queueMicrotask(() => request.onsuccess?.());
    return request;
  }

  /** @param {any} row */
  put(row) {
    this.last += 1;
    row.seq ??= this.last;
    this.rows.set(row.seq, row);
  }

  /** @param {any} row */
  add(row) {
    this.put({ ...row });
  }

  /** @param {number} seq */
  delete(seq) {
    this.rows.delete(seq);
  }
}

/** @type {[any, any] | undefined} */
let memory;
/** Whether what waits would be lost with this tab. */
export const isVolatile = () => memory !== undefined;

/**
 * One transaction over both stores; settled when it is on disk.
 * @template T
 * @param {(outbox: IDBObjectStore, confirmed: IDBObjectStore, result: (value: T) => void) => void} work
 * @returns {Promise<T>}
 */
async function transact(work) {
  const disk = memory ? undefined : await database().catch(() => undefined);
  if (!disk) return inMemory(work);
  const transaction = disk.transaction(["outbox", "confirmed"], "readwrite", { durability: "strict" });
  return new Promise((resolve, reject) => {
    /** @type {any} */
    let result;
    transaction.oncomplete = () => resolve(result);
    transaction.onabort = () => reject(transaction.error);
    work(transaction.objectStore("outbox"), transaction.objectStore("confirmed"), (value) => {
      result = value;
    });
  });
}

/** @param {(outbox: any, confirmed: any, result: (value: any) => void) => void} work  @returns {Promise<any>} */
async function inMemory(work) {
  memory ??= [new MemoryStore(), new MemoryStore()];
  /** @type {any} */
  let result;
  work(...memory, (value) => {
    result = value;
  });
  await new Promise((resolve) => setTimeout(resolve));
  return result;
}

/** @template T @param {IDBObjectStore} store  @param {(rows: T[]) => void} then  in the order of their making */
function read(store, then) {
  const request = store.getAll();
  request.onsuccess = () => then(request.result);
}

/** @param {Item} item */
const isMine = (item) => item.owner === owner;

/**
 * What is being written to disk is kept beside it until it is there: a page that goes away gives up its writes.
 * @param {string} key  @param {Item | null} item
 */
function keepCopy(key, item) {
  try {
    if (item) localStorage.setItem(key, JSON.stringify(item));
    else localStorage.removeItem(key);
  } catch {
    // Full or forbidden: the disk has it in a moment.
  }
}

const copyOf = (/** @type {string} */ id) => `lapidary:storing:${owner}:${id}`;

/** What a page before this one could not write any more. Sent twice, it is stored once: the server knows its id. */
async function recover() {
  const copies = Object.keys(localStorage).filter((key) => key.startsWith(copyOf("")));
  if (copies.length === 0) return;
  /** @type {Item[]} */
  const lost = copies.map((key) => JSON.parse(localStorage.getItem(key) ?? ""));
  lost.sort((one, other) => one.made_at - other.made_at);
  await transact((outbox) =>
    read(outbox, (/** @type {Item[]} */ rows) => {
      const known = new Set(rows.map((row) => row.id));
      for (const item of lost) if (!known.has(item.id)) outbox.add(item);
    }),
  );
  for (const key of copies) keepCopy(key, null);
}

/** Nothing is read or sent before it. */
let recovered = Promise.resolve();

/** What waits or was refused, oldest first. @param {number} [assignment]  @returns {Promise<Item[]>} */
export async function items(assignment) {
  await recovered;
  /** @type {Item[]} */
  const rows = await transact((outbox, _confirmed, result) => read(outbox, result));
  return rows.filter((item) => isMine(item) && (assignment === undefined || item.assignment === assignment));
}

/** @param {Item} item */
const laneOf = (item) => item.lane ?? String(item.assignment);

/** The first item to be sent, its attempt counted, so that `withdraw` knows. @param {string} lane */
function take(lane) {
  return transact((outbox, _confirmed, /** @type {(item?: Item) => void} */ result) =>
    read(outbox, (/** @type {Item[]} */ rows) => {
      const own = rows.filter((row) => isMine(row) && laneOf(row) === lane);
      const refused = new Set(own.filter((row) => row.problem).map((row) => row.assignment));
      const item = own.find((row) => !refused.has(row.assignment));
      if (!item) return;
      item.attempts += 1;
      outbox.put(item);
      result(item);
    }),
  );
}

/** @param {Item} item  @param {any} answer */
function settle(item, answer) {
  const turn = item.kind === "turn" ? answer.turn : null;
  const { assignment, position } = item;
  return transact((outbox, confirmed) => {
    outbox.delete(/** @type {number} */ (item.seq));
    confirmed.add({ assignment, touched_at: answer.assignment.touched_at, position, turn });
  });
}

/**
 * What the server has confirmed since it made a page; older rows are of no use any more and go.
 * @param {number} assignment  @param {string} touchedAt  of the page
 * @returns {Promise<Confirmed[]>}
 */
export function confirmedSince(assignment, touchedAt) {
  return transact((_outbox, confirmed, result) =>
    read(confirmed, (/** @type {Confirmed[]} */ rows) => {
      const own = rows.filter((row) => row.assignment === assignment);
      const isNew = (/** @type {Confirmed} */ row) => Date.parse(row.touched_at) >= Date.parse(touchedAt);
      const isOld = (/** @type {Confirmed} */ row) => Date.now() - Date.parse(row.touched_at) > FORGET_AFTER_MS;
      const useless = rows.filter((row) => isOld(row) || (row.assignment === assignment && !isNew(row)));
      for (const row of useless) confirmed.delete(/** @type {number} */ (row.seq));
      result(own.filter(isNew));
    }),
  );
}

// ---- in and out ------------------------------------------------------------------------------------------------------

/** Resolves when the item is on disk; sending follows by itself. @param {Omit<Item, "owner" | "attempts" | "seq">} made */
export async function enqueue(made) {
  /** @type {Item} */
  const item = { ...made, owner, attempts: 0 };
  keepCopy(copyOf(item.id), item);
  try {
    await transact((outbox) => outbox.add(item));
  } finally {
    keepCopy(copyOf(item.id), null);
  }
  tell({ kind: "queued", item });
  void send(laneOf(item));
}

/** Take an item back that was never sent. @param {string} id  @returns {Promise<boolean>} false: it is on its way */
export async function withdraw(id) {
  /** @type {Item | undefined} */
  const item = await transact((outbox, _confirmed, result) =>
    read(outbox, (/** @type {Item[]} */ rows) => {
      const found = rows.find((row) => row.id === id && row.attempts === 0);
      if (!found) return;
      outbox.delete(/** @type {number} */ (found.seq));
      result(found);
    }),
  );
  if (item) tell({ kind: "withdrawn", item });
  return Boolean(item);
}

/** Take items out for good; their words must be kept elsewhere. @param {Item[]} gone */
export async function remove(gone) {
  await transact((outbox) => {
    for (const item of gone) outbox.delete(/** @type {number} */ (item.seq));
  });
  for (const item of gone) tell({ kind: "withdrawn", item });
}

// ---- sending ---------------------------------------------------------------------------------------------------------

let failures = 0;
let signedOut = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let nextTry;

/** Send everything that waits. */
export async function flush() {
  clearTimeout(nextTry);
  const waiting = (await items()).filter((item) => !item.problem);
  for (const lane of new Set(waiting.map(laneOf))) void send(lane);
}

/** @param {string} lane */
async function send(lane) {
  const work = () => drain(lane);
  await recovered;
  try {
    await (navigator.locks ? navigator.locks.request(`lapidary-outbox-${lane}`, work) : work());
  } catch (error) {
    retryLater(error);
  }
}

/** @param {string} lane  one after the other, until none is left or none gets through */
async function drain(lane) {
  for (let item = await take(lane); item; item = await take(lane)) {
    try {
      const address = `/${format(ADDRESSES[item.kind], { n: item.assignment })}/`;
      const answer = await call("POST", address, bodyOf(item));
      await settle(item, answer);
      failures = 0;
      signedOut = false;
      tell({ kind: item.kind === "undo" ? "undone" : "stored", item, answer });
    } catch (error) {
      if (isPassing(error) || isSignedOut(error)) throw error;
      const problem = /** @type {Problem} */ (error);
      if (problem.code === "too_early") await sendAgain(item, Number(problem.body.seconds_left ?? 1));
      else await refuse(item, problem);
    }
  }
}

/** Labels say how long they have waited: the server counts the reading time up to when they were made. @param {Item} item */
function bodyOf({ kind, sent, made_at }) {
  return kind === "labels" ? { ...sent, waited_ms: Math.max(0, Date.now() - made_at) } : sent;
}

/**
 * A clock that runs a little faster than the server's: the submission counts as made when the time is over.
 * @param {Item} item  @param {number} seconds
 */
async function sendAgain(item, seconds) {
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000 + 50));
  await transact((outbox) => outbox.put({ ...item, made_at: Date.now() }));
}

/** @param {Item} item  @param {Problem} problem */
async function refuse(item, { code, message, remedy, body }) {
  item.problem = { code, message, remedy, body };
  await transact((outbox) => outbox.put(item));
  tell({ kind: "refused", item });
}

/** @param {unknown} error */
function retryLater(error) {
  signedOut = isSignedOut(error);
  const wait = Math.min(LONGEST_WAIT_MS, 1000 * 2 ** failures) * (0.75 + Math.random() / 2);
  failures += 1;
  clearTimeout(nextTry);
  nextTry = setTimeout(flush, wait);
  tell({ kind: "waiting", signedOut });
}

// ---- telling ---------------------------------------------------------------------------------------------------------

/** @type {Set<(event: Event) => void>} */
const listeners = new Set();
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("lapidary-outbox") : undefined;

/** Hear what happens to items, in whatever tab. @param {(event: Event) => void} listener */
export function listen(listener) {
  listeners.add(listener);
}

/** @param {Event} event */
function tell(event) {
  channel?.postMessage(event);
  hear(event);
}

/** @param {Event} event */
function hear(event) {
  for (const listener of listeners) listener(event);
  void show();
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let showLater;

/** "2 waiting to send" in the header: not for the blink of an eye that a turn normally takes. */
async function show() {
  if (!(badge instanceof HTMLAnchorElement)) return;
  clearTimeout(showLater);
  const mine = await items();
  const refused = mine.filter((item) => item.problem);
  const [oldest] = mine;
  const age = oldest ? Date.now() - oldest.made_at : 0;
  const isSaid =
    refused.length > 0 || (mine.length > 0 && (failures > 0 || !navigator.onLine || age > WORTH_SAYING_MS));
  if (mine.length > 0 && !isSaid) showLater = setTimeout(show, WORTH_SAYING_MS - age + 10);
  badge.hidden = !isSaid;
  if (!isSaid) return;
  const which = refused.length > 0 ? "refused" : signedOut ? "signedOut" : "waiting";
  const count = which === "refused" ? refused.length : mine.length;
  const words = badge.querySelector("[data-words]") ?? badge;
  words.textContent = format(badge.dataset[count === 1 ? `${which}One` : which] ?? "", { n: count });
  badge.href = which === "signedOut" ? (badge.dataset.login ?? "") : (refused[0] ?? oldest).url;
}

/** Signing out leaves no page behind in this browser. What waits stays, under its owner's number. */
function forgetPages() {
  if ("caches" in globalThis) void caches.delete(PAGES_CACHE);
}

function start() {
  recovered = recover().catch(() => {});
  if (channel) channel.onmessage = (message) => hear(message.data);
  addEventListener("online", () => void flush());
  addEventListener("offline", () => void show());
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && void flush());
  document.addEventListener("submit", (event) => {
    if (event.target instanceof HTMLFormElement && event.target.matches("[action$='/logout/']")) forgetPages();
  });
  void flush();
  void show();
}

if (owner) start();
else forgetPages();

/**
 * A service worker keeps this page and its files, so that a reload without network finds them.
 * @param {string[]} [more]  files that only other pages of this work use
 */
export async function keepPage(more = []) {
  if (!("serviceWorker" in navigator)) return;
  await navigator.serviceWorker.register("/service-worker.js", { scope: "/", updateViaCache: "none" });
  const { active } = await navigator.serviceWorker.ready;
  const used = performance.getEntriesByType("resource").map((entry) => entry.name);
  const files = [...used, ...more].filter((url) => /^\/(static|jsi18n)\//.test(new URL(url, location.origin).pathname));
  const kept = new MessageChannel();
  kept.port1.onmessage = () => {
    document.documentElement.dataset.keptOffline = "true";
  };
  active?.postMessage({ keep: files, page: location.pathname }, [kept.port2]);
}
