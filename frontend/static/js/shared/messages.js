// @ts-check
/**
 * What scripts say, in the language of the page. base.html loads Django's JavaScript catalog
 * (frontend/pages/message_catalog.py) before the modules; without it the English of the source shows.
 *
 *   format(gettext("{n} of {limit}"), { n, limit })
 *   format(ngettext("{n} round", "{n} rounds", n), { n })
 */

/**
 * @typedef {{ gettext: (message: string) => string,
 *   ngettext: (one: string, other: string, n: number) => string,
 *   pgettext: (context: string, message: string) => string }} Messages
 */

/** @type {Messages} */
export const ENGLISH = {
  gettext: (message) => message,
  ngettext: (one, other, n) => (n === 1 ? one : other),
  pgettext: (_context, message) => message,
};

/** @type {Messages} */
export const PAGE_MESSAGES = /** @type {any} */ (globalThis).django ?? ENGLISH;
export const { gettext, ngettext, pgettext } = PAGE_MESSAGES;

/**
 * The messages of another language than the page's. Its plural rule is an expression that the page's security policy
 * does not let run, so this is for languages with one form, such as Chinese.
 * @param {string} url  of Django's JSON catalog  @returns {Promise<Messages>}
 */
export async function loadMessages(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new TypeError(`${url}: ${answer.status}`);
  /** @type {{ catalog: Record<string, string | string[]> }} */
  const { catalog } = await answer.json();
  const lookUp = (/** @type {string} */ key) => [catalog[key] ?? []].flat().at(0);
  return {
    gettext: (message) => lookUp(message) ?? message,
    ngettext: (one, other, n) => lookUp(one) ?? ENGLISH.ngettext(one, other, n),
    pgettext: (context, message) => lookUp(`${context}\u0004${message}`) ?? message,
  };
}

/** "{n} of {limit}" with { n: 3, limit: 7 } is "3 of 7". @param {string} message  @param {Record<string, unknown>} values */
export function format(message, values) {
  return message.replace(/\{(\w+)\}/g, (placeholder, name) => String(values[name] ?? placeholder));
}
