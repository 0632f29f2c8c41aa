// @ts-check
/** Dialogues that lie ready, kept in the service worker's cache for a reload without a network. */

/** @typedef {import("./state.js").Assignment} Assignment */

const CACHE = "lapidary"; // emptied when the person signs out

const addressOf = (/** @type {number} */ id) => `/api/v1/labelling/${id}/`;
const openCache = async () => ("caches" in globalThis ? caches.open(CACHE).catch(() => undefined) : undefined);

/** @param {Assignment[]} assignments */
export async function keepAssignments(assignments) {
  const cache = await openCache();
  for (const assignment of assignments) {
    const response = new Response(JSON.stringify(assignment));
    await cache?.put(addressOf(assignment.id), response).catch(() => undefined);
  }
}

/** @param {number} id */
export async function forgetAssignment(id) {
  await (await openCache())?.delete(addressOf(id));
}

/** What was kept and not submitted since. @param {string} project  @param {Set<number>} submitted  @returns {Promise<Assignment[]>} */
export async function keptAssignments(project, submitted) {
  const cache = await openCache();
  const requests = (await cache?.keys()) ?? [];
  const own = requests.filter(({ url }) => /\/api\/v1\/labelling\/\d+\/$/.test(new URL(url).pathname));
  const found = await Promise.all(own.map(async (request) => (await cache?.match(request))?.json()));
  const kept = found.filter((assignment) => assignment?.project === project);
  for (const { id } of kept) if (submitted.has(id)) await forgetAssignment(id);
  return kept.filter(({ id }) => !submitted.has(id));
}
