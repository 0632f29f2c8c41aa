// @ts-check
/** Notices of a workbench: one per cause, in #notices. */
import { byId, cloneTemplate, createButton } from "./elements.js";

/**
 * @typedef {{ tone: "good" | "warn" | "bad" | "", text: string, remedy?: string, more?: HTMLElement[],
 *   actions?: { label: string, run: () => void }[] }} Notice
 */

/** What the actions of a notice do now. @type {WeakMap<HTMLElement, NonNullable<Notice["actions"]>>} */
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
    currentActions.set(old, actions); // the same words are not read out again
    return;
  }
  const row = createRow(notice);
  Object.assign(row.dataset, { cause, print });
  if (old) old.replaceWith(row);
  else holder.append(row);
}

/** @param {Notice} notice */
function createRow({ tone, text, remedy = "", more = [], actions = [] }) {
  const { row, part } = cloneTemplate("notice-row");
  currentActions.set(row, actions);
  if (tone) row.classList.add(tone);
  row.setAttribute("role", tone === "bad" ? "alert" : "status");
  part("said").textContent = text;
  part("remedy").textContent = remedy;
  part("more").append(...more);
  const buttons = actions.map(({ label }, n) =>
    createButton("button", label, () => currentActions.get(row)?.[n].run()),
  );
  part("actions").append(...buttons);
  return row;
}
