// @ts-check
/** Turns, and taking them back, in the outbox (shared/outbox.js). */

/**
 * @typedef {import("../shared/outbox_store.js").Item} Item
 * @typedef {import("../shared/outbox.js").Kind} Kind
 */

/** @param {Item} item  @param {any} answer */
const confirmed = ({ kind, assignment, position }, answer) => ({
  assignment: Number(assignment),
  touched_at: answer.assignment.touched_at,
  position,
  turn: kind === "turn" ? answer.turn : null,
});

/** @type {Record<"turn" | "undo", Kind>} */
export const KINDS = {
  turn: { address: ({ assignment }) => `/assignments/${assignment}/turns/`, body: ({ sent }) => sent, confirmed },
  undo: { address: ({ assignment }) => `/assignments/${assignment}/undo/`, body: ({ sent }) => sent, confirmed },
};
