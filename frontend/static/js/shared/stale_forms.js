// @ts-check
/**
 * Signing in changes the token of all forms, also of those on pages that are open in other tabs. Before a form of such a
 * page goes out, the page takes the new token if the same person is still signed in, or still nobody. Otherwise the form
 * goes out as it is, and the server explains that nothing was stored.
 */
import { call, csrfToken, isSignedOut, isStaleToken } from "./api.js";
import { owner } from "./outbox_store.js";

const HEADERS = "hx-headers"; // of htmx: the token of requests without a form

/** @param {string} token  for all forms of this page */
function setTokens(token) {
  /** @type {NodeListOf<HTMLInputElement>} */
  const inputs = document.querySelectorAll("input[name=csrfmiddlewaretoken]");
  for (const input of inputs) input.value = token;
  if (document.body.hasAttribute(HEADERS)) {
    document.body.setAttribute(HEADERS, JSON.stringify({ "X-CSRFToken": token }));
  }
}

/** Whether the person of this page is still signed in; for a page of nobody, whether still nobody is. */
async function isStillOwner() {
  try {
    await call("GET", "/me/"); // refused if the page is somebody else's
    return owner !== 0;
  } catch (error) {
    return owner === 0 && isSignedOut(error);
  }
}

async function renewIfStillOwner() {
  const token = csrfToken(); // before the call: signing in during it changes the token
  if (await isStillOwner()) setTokens(token);
}

/** @param {Event} event  @param {string | undefined} token  of the page  @param {() => void} goOn */
function renewFirst(event, token, goOn) {
  if (!token || !isStaleToken(token)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  void renewIfStillOwner().then(goOn, goOn);
}

/** Forms that were held once: they go out, whatever became of their token. @type {WeakSet<HTMLFormElement>} */
const held = new WeakSet();

/** @param {SubmitEvent} event */
function onSubmit(event) {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || held.has(form)) return;
  const token = form.elements.namedItem("csrfmiddlewaretoken");
  if (!(token instanceof HTMLInputElement)) return;
  renewFirst(event, token.value, () => {
    held.add(form);
    form.requestSubmit(event.submitter);
    held.delete(form);
  });
}

/** @param {Event} event  of htmx, before a request */
function onHtmxConfirm(event) {
  const { verb, issueRequest } = /** @type {CustomEvent} */ (event).detail;
  if (verb === "get") return;
  const headers = JSON.parse(document.body.getAttribute(HEADERS) ?? "{}");
  renewFirst(event, headers["X-CSRFToken"], () => issueRequest());
}

document.addEventListener("submit", onSubmit, true);
document.addEventListener("htmx:confirm", onHtmxConfirm);
