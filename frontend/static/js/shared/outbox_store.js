// @ts-check
/**
 * The outbox on disk: what is not stored by the server yet, and what the server has confirmed since a page was made (a
 * page from the cache is out of date). IndexedDB, so both survive a reload and a crash; without it, memory.
 */

/**
 * @typedef {{ code: string, message: string, remedy: string, body: Record<string, any> }} Refusal
 * @typedef {{
 *   id: string, kind: string, lane?: string, owner: number, assignment: number | null, url: string, position: number,
 *   text: string, sent: Record<string, unknown>, made_at: number, attempts: number, problem?: Refusal, seq?: number,
 * }} Item
 *   lane: items of one lane are sent in order; its assignment by default. assignment: null if the item is about something
 *   else, which `sent` names. text: shown to the person while it waits. sent: the body of the request. problem: why the
 *   server refused it. seq: its key on disk
 * @typedef {{ assignment: number, touched_at: string, position: number, turn: Record<string, any> | null, seq?: number }}
 *   Confirmed  turn: null if it was undone
 */

const FORGET_AFTER_MS = 14 * 86_400_000;

export const owner = Number(document.getElementById("outbox")?.dataset.user ?? 0);

// ---- IndexedDB, or memory --------------------------------------------------------------------------------------------

/** @type {Promise<IDBDatabase> | undefined} */
let opening;

function openDatabase() {
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

/** Replaces an IndexedDB store if the browser has none: lives as long as the tab. */
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
/** Whether waiting items would be lost if the tab closes. */
export const isVolatile = () => memory !== undefined;

/**
 * One transaction over both stores; settled when it is on disk.
 * @template T
 * @param {(outbox: IDBObjectStore, confirmed: IDBObjectStore, result: (value: T) => void) => void} work
 * @returns {Promise<T>}
 */
async function transact(work) {
  const disk = memory ? undefined : await openDatabase().catch(() => undefined);
  if (!disk) return transactInMemory(work);
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
async function transactInMemory(work) {
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
function readRows(store, then) {
  const request = store.getAll();
  request.onsuccess = () => then(request.result);
}

// ---- copies of what is being written ---------------------------------------------------------------------------------

const COPY_PREFIX = `lapidary:storing:${owner}:`;

/** Browsers abort the writes of a page that closes, so an item is copied to localStorage until it is on disk. @param {Item} item */
function keepCopy(item) {
  try {
    localStorage.setItem(COPY_PREFIX + item.id, JSON.stringify(item));
  } catch {
    // Full or forbidden: IndexedDB stores the item in a moment.
  }
}

/** Whether an item that is on its way to disk survives even if the page closes now. @param {string} id */
export function hasCopy(id) {
  try {
    return localStorage.getItem(COPY_PREFIX + id) !== null;
  } catch {
    return false;
  }
}

/** @param {string} id */
function removeCopy(id) {
  try {
    localStorage.removeItem(COPY_PREFIX + id);
  } catch {
    // Nothing was kept.
  }
}

/** Items that an earlier page could not finish writing. Sending one twice is harmless: the server knows its id. */
async function recoverCopies() {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(COPY_PREFIX));
  if (keys.length === 0) return;
  /** @type {Item[]} */
  const lost = keys.map((key) => JSON.parse(localStorage.getItem(key) ?? ""));
  lost.sort((one, other) => one.made_at - other.made_at);
  await transact((outbox) =>
    readRows(outbox, (/** @type {Item[]} */ rows) => {
      const known = new Set(rows.map((row) => row.id));
      for (const item of lost) if (!known.has(item.id)) outbox.add(item);
    }),
  );
  for (const { id } of lost) removeCopy(id);
}

/** Nothing is read or sent before copies are recovered. @type {Promise<void>} */
const recovered = owner ? recoverCopies().catch(() => {}) : Promise.resolve();

// ---- items -----------------------------------------------------------------------------------------------------------

/** @param {Item} item */
const isOwn = (item) => item.owner === owner;
/** @param {Item} item */
export const laneOf = (item) => item.lane ?? String(item.assignment);

/** Waiting and refused items, oldest first. @returns {Promise<Item[]>} */
export async function allItems() {
  await recovered;
  /** @type {Item[]} */
  const rows = await transact((outbox, _confirmed, result) => readRows(outbox, result));
  return rows.filter(isOwn);
}

/** @param {Item} item */
export async function addItem(item) {
  keepCopy(item);
  try {
    await transact((outbox) => outbox.add(item));
  } finally {
    removeCopy(item.id);
  }
}

/** @param {Item} item */
export const updateItem = (item) => transact((outbox) => outbox.put(item));

/** @param {Item[]} items */
export function deleteItems(items) {
  return transact((outbox) => {
    for (const item of items) outbox.delete(/** @type {number} */ (item.seq));
  });
}

/** Delete an item that was never sent. @param {string} id  @returns {Promise<Item | undefined>} */
export function deleteUnsent(id) {
  return transact((outbox, _confirmed, result) =>
    readRows(outbox, (/** @type {Item[]} */ rows) => {
      const unsent = rows.find((row) => row.id === id && row.attempts === 0);
      if (!unsent) return;
      outbox.delete(/** @type {number} */ (unsent.seq));
      result(unsent);
    }),
  );
}

/**
 * The first item of a lane to be sent, its attempt counted. A refusal stops what is about the same assignment.
 * @param {string} lane  @returns {Promise<Item | undefined>}
 */
export async function takeForSending(lane) {
  await recovered;
  return transact((outbox, _confirmed, result) =>
    readRows(outbox, (/** @type {Item[]} */ rows) => {
      const own = rows.filter((row) => isOwn(row) && laneOf(row) === lane);
      const refused = own.filter((row) => row.problem);
      const isStopped = (/** @type {Item} */ item) =>
        refused.some(({ seq, assignment }) =>
          assignment === null ? seq === item.seq : assignment === item.assignment,
        );
      const item = own.find((row) => !isStopped(row));
      if (!item) return;
      item.attempts += 1;
      outbox.put(item);
      result(item);
    }),
  );
}

// ---- confirmed since -------------------------------------------------------------------------------------------------

/** The server has stored an item. @param {Item} item  @param {Omit<Confirmed, "seq"> | null} confirmed */
export function settleItem(item, confirmed) {
  return transact((outbox, confirmations) => {
    outbox.delete(/** @type {number} */ (item.seq));
    if (confirmed) confirmations.add(confirmed);
  });
}

/**
 * What the server has confirmed since it made a page; older rows are no longer needed and are deleted.
 * @param {number} assignment  @param {string} touchedAt  of the page
 * @returns {Promise<Confirmed[]>}
 */
export function confirmedSince(assignment, touchedAt) {
  const isNew = (/** @type {Confirmed} */ row) => Date.parse(row.touched_at) >= Date.parse(touchedAt);
  const isOld = (/** @type {Confirmed} */ row) => Date.now() - Date.parse(row.touched_at) > FORGET_AFTER_MS;
  return transact((_outbox, confirmed, result) =>
    readRows(confirmed, (/** @type {Confirmed[]} */ rows) => {
      const useless = rows.filter((row) => isOld(row) || (row.assignment === assignment && !isNew(row)));
      for (const row of useless) confirmed.delete(/** @type {number} */ (row.seq));
      result(rows.filter((row) => row.assignment === assignment && isNew(row)));
    }),
  );
}
