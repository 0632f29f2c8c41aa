// @ts-check
/** How far a sample is: the strip of cells, the accuracy with its interval, and what verdict is still possible. */

import { byId } from "../shared/elements.js";
import { format, gettext, ngettext } from "../shared/messages.js";

/**
 * @typedef {{ value: number | null, low: number | null, high: number | null }} Estimate
 * @typedef {Estimate & { label: string, drawn: number | null, judged: number, right: number }} Class
 * @typedef {Estimate & { judged: number, right: number, sample: number, decision: "accept" | "return" | "open",
 *   needed: number, needed_by_class: number | null, spare: number | null, failing: string[], classes: Class[] }} Standing
 * @typedef {{ standing: Standing, cells: string, left: number }} Progress  cells: as the API describes them
 */

const MOST_CELLS = 200;
/** @type {Record<string, string>} */
const LOOKS = { r: "right", w: "wrong", R: "right theirs", W: "wrong theirs", o: "own" };
const decimals = new Intl.NumberFormat(document.documentElement.lang, { maximumFractionDigits: 1 });
const list = new Intl.ListFormat(document.documentElement.lang, { type: "conjunction" });
const percent = (/** @type {number | null} */ share) => (share === null ? "–" : `${decimals.format(share * 100)} %`);

/** What one cell of the strip stands for: one dialogue, or several where there are thousands. @param {string} part */
function signOf(part) {
  for (const sign of "wW.rR") if (part.includes(sign)) return sign;
  return "o";
}

/** @param {string} cells  @param {number | null} current  the place that is shown  @param {string} label */
export function drawStrip(cells, current, label) {
  const each = Math.ceil(cells.length / MOST_CELLS) || 1;
  const strip = byId("strip");
  const count = Math.ceil(cells.length / each);
  while (strip.childElementCount > count) strip.lastElementChild?.remove();
  while (strip.childElementCount < count) strip.append(document.createElement("i"));
  const now = current === null ? -1 : Math.floor(current / each);
  for (const [n, cell] of [...strip.children].entries()) {
    const look = `${LOOKS[signOf(cells.slice(n * each, (n + 1) * each))] ?? ""} ${n === now ? "now" : ""}`.trim();
    if (cell.className !== look) cell.className = look;
  }
  strip.setAttribute("aria-label", label);
}

/** @param {Standing} standing */
export function outlook({ decision, judged, sample, spare }) {
  const isWhole = judged === sample;
  if (decision === "accept")
    return isWhole ? gettext("The sample passes.") : gettext("It passes, whatever the rest says.");
  if (decision === "return")
    return isWhole ? gettext("The sample does not pass.") : gettext("It cannot pass any more.");
  if (spare === null) return gettext("Both verdicts are possible.");
  if (spare >= sample - judged) return gettext("Both verdicts are possible: a class can still fall short.");
  return spare === 0
    ? gettext("Both verdicts are possible: nothing more may be wrong.")
    : format(
        ngettext(
          "Both verdicts are possible: {n} more may be wrong.",
          "Both verdicts are possible: {n} more may be wrong.",
          spare,
        ),
        { n: spare },
      );
}

/**
 * @param {Progress} progress
 * @param {(label: string) => string} named  a class in words, "" without classes
 */
export function drawStanding({ standing, left }, named) {
  const home = byId("standing");
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (home.querySelector(`[data-${name}]`));
  const { judged, right, sample, decision, failing, classes } = standing;
  part("accuracy").textContent =
    judged > 0 && standing.value !== null ? percent(standing.value) : gettext("Nothing is judged yet");
  part("accuracy").toggleAttribute("data-figure", judged > 0);
  part("judged").textContent = judged > 0 ? `${right} / ${judged}` : "";
  part("outlook").textContent = outlook(standing);
  part("outlook").dataset.decision = decision;
  part("interval").textContent =
    judged > 0
      ? format(gettext("95 % interval {low} to {high}"), { low: percent(standing.low), high: percent(standing.high) })
      : "";
  part("needed").textContent = format(
    standing.needed_by_class === null
      ? gettext("Needed: {overall} of all")
      : gettext("Needed: {overall} of all, {classes} of every class"),
    {
      overall: percent(standing.needed),
      classes: percent(standing.needed_by_class),
    },
  );
  part("failing").hidden = failing.length === 0;
  part("failing").textContent = format(gettext("Class that fell short: {names}"), {
    names: list.format(failing.map(named)),
  });
  const table = /** @type {HTMLTableElement} */ (home.querySelector("table"));
  const rows = classes.map((one) => rowOf(one, named(one.label)));
  table.hidden = classes.every((one) => !named(one.label));
  table.tBodies[0].replaceChildren(...rows);
  byId("stop").hidden = decision === "open" || left === 0 || judged === sample;
}

/** @param {Class} one  @param {string} name */
function rowOf(one, name) {
  const row = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.dir = "auto";
  head.textContent = name;
  const counts = document.createElement("td");
  counts.textContent = one.judged > 0 ? `${one.right} / ${one.judged}` : "–";
  const share = document.createElement("td");
  share.textContent = one.judged > 0 ? percent(one.value) : "–";
  if (one.judged > 0) {
    const range = document.createElement("span");
    range.className = "muted";
    range.textContent = ` ${percent(one.low)} – ${percent(one.high)}`;
    share.append(range);
  }
  counts.className = share.className = "num";
  row.append(head, counts, share);
  return row;
}
