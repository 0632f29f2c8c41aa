// @ts-check
/** Elements made by scripts. */

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

/** @param {string} className  @param {string} text  @param {() => void} onClick */
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

/** The first element of a template, and a finder of its parts by data attribute. @param {string} id */
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
