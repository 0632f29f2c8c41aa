// @ts-check
/** A part of a page that renews itself keeps open what the person opened in it. */

/** What tells a <details> from others: its own id, or that of what it is in. @param {Element} details */
function name(details) {
  return details.id || details.closest("[id]")?.id || "";
}

/** @type {Set<string>} */
let open = new Set();

document.addEventListener("htmx:beforeSwap", (event) => {
  const target = event.target instanceof Element ? event.target : document;
  open = new Set([...target.querySelectorAll("details[open]")].map(name));
});

document.addEventListener("htmx:afterSwap", () => {
  for (const details of document.querySelectorAll("details")) {
    if (open.has(name(details))) details.open = true;
  }
});
