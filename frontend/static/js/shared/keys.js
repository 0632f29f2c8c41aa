// @ts-check
/**
 * The keys of a page. They are declared once, in the template, on the control that they press:
 *
 *   data-key="mod+enter"      what to press; a space parts alternatives ("j down"). mod is Ctrl, or ⌘ on a Mac
 *   data-key-label="Submit"   its name in the sheet, where the control's own words will not do
 *   data-key-typing           fires while typing too (for Escape); combinations with mod, ctrl or alt always do
 *   data-key-group="Review"   on any ancestor: the heading under which the sheet lists it
 *
 * A key clicks its control, or puts the cursor into its field. Never while an input method composes.
 */
import { createElement } from "./page.js";

const APPLE = /Mac|iPhone|iPad/.test(navigator.userAgent);
export const TOUCH = matchMedia("(hover: none) and (pointer: coarse)"); // a screen without keys
const SETTLING_MS = 80; // Safari ends the composition before it reports the Enter that ended it
const COMPOSING_KEYCODE = 229;

/** @type {Record<string, string>} */
const NAMES = { esc: "escape", up: "arrowup", down: "arrowdown", left: "arrowleft", right: "arrowright", space: " " };
/** @type {Record<string, string>} */
const CAPS = {
  mod: APPLE ? "⌘" : "Ctrl",
  ctrl: APPLE ? "⌃" : "Ctrl",
  alt: APPLE ? "⌥" : "Alt",
  shift: APPLE ? "⇧" : "Shift",
  enter: "↵",
  escape: "Esc",
  arrowup: "↑",
  arrowdown: "↓",
  arrowleft: "←",
  arrowright: "→",
  " ": "Space",
};

let compositionEndedAt = Number.NEGATIVE_INFINITY;

/**
 * Whether a key belongs to an input method (a Chinese word is being chosen, or has been this moment).
 * @param {KeyboardEvent} event
 */
export function isComposing(event) {
  return event.isComposing || event.keyCode === COMPOSING_KEYCODE || event.timeStamp - compositionEndedAt < SETTLING_MS;
}

/** @param {EventTarget | null} target */
export function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.matches("textarea, select")) return true;
  return target.matches(
    "input:not([type=checkbox], [type=radio], [type=range], [type=button], [type=submit], [type=file])",
  );
}

/** @param {string} combination  @returns {string[]} "mod+enter" → ["mod", "enter"] */
function keyNames(combination) {
  const names = combination.toLowerCase().split("+");
  return (combination.endsWith("+") ? [...names.slice(0, -2), "+"] : names).map((name) => NAMES[name] ?? name);
}

/** @param {KeyboardEvent} event  @param {string} combination */
export function matches(event, combination) {
  const names = keyNames(combination);
  const key = names[names.length - 1];
  const modifiers = new Set(names.slice(0, -1));
  const command = modifiers.has("mod") || modifiers.has("ctrl");
  if (command !== (event.ctrlKey || event.metaKey) || modifiers.has("alt") !== event.altKey) return false;
  const isSymbol = key.length === 1 && !/[a-z]/.test(key); // whether it needs Shift depends on the keyboard
  if (!isSymbol && modifiers.has("shift") !== event.shiftKey) return false;
  if (event.key.toLowerCase() === key || (key === "?" && event.key === "？")) return true;
  // With Alt, or on a non-Latin layout, the character differs and the place on the keyboard still tells.
  if (event.altKey && event.code === `Digit${key}`) return true;
  return (event.altKey || !/^[a-z]$/i.test(event.key)) && event.code === `Key${key.toUpperCase()}`;
}

/** @param {HTMLElement} control */
const combinationsOf = (control) => (control.dataset.key ?? "").split(" ");

/** @param {HTMLElement} control */
function isAvailable(control) {
  if (control.matches(":disabled, [aria-disabled=true]")) return false;
  return control.getClientRects().length > 0;
}

