// @ts-check
/**
 * Looks into a chosen file before it is sent (its format, its first dialogue), and shows how much of it is sent.
 * Without this module the form works as it is: the server guesses the format.
 */
import { format } from "../shared/page.js";

const HEAD_BYTES = 64 * 1024;

const form = /** @type {HTMLFormElement} */ (document.getElementById("import"));
const file = /** @type {HTMLInputElement} */ (form.elements.namedItem("file"));
const formatField = /** @type {HTMLSelectElement} */ (form.elements.namedItem("format"));
const token = /** @type {HTMLInputElement} */ (form.elements.namedItem("csrfmiddlewaretoken"));
const look = /** @type {HTMLElement} */ (document.getElementById("look"));
const problem = /** @type {HTMLElement} */ (form.querySelector("[data-problem]"));
const progress = /** @type {HTMLElement} */ (form.querySelector("[data-progress]"));
const stop = /** @type {HTMLButtonElement} */ (form.querySelector("[data-stop]"));
const submit = /** @type {HTMLButtonElement} */ (form.querySelector("[type=submit]"));

/** @param {string} words  said in the form; none: nothing is wrong */
function complain(words) {
  problem.hidden = !words;
  if (problem.lastElementChild) problem.lastElementChild.textContent = words;
}

function isTooLarge() {
  const size = file.files?.[0]?.size ?? 0;
  return size > Number(form.dataset.most);
}

let looks = 0;

async function lookInside() {
  looks += 1;
  const own = looks;
  const chosen = file.files?.[0];
  look.replaceChildren();
  complain(isTooLarge() ? (form.dataset.tooLarge ?? "") : "");
  if (!chosen || isTooLarge()) return;
  const query = new URLSearchParams({ name: chosen.name, size: String(chosen.size), format: formatField.value });
  const answer = await fetch(`${form.dataset.look}?${query}`, {
    method: "POST",
    body: chosen.slice(0, HEAD_BYTES),
    headers: { "X-CSRFToken": token.value, "Content-Type": "application/octet-stream" },
  }).catch(() => null);
  // The look is a help: where it fails the import itself says what is wrong.
  if (!answer?.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  // Answers may come in another order than they were asked for.
  if (own === looks) look.replaceChildren(...page.body.childNodes);
}

/** @param {number} percent */
function showSent(percent) {
  const [bar, words] = progress.children;
  /** @type {HTMLProgressElement} */ (bar).value = percent;
  const said = percent < 100 ? format(form.dataset.sending ?? "", { percent }) : form.dataset.takenIn;
  words.textContent = said ?? "";
}

/** @param {boolean} isSending */
function show(isSending) {
  progress.hidden = stop.hidden = !isSending;
  submit.disabled = isSending;
  if (isSending) showSent(0);
}

/** @param {XMLHttpRequest} request */
function onAnswer(request) {
  /** @type {{ url?: string, detail?: string, remedy?: string } | null} */
  let said = null;
  try {
    said = JSON.parse(request.responseText);
  } catch {
    said = null;
  }
  if (request.status === 202 && said?.url) {
    location.assign(said.url);
    return;
  }
  show(false);
  const signedOut = request.responseURL.includes("/accounts/");
  complain(
    said?.detail
      ? `${said.detail} ${said.remedy ?? ""}`
      : ((signedOut ? form.dataset.signedOut : form.dataset.unreachable) ?? ""),
  );
}

/** fetch() cannot tell how much was sent; XMLHttpRequest can. @param {SubmitEvent} event */
function send(event) {
  event.preventDefault();
  if (submit.disabled || isTooLarge()) return;
  complain("");
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.setRequestHeader("Accept", "application/json");
  request.upload.addEventListener("progress", ({ loaded, total }) => showSent(Math.floor((100 * loaded) / total)));
  request.addEventListener("load", () => onAnswer(request));
  request.addEventListener("error", () => onAnswer(request));
  request.addEventListener("abort", () => show(false));
  stop.onclick = () => request.abort();
  show(true);
  request.send(new FormData(form));
}

file.addEventListener("change", lookInside);
formatField.addEventListener("change", lookInside);
form.addEventListener("submit", send);
window.addEventListener("pageshow", () => show(false)); // back from the page of the import
if (file.files?.length) void lookInside();
