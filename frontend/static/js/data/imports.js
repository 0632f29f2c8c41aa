// @ts-check
/**
 * Looks into a chosen file before it is sent (its format, its first dialogue), and shows how much of it is sent.
 * Without this module the form works as it is: the server guesses the format.
 */
import { format } from "../shared/page.js";

const HEAD_BYTES = 64 * 1024;
const WHOLE_BYTES = 5 * 1024 * 1024; // of an Excel or JSON file, which is read whole up to this size

const form = /** @type {HTMLFormElement} */ (document.getElementById("import"));
const file = /** @type {HTMLInputElement} */ (form.elements.namedItem("file"));
const formatField = /** @type {HTMLSelectElement} */ (form.elements.namedItem("format"));
const token = /** @type {HTMLInputElement} */ (form.elements.namedItem("csrfmiddlewaretoken"));
const preview = /** @type {HTMLElement} */ (document.getElementById("import-preview"));
const problem = /** @type {HTMLElement} */ (form.querySelector("[data-problem]"));
const progress = /** @type {HTMLElement} */ (form.querySelector("[data-progress]"));
const stop = /** @type {HTMLButtonElement} */ (form.querySelector("[data-stop]"));
const submit = /** @type {HTMLButtonElement} */ (form.querySelector("[type=submit]"));

/** @param {string} words  shown in the form; "" hides the problem */
function showProblem(words) {
  problem.hidden = !words;
  if (problem.lastElementChild) problem.lastElementChild.textContent = words;
}

function isTooLarge() {
  const size = file.files?.[0]?.size ?? 0;
  return size > Number(form.dataset.maxBytes);
}

/** Whether nothing of the file would be imported: its preview was refused. */
function isRefused() {
  const refused = preview.querySelector("[data-refused]")?.getAttribute("data-refused");
  const stops = new FormData(form).get("on_error") === "stop";
  return refused === "all" || (refused === "first" && stops);
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
  ]);
  const isExcel = chosen.name.toLowerCase().endsWith(".xlsx");
  const isReadWhole = isExcel || chosen.size <= WHOLE_BYTES;
  const answer = await fetch(`${form.dataset.previewUrl}?${query}`, {
    method: "POST",
    body: chosen.slice(0, isReadWhole ? WHOLE_BYTES : HEAD_BYTES),
    headers: { "X-CSRFToken": token.value, "Content-Type": "application/octet-stream" },
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
  const signedOut = request.responseURL.includes("/accounts/");
  showProblem(
    content?.detail
      ? `${content.detail} ${content.remedy ?? ""}`
      : ((signedOut ? form.dataset.signedOut : form.dataset.unreachable) ?? ""),
  );
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
