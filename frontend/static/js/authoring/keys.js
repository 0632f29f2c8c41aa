// @ts-check
/**
 * The keys of the authoring page that no control declares: digits pick a candidate from anywhere but a field, with Alt
 * from there too. In the input digits follow the composer's own rule; all other keys stand on their controls (data-key).
 */
import { isComposing, isTyping } from "../shared/shortcuts.js";

/** @param {KeyboardEvent} event  @returns {number | null} the place that a digit picks, from 0 */
function placeOf(event) {
  // With Alt the character differs from the key; without, Shift is what some keyboards need for digits.
  const digit = event.altKey ? /^Digit([1-9])$/.exec(event.code)?.[1] : /^[1-9]$/.exec(event.key)?.[0];
  return digit ? Number(digit) - 1 : null;
}

/** @param {(place: number) => boolean} pick */
export function wireDigits(pick) {
  document.addEventListener("keydown", (event) => {
    const place = placeOf(event);
    if (place === null || event.defaultPrevented || isComposing(event) || event.ctrlKey || event.metaKey) return;
    if (document.querySelector("dialog:modal") || (isTyping(event.target) && !event.altKey)) return;
    if (pick(place)) event.preventDefault();
  });
}
