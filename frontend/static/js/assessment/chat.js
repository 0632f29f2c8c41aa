// @ts-check
/** The chat of a participant: bubbles, the input, the counter, the topic. */
import { isPassing, Problem, uuid } from "../shared/api.js";
import { isComposing } from "../shared/keys.js";
import { byId, createElement, format, gettext, joinSentences, ngettext } from "../shared/page.js";
import { request } from "./api.js";
import { Exchange } from "./exchange.js";
import { Memory } from "./memory.js";
import { hintAbout, WritingLog } from "./writing.js";

/** @typedef {import("./memory.js").Unsent} Unsent */

const NEARLY_FULL = 0.9;
const FOLLOW_MS = 15_000;
const chat = byId("chat");
const settings = {
  url: chat.dataset.url ?? "",
  session: Number(chat.dataset.session),
  needed: Number(chat.dataset.needed),
  longest: Number(chat.dataset.longest),
  minWords: Number(chat.dataset.minWords),
};
const field = /** @type {HTMLTextAreaElement} */ (byId("text"));
const memory = new Memory(chat.dataset.store ?? "");
const writing = new WritingLog(field, memory.read("writing", { typing_ms: 0, pasted: 0, left_page: 0 }));

// ---- bubbles --------------------------------------------------------------------------------------------------------

const bubbles = byId("bubbles");

/** @param {boolean} isMine  @returns {string[]} what one side has written, in order */
const textsOf = (isMine) =>
  [...bubbles.querySelectorAll(isMine ? ".bubble.mine p" : ".bubble:not(.mine) p")].map(
    (text) => text.textContent ?? "",
  );

const countStored = () => bubbles.querySelectorAll(".bubble.mine:not(.unsent)").length;

/** @param {string} text  @param {string} [turn]  of a message of the participant */
function addBubble(text, turn) {
  const bubble = createElement("li", turn === undefined ? "bubble" : "bubble mine");
  const speaker = turn === undefined ? gettext("Chatbot:") : gettext("You:");
  const words = createElement("p", "", text);
  words.dir = "auto";
  bubble.append(createElement("span", "visually-hidden", speaker), words);
  if (turn !== undefined) bubble.dataset.turn = turn;
  bubbles.append(bubble);
  return bubble;
}

/** @param {Unsent} input */
function addUnsent(input) {
  const bubble = addBubble(input.text, input.id);
  bubble.classList.add("unsent");
  bubble.append(createElement("span", "bubble-state", gettext("Sending…")));
}

function scrollToEnd() {
  const scroll = byId("scroll");
  scroll.scrollTop = scroll.scrollHeight;
}

// ---- state ----------------------------------------------------------------------------------------------------------

function show() {
  const { needed } = settings;
  const sent = countStored();
  const isEnough = sent >= needed;
  byId("counter").textContent = isEnough
    ? gettext("You can rate now.")
    : format(ngettext("{n} of {needed} message", "{n} of {needed} messages", needed), { n: sent, needed });
  byId("finish-button").hidden = !isEnough;
  const button = /** @type {HTMLButtonElement} */ (byId("finish-button"));
  button.disabled = exchange.isBusy;
  byId("typing").hidden = exchange.waiting === "";
  scrollToEnd();
}

/** @param {string} text  @param {boolean} [isBad] */
function note(text, isBad = false) {
  byId("note").textContent = text;
  byId("note").classList.toggle("is-bad", isBad);
}

function showLength() {
  const { longest } = settings;
  const length = [...field.value.trim()].length;
  if (length > longest)
    note(format(gettext("{n} of {longest} characters. Shorten it; nothing is cut off."), { n: length, longest }), true);
  else
    note(length > longest * NEARLY_FULL ? format(gettext("{n} of {longest} characters"), { n: length, longest }) : "");
}

function keepDraft() {
  memory.write("draft", field.value);
  memory.write("writing", writing.writing);
}

/** Put words that were not stored back into the input, before what is there. @param {string} text */
function bringBack(text) {
  field.value = [text, field.value].filter(Boolean).join("\n");
  keepDraft();
}

/** The present step is another one, or another device went on: show what the server has. */
function reload() {
  const unsent = exchange.unsent;
  if (unsent) bringBack(unsent.text);
  memory.write("unsent", null);
  location.reload();
}

// ---- sending --------------------------------------------------------------------------------------------------------

