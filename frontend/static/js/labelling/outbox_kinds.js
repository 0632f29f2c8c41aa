// @ts-check
/** Submitted labels in the outbox (shared/outbox.js). */

/** @type {Record<"labels", import("../shared/outbox.js").Kind>} */
export const KINDS = {
  labels: {
    address: ({ assignment }) => `/labelling/${assignment}/submissions/`,
    // How long it has waited: the server counts the reading time up to when the person submitted.
    body: ({ sent, made_at }) => ({ ...sent, waited_ms: Math.max(0, Date.now() - made_at) }),
    confirmed: ({ assignment, position }, answer) => ({
      assignment: Number(assignment),
      touched_at: answer.assignment.touched_at,
      position,
      turn: null,
    }),
  },
};
