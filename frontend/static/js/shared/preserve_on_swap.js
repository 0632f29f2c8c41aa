// @ts-check
/** A part of a page that renews itself keeps what the person opened, scrolled and has the focus on; hidden, it rests. */
export {};

const SCROLLED = ".log, pre";

/** What tells an element from others of its kind: its own id, or that of what it is in. @param {Element} element */
const nameOf = (element) => element.id || element.closest("[id]")?.id || "";

/** What tells a control from others: where it stands, and what it is. @param {Element} control */
function printOf(control) {
  const what = control.getAttribute("href") ?? control.getAttribute("name") ?? control.textContent?.trim();
  return [nameOf(control), control.tagName, what].join(" ");
}

/** @type {Set<string>} */
let opened = new Set();
/** @type {Map<string, { top: number, isAtEnd: boolean }>} */
let scrolled = new Map();
/** @type {string | null} */
let focused = null;

/** @param {ParentNode} within */
const scrollers = (within) => /** @type {HTMLElement[]} */ ([...within.querySelectorAll(SCROLLED)]);

document.addEventListener("htmx:beforeSwap", (event) => {
  const target = event.target instanceof Element ? event.target : document;
  opened = new Set([...target.querySelectorAll("details[open]")].map(nameOf));
  scrolled = new Map(
    scrollers(target).map((one) => {
      const isAtEnd = one.scrollTop > 0 && one.scrollTop + one.clientHeight >= one.scrollHeight - 2;
      return [nameOf(one), { top: one.scrollTop, isAtEnd }];
    }),
  );
  const active = document.activeElement;
  focused = active && !active.id && target !== document && target.contains(active) ? printOf(active) : null;
});

document.addEventListener("htmx:afterSwap", () => {
  for (const details of document.querySelectorAll("details")) {
    if (opened.has(nameOf(details))) details.open = true;
  }
  for (const one of scrollers(document)) {
    const before = scrolled.get(nameOf(one));
    if (before) one.scrollTop = before.isAtEnd ? one.scrollHeight : before.top;
  }
  if (focused && document.activeElement === document.body) {
    /** @type {NodeListOf<HTMLElement>} */
    const controls = document.querySelectorAll("a[href], button, summary, pre[tabindex]");
    [...controls].find((one) => printOf(one) === focused)?.focus({ preventScroll: true });
  }
  focused = null;
});

document.addEventListener("htmx:beforeRequest", (event) => {
  const { elt } = /** @type {CustomEvent} */ (event).detail;
  if (document.hidden && elt instanceof Element && elt.getAttribute("hx-trigger")?.includes("every"))
    event.preventDefault();
});