/** @param {HTMLElement} control  @param {KeyboardEvent} event */
function listensTo(control, event) {
  const combination = combinationsOf(control).find((keys) => matches(event, keys));
  if (!combination || !isAvailable(control)) return false;
  const modified = event.ctrlKey || event.metaKey || event.altKey;
  if (modified || control.dataset.keyTyping !== undefined) return true;
  return !isTyping(event.target) && !isOwnKey(event);
}

/** Enter and Space already press the control that has the focus. @param {KeyboardEvent} event */
function isOwnKey(event) {
  const onControl = event.target instanceof Element && event.target.closest("a, button, summary, input");
  return Boolean(onControl) && (event.key === "Enter" || event.key === " ");
}

/** @param {HTMLElement} control */
function pressControl(control) {
  if (isTyping(control)) control.focus();
  else control.click();
}

/** @param {KeyboardEvent} event */
function pressByKey(event) {
  if (event.defaultPrevented || event.repeat || isComposing(event)) return;
  const scope = document.querySelector("dialog:modal") ?? document;
  /** @type {NodeListOf<HTMLElement>} */
  const controls = scope.querySelectorAll("[data-key]");
  const control = [...controls].find((candidate) => listensTo(candidate, event));
  if (!control) return;
  event.preventDefault();
  pressControl(control);
}

/** @param {string} combination */
const capsOf = (combination) =>
  keyNames(combination).map((name) => CAPS[name] ?? (name.length === 1 ? name.toUpperCase() : name));

/** Keys in a sentence: "Ctrl+Z", or "⌘Z" on a Mac. @param {string} combination */
export const keyWords = (combination) => capsOf(combination).join(APPLE ? "" : "+");

/** @param {string} combination */
const createKeyCaps = (combination) => createElement("kbd", "key", capsOf(combination).join(APPLE ? "" : " "));

/** @param {HTMLElement} control  the words of a control without its key hints */
function labelOf(control) {
  const given = control.dataset.keyLabel ?? control.getAttribute("aria-label");
  if (given) return given;
  const copy = /** @type {HTMLElement} */ (control.cloneNode(true));
  for (const hint of copy.querySelectorAll("kbd, .count")) hint.remove();
  return (copy.textContent ?? "").trim();
}

/** Fill the sheet with the controls that are on the page now. @param {HTMLElement} list */
function fillKeysSheet(list) {
  /** @type {Map<string, Map<string, HTMLElement>>} */
  const groups = new Map();
  /** @type {NodeListOf<HTMLElement>} */
  const controls = document.querySelectorAll("[data-key]");
  for (const control of controls) {
    if (control.closest("[hidden], dialog:not([open])")) continue;
    /** @type {HTMLElement | null} */
    const holder = control.closest("[data-key-group]");
    const group = holder?.dataset.keyGroup ?? list.dataset.page ?? "";
    const rows = groups.get(group) ?? new Map();
    groups.set(group, rows.set(`${control.dataset.key} ${labelOf(control)}`, control));
  }
  list.replaceChildren(...[...groups].flatMap(([title, rows]) => createKeyGroup(title, [...rows.values()])));
}

/** @param {string} title  @param {HTMLElement[]} controls */
function createKeyGroup(title, controls) {
  const table = createElement("dl");
  for (const control of controls) {
    const keys = createElement("dd");
    keys.append(...combinationsOf(control).flatMap((combination) => [createKeyCaps(combination), " "]));
    table.append(createElement("dt", "", labelOf(control)), keys);
  }
  return [createElement("h3", "", title), table];
}

/** @param {MouseEvent} event */
function openDialog(event) {
  const target = /** @type {Element | null} */ (event.target);
  const opener = target?.closest("[data-opens]");
  if (!opener) return;
  const dialog = document.getElementById(opener.getAttribute("data-opens") ?? "");
  if (!(dialog instanceof HTMLDialogElement)) return;
  const list = dialog.querySelector(".keys-list");
  if (list instanceof HTMLElement) fillKeysSheet(list);
  dialog.showModal();
}

document.addEventListener(
  "compositionend",
  (event) => {
    compositionEndedAt = event.timeStamp;
  },
  true,
);
document.addEventListener("keydown", pressByKey);
document.addEventListener("click", openDialog);
