// @ts-check
/** Questions with options: one of them (choice, scale) or several (choices). */
import { createButton, createElement, createKeyCap } from "../../shared/elements.js";
import { textIn } from "./language.js";
import { colourOf } from "./nuggets.js";

/**
 * @typedef {import("./answer_sheet.js").Slot} Slot
 * @typedef {import("./answer_sheet.js").Value} Value
 */

/** @param {Slot} slot  @param {import("./language.js").Language} language  @param {(value: number | string) => void} choose */
export function createOptionButtons(slot, language, choose) {
  const list = createElement("div", "options");
  for (const [place, option] of slot.options.entries()) {
    const button = createButton("option", "", () => choose(option.value));
    const label = createElement("span", "", textIn(option.text, language));
    const key = slot.keys[place];
    label.dir = "auto";
    button.dataset.place = String(place);
    if (slot.question.runs && option.nugget !== "none")
      button.classList.add("is-nugget", colourOf(slot.options, option));
    if (key) {
      button.append(createKeyCap(key));
      button.setAttribute("aria-keyshortcuts", key);
    }
    button.append(label);
    list.append(button);
  }
  return list;
}

/** @param {HTMLElement} control  @param {Slot} slot  @param {Value | undefined} value  @param {boolean} isClosed */
export function paintOptionButtons(control, slot, value, isClosed) {
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (control.querySelectorAll(".option"))) {
    const option = slot.options[Number(button.dataset.place)];
    const isChosen = Array.isArray(value) ? value.includes(option.value) : value === option.value;
    button.setAttribute("aria-pressed", String(isChosen));
    button.disabled = isClosed;
  }
}

/**
 * Several options with one put in, or taken out if it was there; in the order of the schema.
 * @param {Slot} slot  @param {Value | undefined} chosen  @param {number | string} value  @returns {Value | undefined}
 */
export function toggleOption(slot, chosen, value) {
  const before = Array.isArray(chosen) ? chosen : [];
  const after = before.includes(value) ? before.filter((other) => other !== value) : [...before, value];
  const ordered = slot.options.map((option) => option.value).filter((option) => after.includes(option));
  return ordered.length > 0 ? ordered : undefined;
}
