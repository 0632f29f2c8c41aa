// @ts-check
/** Judgements of a batch's sample in the outbox (shared/outbox.js). */

/** @type {Record<"judgement", import("../shared/outbox.js").Kind>} */
export const KINDS = {
  judgement: {
    address: ({ sent }) => `/sample-items/${sent.sample_item}/judgements/`,
    body: ({ sent: { sample_item: _address, ...body } }) => body,
  },
};
