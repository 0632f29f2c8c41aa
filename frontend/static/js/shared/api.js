// @ts-check
/** Calls of the REST API with the session of this page, and what can go wrong with them. */

const BASE = "/api/v1";
const PATIENCE_MS = 20_000;
const PASSING = [408, 425, 429, 500, 502, 503, 504, 507];

/** A refusal of the server (problem details): `code` for scripts, `message` and `remedy` for people. */
export class Problem extends Error {
  /** @param {number} status  @param {Record<string, any>} body */
  constructor(status, body) {
    super(String(body.detail ?? ""));
    this.status = status;
    this.code = String(body.code ?? "");
    this.remedy = String(body.remedy ?? "");
    this.body = body;
  }
}

/** Whether the same call may succeed later: no answer, or an answer that says so. @param {unknown} error */
export function isPassing(error) {
  return !(error instanceof Problem) || PASSING.includes(error.status);
}

/** Whether signing in again would help; "not_allowed" is about roles instead. @param {unknown} error */
export function isSignedOut(error) {
  if (!(error instanceof Problem)) return false;
  return error.status === 401 || (error.status === 403 && error.code !== "not_allowed");
}

// The user for whom the page was rendered; another user may sign in later, in another tab.
const person = document.getElementById("outbox")?.dataset.user ?? "";

/** Read at every call, because signing in changes it. */
export function csrfToken() {
  return /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie)?.[1] ?? "";
}

const TOKEN_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/** Django masks the token of each page differently: a mask, then the masked token. @param {string} token */
function unmask(token) {
  if (token.length !== 64) return token;
  const place = (/** @type {number} */ n) => TOKEN_LETTERS.indexOf(token[n]);
  return Array.from({ length: 32 }, (_, n) => TOKEN_LETTERS.at((place(n + 32) - place(n)) % 62)).join("");
}

/** Whether somebody has signed in since the page with this token was made. @param {string} token */
export function isStaleToken(token) {
  const current = csrfToken();
  return current !== "" && unmask(token) !== unmask(current);
}

/**
 * @param {"GET" | "POST" | "PUT"} method
 * @param {string} path  below /api/v1
 * @param {unknown} [body]  sent as JSON
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>} the answer; throws Problem, or what fetch throws if the server does not answer
 */
export async function call(method, path, body, signal) {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const answer = await fetch(BASE + path, {
    method,
    body: body === undefined ? undefined : JSON.stringify(body),
    headers: {
      Accept: "application/json",
      "Content-Type": "application/json",
      "X-CSRFToken": csrfToken(),
      "X-Lapidary-User": person,
    },
    signal: signal ? AbortSignal.any([signal, patience]) : patience,
    credentials: "same-origin",
  });
  const content = await answer.json().catch(() => null);
  if (answer.ok && content === null && answer.status !== 202) throw new TypeError("not an answer of this server"); // a captive portal
  if (answer.ok) return content;
  throw new Problem(answer.status, content ?? {});
}

/** A random UUID, also on pages that were not served over HTTPS. */
export function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
