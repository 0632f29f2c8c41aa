// @ts-check
/**
 * Looks into a chosen file before it is sent (its format, its first dialogue), and shows how much of it is sent.
 * Without this module the form works as it is: the server guesses the format.
 */
import { csrfToken } from "../shared/api.js";
import { createElement, format, joinSentences } from "../shared/page.js";

const HEAD_BYTES = 64 * 1024;
const WHOLE_BYTES = 5 * 1024 * 1024; // of an Excel or JSON file, which is read whole up to this size

const form = /** @type {HTMLFormElement} */ (document.getElementById("import"));
const file = /** @type {HTMLInputElement} */ (form.elements.namedItem("file"));
const formatField = /** @type {HTMLSelectElement} */ (form.elements.namedItem("format"));
// A study's form has none.
const languageField = /** @type {HTMLSelectElement | null} */ (form.elements.namedItem("language"));
const preview = /** @type {HTMLElement} */ (document.getElementById("import-preview"));
const problem = /** @type {HTMLElement} */ (form.querySelector("[data-problem]"));
const progress = /** @type {HTMLElement} */ (form.querySelector("[data-progress]"));
const stop = /** @type {HTMLButtonElement} */ (form.querySelector("[data-stop]"));
const submit = /** @type {HTMLButtonElement} */ (form.querySelector("[type=submit]"));

/**
 * @param {string} words  shown in the form; "" hides the problem
 * @param {{ label: string, run: () => void }[]} [actions]
 */
function showProblem(words, actions = []) {
  problem.hidden = !words;
  const line = /** @type {HTMLElement} */ (problem.querySelector("p"));
  line.textContent = words;
  for (const { label, run } of actions) {
    const button = createElement("button", "button", label);
    button.setAttribute("type", "button");
    button.addEventListener("click", run);
    line.append(" ", button);
  }
}

function isTooLarge() {
  const size = file.files?.[0]?.size ?? 0;
  return size > Number(form.dataset.maxBytes);
}

/** Whether nothing of the file would be imported: its preview was refused. */
function isRefused() {
  const refused = preview.querySelector("[data-refused]")?.getAttribute("data-refused");
  const stops = new FormData(form).get("on_error") === "stop";
  return refused === "all" || (refused === "some" && stops);
}

function updateSubmit() {
  submit.disabled = !progress.hidden || isRefused();
}

/** The paths of keys that the person chose. @returns {[string, string][]} */
function chosenPaths() {
  const inputs = preview.querySelectorAll("input[name^=map_]");
  return [...inputs].map((input) => {
    const { name, value } = /** @type {HTMLInputElement} */ (input);
    return [name, value];
  });
}

let previews = 0;
let isTyped = false; // keys were typed that no preview was asked for yet

