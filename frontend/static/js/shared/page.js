// @ts-check
/**
 * What scripts put on a page: its words, elements and notices.
 *
 * Words are in the language of the page. base.html loads Django's JavaScript catalog (frontend/pages/message_catalog.py)
 * before the modules; without it the English of the source shows.
 *
 *   format(gettext("{n} of {limit}"), { n, limit })
 *   format(ngettext("{n} round", "{n} rounds", n), { n })
 */

// ---- words ----------------------------------------------------------------------------------------------------------

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

const numbers = new Intl.NumberFormat(document.documentElement.lang || undefined);

const BEFORE_UNIT = /(\d) (?=(?:%|ms|s|min|h|秒|毫秒|分钟|小时)(?![A-Za-z]))/g; // as in frontend/ui/units.py

/**
 * "{n} of {limit}" with { n: 3, limit: 7000 } is "3 of 7,000". No line breaks between a number and its unit.
 * @param {string} message  @param {Record<string, unknown>} values
 */
export function format(message, values) {
  const formatted = message.replace(/\{(\w+)\}/g, (placeholder, name) => {
    const value = values[name];
    return typeof value === "number" ? numbers.format(value) : String(value ?? placeholder);
  });
  return formatted.replace(BEFORE_UNIT, "$1\u00a0");
}

const FULL_WIDTH_END = /[。！？；：）]”*$/; // as in common/sentences.py

/** Sentences one after the other; full-width marks bring their own space. @param {(string | undefined)[]} sentences */
export function joinSentences(...sentences) {
  let joined = "";
  for (const text of sentences) {
    if (text) joined += (joined && !FULL_WIDTH_END.test(joined) ? " " : "") + text;
  }
  return joined;
}

/** A time in the format of all pages, in the person's time zone: 2026-03-09 16:05. @param {string | Date} at */
export function clock(at) {
  const time = new Date(at);
  const parts = [time.getFullYear(), time.getMonth() + 1, time.getDate(), time.getHours(), time.getMinutes()];
  const [year, month, day, hours, minutes] = parts.map((part) => String(part).padStart(2, "0"));
  return `${year}-${month}-${day} ${hours}:${minutes}`;
}

// ---- elements -------------------------------------------------------------------------------------------------------

/** @param {string} id  @returns {HTMLElement} an element that the template always has */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag  @param {string} [className]  @param {string} [text]
 * @returns {HTMLElementTagNameMap[T]}
 */
export function createElement(tag, className = "", text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

/** @param {string} className  @param {string} text  @param {(event: MouseEvent) => void} onClick */
export function createButton(className, text, onClick) {
  const button = createElement("button", className, text);
  button.type = "button";
  button.addEventListener("click", onClick);
  return button;
}

/** The key that presses a control, drawn on it. @param {string} key */
export function createKeyCap(key) {
  const cap = createElement("kbd", "key", key.toUpperCase());
  cap.setAttribute("aria-hidden", "true");
  return cap;
}

/** A copy of a template's first element, and a function that finds its parts by data attribute. @param {string} id */
export function cloneTemplate(id) {
  const template = /** @type {HTMLTemplateElement} */ (byId(id));
  const row = /** @type {HTMLElement} */ (template.content.firstElementChild?.cloneNode(true));
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (row.querySelector(`[data-${name}]`));
  return { row, part };
}

/** Close the menu or sheet that is open. @returns {boolean} whether one was open */
export function closePopover() {
  const open = document.querySelector(":popover-open");
  if (open instanceof HTMLElement) open.hidePopover();
  return open !== null;
}

// ---- notices of a workbench: one per cause, in #notices -------------------------------------------------------------

/**
 * @typedef {{ tone: "good" | "warn" | "bad" | "", text: string, remedy?: string, more?: HTMLElement[],
 *   actions?: { label: string, run: () => void }[] }} Notice
 */

/** The current actions of each notice. @type {WeakMap<HTMLElement, NonNullable<Notice["actions"]>>} */
const currentActions = new WeakMap();

/** @param {string} cause  @param {Notice | null} notice  null takes it away */
export function showNotice(cause, notice) {
  const holder = byId("notices");
  const old = /** @type {HTMLElement | null} */ (holder.querySelector(`[data-cause="${cause}"]`));
  if (!notice) {
    old?.remove();
    return;
  }
  const { tone, text, remedy = "", more = [], actions = [] } = notice;
  const print = JSON.stringify([tone, text, remedy, actions.map(({ label }) => label)]);
  if (old?.dataset.print === print && more.length === 0) {
    currentActions.set(old, actions); // screen readers do not repeat the same text
    return;
  }
  const row = createNoticeRow(notice);
  Object.assign(row.dataset, { cause, print });
  if (old) old.replaceWith(row);
  else holder.append(row);
}

/** @param {Notice} notice */
function createNoticeRow({ tone, text, remedy = "", more = [], actions = [] }) {
  const { row, part } = cloneTemplate("notice-row");
  currentActions.set(row, actions);
  if (tone) row.classList.add(tone);
  for (const sign of /** @type {NodeListOf<HTMLElement>} */ (row.querySelectorAll("[data-sign]")))
    sign.replaceWith(...(sign.dataset.sign?.split(" ").includes(tone) ? sign.children : []));
  row.setAttribute("role", tone === "bad" ? "alert" : "status");
  part("text").textContent = text;
  part("remedy").textContent = remedy;
  part("more").append(...more);
  const buttons = actions.map(({ label }, n) =>
    createButton("button", label, () => currentActions.get(row)?.[n].run()),
  );
  part("actions").append(...buttons);
  return row;
}
