// @ts-check
/** Requests of a participant's chat: below /join/<project>/, with the participant's cookie. */
import { Problem } from "../shared/api.js";

const PATIENCE_MS = 20_000;

/** Read at every call: the language switch may have changed it. */
const csrfToken = () => /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie)?.[1] ?? "";

/**
 * @param {"GET" | "POST"} method  @param {string} url  @param {unknown} [body]  sent as JSON
 * @returns {Promise<any>} throws Problem, or what fetch throws when there is no answer
 */
export async function request(method, url, body) {
  const answer = await fetch(url, {
    method,
    body: body === undefined ? undefined : JSON.stringify(body),
    headers: { Accept: "application/json", "Content-Type": "application/json", "X-CSRFToken": csrfToken() },
    signal: AbortSignal.timeout(PATIENCE_MS),
    credentials: "same-origin",
  });
  const content = await answer.json().catch(() => null);
  if (answer.ok && content !== null) return content;
  if (answer.ok) throw new TypeError("not an answer of this server"); // a portal
  throw new Problem(answer.status, content ?? {});
}