/** @param {[string, string][]} paths  empty: guessed by the server */
async function previewFile(paths = []) {
  previews += 1;
  const own = previews;
  isTyped = false;
  const chosen = file.files?.[0];
  if (!paths.length) preview.replaceChildren();
  updateSubmit();
  showProblem(isTooLarge() ? (form.dataset.tooLarge ?? "") : "");
  if (!chosen || isTooLarge()) return;
  const query = new URLSearchParams([
    ["name", chosen.name],
    ["size", String(chosen.size)],
    ...paths,
    ["format", formatField.value],
    ["language", languageField?.value ?? ""],
  ]);
  const isExcel = chosen.name.toLowerCase().endsWith(".xlsx");
  const isReadWhole = isExcel || chosen.size <= WHOLE_BYTES;
  const answer = await fetch(`${form.dataset.previewUrl}?${query}`, {
    method: "POST",
    body: chosen.slice(0, isReadWhole ? WHOLE_BYTES : HEAD_BYTES),
    headers: { "X-CSRFToken": csrfToken(), "Content-Type": "application/octet-stream" },
  }).catch(() => null);
  // The preview is a help: if it fails the import itself says what is wrong.
  if (!answer?.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  // Answers may arrive out of order, and while the person types the next key.
  if (own !== previews || isTyped) return;
  replacePreview(page);
  updateSubmit();
}

/** Keeps the focus and the selection in the field where they are. @param {Document} page */
function replacePreview(page) {
  const active = document.activeElement;
  const field = active instanceof HTMLInputElement && preview.contains(active) ? active : null;
  const [start, end] = [field?.selectionStart ?? 0, field?.selectionEnd ?? 0];
  preview.replaceChildren(...page.body.childNodes);
  if (!field) return;
  const replacement = /** @type {HTMLInputElement | null} */ (document.getElementById(field.id));
  replacement?.focus();
  replacement?.setSelectionRange(start, end);
}

function previewTypedKeys() {
  if (isTyped) void previewFile(chosenPaths());
}

/** @param {number} percent */
function showProgress(percent) {
  const [bar, words] = progress.children;
  /** @type {HTMLProgressElement} */ (bar).value = percent;
  const text = percent < 100 ? format(form.dataset.sending ?? "", { percent }) : form.dataset.processing;
  words.textContent = text ?? "";
}

/** @param {boolean} isSending */
function showSending(isSending) {
  progress.hidden = stop.hidden = !isSending;
  updateSubmit();
  if (isSending) showProgress(0);
}

/** @param {XMLHttpRequest} request */
function onAnswer(request) {
  /** @type {{ url?: string, detail?: string, remedy?: string } | null} */
  let content = null;
  try {
    content = JSON.parse(request.responseText);
  } catch {
    content = null;
  }
  if (request.status === 202 && content?.url) {
    location.assign(content.url);
    return;
  }
  showSending(false);
  const reason = content?.detail ? joinSentences(content.detail, content.remedy) : "";
  showFailure(request, reason);
}

/**
 * Says at once why the server refused the file, or that nobody is signed in or the server is away.
 *
 * @param {XMLHttpRequest} request  @param {string} reason  "" if the server gave none
 */
function showFailure(request, reason) {
  const { status, responseURL } = request;
  const isSignedOut = [401, 403].includes(status) || responseURL.includes("/accounts/");
  showProblem(reason || (isSignedOut ? form.dataset.signedOut : form.dataset.unreachable) || "");
  // Another person may not see the project: for them it does not exist.
  if (isSignedOut || status === 404) void showOtherPerson();
}

/** Says who is signed in now, if it is another person; what the form says stays if the server cannot tell. */
async function showOtherPerson() {
  try {
    const { otherPersonNotice } = await import("../shared/signed_out.js");
    const other = await otherPersonNotice();
    if (other) showProblem(joinSentences(other.text, other.remedy), other.actions);
  } catch {
    // The server cannot be reached any more.
  }
}

/** fetch() cannot tell how much was sent; XMLHttpRequest can. @param {SubmitEvent} event */
function send(event) {
  event.preventDefault();
  if (submit.disabled || isTooLarge()) return;
  showProblem("");
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.setRequestHeader("Accept", "application/json");
  request.upload.addEventListener("progress", ({ loaded, total }) => showProgress(Math.floor((100 * loaded) / total)));
  request.addEventListener("load", () => onAnswer(request));
  request.addEventListener("error", () => onAnswer(request));
  request.addEventListener("abort", () => showSending(false));
  stop.onclick = () => request.abort();
  showSending(true);
  request.send(new FormData(form));
}

file.addEventListener("change", () => previewFile());
formatField.addEventListener("change", () => previewFile());
languageField?.addEventListener("change", () => previewFile(chosenPaths()));
preview.addEventListener("input", () => {
  isTyped = true;
});
preview.addEventListener("change", previewTypedKeys);
// What was typed and undone again fires no change, but the last answer was dropped.
preview.addEventListener("focusout", previewTypedKeys);
form.addEventListener("change", updateSubmit); // of what happens to rows that cannot be read
form.addEventListener("submit", send);
window.addEventListener("pageshow", () => showSending(false)); // back from the page of the import
if (file.files?.length) void previewFile();
