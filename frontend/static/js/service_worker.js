// @ts-check
/**
 * Lets a workbench page be reloaded without a network. It keeps the pages that are open and their files, nothing else;
 * the network is always asked first. Signing out empties it (outbox.js). Served at /service-worker.js.
 */

const CACHE = "lapidary";
const PAGE = /^\/p\/[^/]+\/(a\/\d+|label(\/\d+)?)\/$/;
const FILES = ["/static/", "/jsi18n/"]; // also in shared/outbox.js
const KEPT_PAGES = 12;
const PATIENCE_MS = 5000; // before a slow network counts as no network

/**
 * @typedef {{ waitUntil: (done: Promise<unknown>) => void }} Extendable
 * @typedef {Extendable & { request: Request, respondWith: (answer: Promise<Response>) => void }} Fetching
 * @typedef {Extendable & { data: { keep: string[], page: string }, ports: MessagePort[] }} KeepMessage
 */
const worker = /** @type {any} */ (globalThis);

/** All labelling pages of a project share one entry: the script loads the dialogue of the address. @param {string} url */
const cacheKeyOf = (url) => url.replace(/(\/label\/)\d+\/$/, "$1");

/** @param {string} url  @param {Response} answer */
async function cacheResponse(url, answer) {
  const cache = await caches.open(CACHE);
  await cache.put(cacheKeyOf(url), answer);
  const pages = (await cache.keys()).filter((one) => PAGE.test(new URL(one.url).pathname));
  for (const old of pages.slice(0, -KEPT_PAGES)) await cache.delete(old);
}

/** Whether it is the page itself: an error or the sign-in page must not be served later instead of it. */
const isWhole = (/** @type {Response} */ answer) =>
  answer.status === 200 && !answer.redirected && answer.type === "basic";

const isHtml = (/** @type {Response} */ answer) => /^text\/html\b/.test(answer.headers.get("Content-Type") ?? "");

/** @param {Request} request  @param {(done: Promise<unknown>) => void} waitUntil */
async function networkFirst(request, waitUntil) {
  const fromNetwork = fetch(request).then((answer) => {
    if (isWhole(answer)) waitUntil(cacheResponse(request.url, answer.clone()));
    return answer;
  });
  const kept = await caches.match(cacheKeyOf(request.url), { cacheName: CACHE, ignoreVary: true });
  if (!kept) return fromNetwork;
  const tooLate = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
  const first = await Promise.race([fromNetwork.catch(() => undefined), tooLate]);
  const isServed = first instanceof Response && !(first.status >= 502 && first.status <= 504); // a proxy without a server
  if (isServed) return first;
  return isHtml(kept) ? markFromCache(kept) : kept;
}

/** The page's script must know that what the page says may be old. @param {Response} kept */
async function markFromCache(kept) {
  const page = (await kept.text()).replace("<html", "<html data-from-cache");
  const headers = new Headers(kept.headers);
  for (const name of ["Content-Encoding", "Content-Length"]) headers.delete(name); // those were about the answer as sent
  return new Response(page, { status: kept.status, headers });
}

/** Cache a page and its files that were loaded before this worker was active. @param {KeepMessage["data"]} message */
async function cachePage({ keep: files, page }) {
  const cache = await caches.open(CACHE);
  const missing = [];
  for (const url of files) if (!(await cache.match(url, { ignoreVary: true }))) missing.push(url);
  await Promise.all(missing.map(async (url) => cacheIfWhole(url, await fetch(url))));
  if (!(await cache.match(cacheKeyOf(page), { ignoreVary: true })))
    await cacheIfWhole(page, await fetch(page, { credentials: "same-origin" }));
}

/** @param {string} url  @param {Response} answer */
async function cacheIfWhole(url, answer) {
  if (isWhole(answer)) await cacheResponse(new URL(url, worker.location.origin).href, answer);
}

worker.addEventListener("install", () => worker.skipWaiting());
worker.addEventListener("activate", (/** @type {Extendable} */ event) => event.waitUntil(worker.clients.claim()));

worker.addEventListener("message", (/** @type {KeepMessage} */ event) => {
  if (!event.data?.keep) return;
  event.waitUntil(cachePage(event.data).then(() => event.ports[0]?.postMessage("kept")));
});

worker.addEventListener("fetch", (/** @type {Fetching} */ event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  const isPage = request.mode === "navigate" && PAGE.test(pathname);
  const isFile = FILES.some((folder) => pathname.startsWith(folder));
  if (request.method !== "GET" || origin !== worker.location.origin || !(isPage || isFile)) return;
  event.respondWith(networkFirst(request, (done) => event.waitUntil(done)));
});
