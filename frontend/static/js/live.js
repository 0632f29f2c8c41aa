// @ts-check
/** A part of a page that renews itself keeps open what the person opened in it. */
export {};

/** What tells a <details> from others: its own id, or that of what it is in. @param {Element} details */
function nameOf(details) {
  return details.id || details.closest("[id]")?.id || "";
}

/** @type {Set<string>} */
let opened = new Set();

document.addEventListener("htmx:beforeSwap", (event) => {
  const target = event.target instanceof Element ? event.target : document;
  opened = new Set([...target.querySelectorAll("details[open]")].map(nameOf));
});

document.addEventListener("htmx:afterSwap", () => {
  for (const details of document.querySelectorAll("details")) {
    if (opened.has(nameOf(details))) details.open = true;
  }
});
