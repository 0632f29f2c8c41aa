// @ts-check
/** Pages that a service worker keeps (service_worker.js), so that a reload without a network finds them. */

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

/** Signing out leaves no page behind in this browser. */
export function forgetPages() {
  if ("caches" in globalThis) void caches.delete(CACHE);
}