const exchange = new Exchange(settings.url, memory, chat.dataset.waiting ?? "", {
  onStored(turn, number) {
    const bubble = bubbles.querySelector(`[data-turn="${turn}"]`);
    bubble?.classList.remove("unsent");
    bubble?.querySelector(".bubble-state")?.remove();
    if (number !== countStored()) location.reload(); // another device wrote in between
    show();
  },
  onReply(text) {
    addBubble(text);
    show();
  },
  onOffline(isOffline) {
    const state = bubbles.querySelector(".bubble-state");
    if (state) state.textContent = isOffline ? gettext("Not sent yet; trying again…") : gettext("Sending…");
    if (isOffline) note(gettext("No connection. What you write is kept and sent when it returns."));
    else if (byId("note").textContent?.startsWith(gettext("No connection."))) note("");
  },
  onOver: reload,
  onRefused(input, problem) {
    bubbles.querySelector(`[data-turn="${input.id}"]`)?.remove();
    bringBack(input.text);
    note(joinSentences(problem.message, problem.remedy), true);
    show();
  },
});

function submit() {
  const text = field.value.trim();
  if (!text) return note(gettext("Write something first."), true);
  if ([...text].length > settings.longest) return showLength();
  if (exchange.isBusy) return note(gettext("Wait for the reply; your message stays here."));
  const hint = hintAbout(text, { inputs: textsOf(true), replies: textsOf(false), minWords: settings.minWords });
  const input = { id: uuid(), session: settings.session, text, writing: writing.take() };
  field.value = "";
  addUnsent(input);
  exchange.send(input);
  keepDraft();
  note(hint);
  show();
  field.focus();
}

byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
field.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
  event.preventDefault();
  if (!event.repeat) submit();
});
field.addEventListener("input", () => {
  showLength();
  keepDraft();
});
addEventListener("pagehide", keepDraft);

let isBeingComposed = false; // by an input method, whose words a reload would lose
field.addEventListener("compositionstart", () => {
  isBeingComposed = true;
});
field.addEventListener("compositionend", () => {
  isBeingComposed = false;
});

/** Show what another device did: a new turn, topic or step. What is typed here meanwhile stays as a draft. */
async function followOtherDevices() {
  if (document.hidden || exchange.isBusy || dialog.open || isBeingComposed) return;
  const state = await request("GET", `${settings.url}chat/`).catch(() => null);
  if (!state || exchange.isBusy || isBeingComposed) return;
  const isSame = state.session === settings.session && state.messages.length === bubbles.children.length;
  if (!isSame) reload();
  else byId("topic-shown").textContent = state.topic;
}
document.addEventListener("visibilitychange", followOtherDevices);
addEventListener("focus", followOtherDevices);
setInterval(followOtherDevices, FOLLOW_MS);

// ---- topic ----------------------------------------------------------------------------------------------------------

const dialog = /** @type {HTMLDialogElement} */ (byId("topic-dialog"));
const topicForm = /** @type {HTMLFormElement} */ (byId("topic-form"));
let changeId = "";

byId("change-topic").addEventListener("click", () => {
  changeId = uuid();
  topicForm.reset();
  byId("topic-problem").textContent = "";
  dialog.showModal();
});
byId("topic-cancel").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => field.focus());
topicForm.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { topic, opinion } = Object.fromEntries(new FormData(topicForm));
  try {
    const changed = await request("POST", `${settings.url}topic/`, {
      ...{ id: changeId, session: settings.session },
      ...{ topic: String(topic), opinion: String(opinion ?? "") },
    });
    byId("topic-shown").textContent = changed.topic;
    dialog.close();
  } catch (error) {
    byId("topic-problem").textContent = describe(error);
  }
});

/** @param {unknown} error */
function describe(error) {
  if (error instanceof Problem && !isPassing(error)) return joinSentences(error.message, error.remedy);
  return gettext("No connection. Try again in a moment.");
}

// ---- begin ----------------------------------------------------------------------------------------------------------

const left = exchange.unsent;
const isKnown = left && bubbles.querySelector(`[data-turn="${left.id}"]`);
if (left && (isKnown || left.session !== settings.session)) memory.write("unsent", null);
const draft = memory.read("draft", "");
// What was typed before this script came stays.
if (field.value !== draft) bringBack(draft);
if (left && !isKnown && left.session !== settings.session) bringBack(left.text);
else if (left && !isKnown) addUnsent(left);
field.setSelectionRange(field.value.length, field.value.length);
/** @type {HTMLButtonElement} */ (byId("send")).disabled = false;
show();
exchange.run();
