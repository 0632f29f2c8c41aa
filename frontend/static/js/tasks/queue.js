// @ts-check
/** The queue: unsent items of this browser, and times in the person's time zone. */
import { items, listen } from "../shared/outbox.js";
import { clock, joinSentences } from "../shared/page.js";

const section = document.getElementById("waiting");

async function showWaiting() {
  const list = section?.querySelector("ul");
  if (!section || !list) return;
  const waiting = (await items()).filter((item) => item.kind !== "undo");
  section.hidden = waiting.length === 0;
  list.replaceChildren(...waiting.map(createRow));
}

/** @param {import("../shared/outbox.js").Item} item */
function createRow({ text, url, problem }) {
  const line = document.createElement("li");
  const [words, state, link] = [
    document.createElement("q"),
    document.createElement("span"),
    document.createElement("a"),
  ];
  line.className = "row row-item";
  words.className = "grow";
  words.dir = "auto";
  words.textContent = text;
  state.className = `badge ${problem ? "bad" : "warn"}`;
  state.textContent = (problem ? section?.dataset.refused : section?.dataset.waiting) ?? "";
  link.className = "button";
  link.href = url;
  link.textContent = section?.dataset.openLabel ?? "";
  line.append(words, state, link);
  if (problem) line.append(createProblemNote(joinSentences(problem.message, problem.remedy)));
  return line;
}

/** @param {string} text */
function createProblemNote(text) {
  const why = document.createElement("p");
  why.className = "small is-bad";
  why.textContent = text;
  return why;
}

for (const time of document.querySelectorAll("time")) {
  const at = new Date(time.dateTime);
  const isToday = at.toDateString() === new Date().toDateString();
  time.textContent = isToday ? clock(at).slice(-5) : clock(at);
}
listen(() => void showWaiting());
void showWaiting();
