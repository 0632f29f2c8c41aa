// @ts-check
/** Dialogues that the person and somebody else answered differently: buttons that open the first of them. */
import { call } from "../shared/api.js";
import { format, ngettext } from "../shared/messages.js";

/** @param {import("./workbench.js").Workbench} bench */
export async function offerConfirmations(bench) {
  const { state, notices } = bench;
  const found = await call("GET", `/projects/${state.project}/confirmations/`).catch(() => ({ results: [] }));
  /** @type {{ id: number }[]} */
  const waiting = found.results.filter((/** @type {{ id: number }} */ { id }) => id !== state.current?.assignment.id);
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-confirm]"))) {
    const words = button.querySelector("[data-words]");
    button.hidden = waiting.length === 0;
    const n = waiting.length;
    if (words) words.textContent = format(ngettext("{n} to confirm", "{n} to confirm", n), { n });
    button.onclick = () => void bench.reopen(waiting[0].id).catch((error) => notices.showError(error));
  }
}
