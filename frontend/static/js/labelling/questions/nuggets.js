// @ts-check
/**
 * Nuggets: consecutive utterances of one speaker with the same label (Zeng et al., DCH §3.5). Each row draws its own piece
 * of the bracket, so an answer redraws three rows, however long the dialogue is.
 */

/**
 * @typedef {import("./answer_sheet.js").Option} Option
 * @typedef {import("./answer_sheet.js").Utterance} Utterance
 */

const COLOURS = 6;
/** @type {Record<string, string>} */
const ROLE_COLOURS = { trigger: "c4", regular: "c1", goal: "c3" };

/**
 * The piece of a bracket at a position.
 * @param {Utterance[]} utterances  @param {(position: number) => unknown} labelAt  @param {number} position
 * @returns {"" | "only" | "first" | "inner" | "last"} "": no label there
 */
export function pieceAt(utterances, labelAt, position) {
  const label = labelAt(position);
  if (label === undefined) return "";
  const joins = (/** @type {number} */ other) =>
    utterances[other]?.speaker === utterances[position].speaker && labelAt(other) === label;
  const [above, below] = [joins(position - 1), joins(position + 1)];
  if (above && below) return "inner";
  return above ? "last" : below ? "first" : "only";
}

/** c1 to c6: by the label's meaning in UCH, else by its place. @param {Option[]} options  @param {Option} option */
export function colourOf(options, option) {
  return ROLE_COLOURS[option.nugget ?? ""] ?? `c${(options.indexOf(option) % COLOURS) + 1}`;
}

/**
 * Draw the piece of the bracket beside an utterance.
 * @param {HTMLElement} cell  @param {ReturnType<typeof pieceAt>} piece  @param {Option[]} options
 * @param {Option | undefined} option  the chosen one
 */
export function drawPiece(cell, piece, options, option) {
  const isNugget = option !== undefined && option.nugget !== "none";
  cell.className = ["nugget", isNugget ? colourOf(options, option) : ""].join(" ").trim();
  if (isNugget && piece) cell.dataset.piece = piece;
  else delete cell.dataset.piece;
}

/**
 * Speakers with more than one run labelled as their goal: only the first counts in UCH.
 * @param {Utterance[]} utterances  @param {(position: number) => Option | undefined} optionAt
 * @returns {{ speaker: string, n: number }[]}
 */
export function crowdedGoals(utterances, optionAt) {
  /** @type {Map<string, number>} */
  const goals = new Map();
  for (const [position, { speaker }] of utterances.entries()) {
    if (optionAt(position)?.nugget !== "goal") continue;
    const piece = pieceAt(utterances, (at) => optionAt(at)?.value, position);
    if (piece === "first" || piece === "only") goals.set(speaker, (goals.get(speaker) ?? 0) + 1);
  }
  return [...goals].filter(([, n]) => n > 1).map(([speaker, n]) => ({ speaker, n }));
}
