// @ts-check
/** The dialogue: a row per utterance. Questions about utterances hang beside it. */
import { createButton, createElement } from "../../shared/elements.js";
import { format } from "../../shared/messages.js";

/**
 * @typedef {import("./answer_sheet.js").Utterance} Utterance
 * @typedef {import("./language.js").Language} Language
 */

const LONG_TEXT = 2000; // characters shown before "Show all"
const LONGEST_SPEAKER_CH = 11;

/**
 * @param {HTMLElement} list  an <ol>  @param {Utterance[]} utterances  @param {string} lang  of the dialogue
 * @param {Language} language
 */
export function drawUtterances(list, utterances, lang, language) {
  const [first] = utterances;
  const longest = utterances.reduce((most, { speaker }) => Math.max(most, speaker.length), 1);
  list.style.setProperty("--speaker", `${Math.min(longest + 1, LONGEST_SPEAKER_CH)}ch`);
  const rows = utterances.map((utterance, position) => {
    const row = createElement("li", utterance.speaker === first.speaker ? "turn" : "turn other");
    const main = createElement("div", "turn-main");
    main.append(textOf(utterance, lang, language));
    row.append(speakerOf(utterance), main);
    row.dataset.position = String(position);
    return row;
  });
  list.replaceChildren(...rows);
  return rows;
}

/** @param {Utterance} utterance */
function speakerOf({ speaker, time }) {
  const label = createElement("span", "turn-speaker clip", speaker);
  label.title = [speaker, time].filter(Boolean).join(" · ");
  label.dir = "auto";
  return label;
}

/** @param {Utterance} utterance  @param {string} lang  @param {Language} language */
function textOf({ text }, lang, language) {
  const paragraph = createElement("p", "turn-text", text);
  paragraph.dir = "auto";
  paragraph.lang = lang;
  if (!text.trim()) {
    paragraph.textContent = language.gettext("(nothing was said)");
    paragraph.classList.add("muted");
    paragraph.removeAttribute("lang");
  }
  return text.length > LONG_TEXT * 1.2 ? shortened(paragraph, text, language) : paragraph;
}

/** @param {HTMLElement} paragraph  @param {string} text  @param {Language} language */
function shortened(paragraph, text, language) {
  const holder = createElement("div");
  const label = format(language.gettext("Show all {n} characters"), { n: text.length.toLocaleString() });
  paragraph.textContent = `${text.slice(0, LONG_TEXT)}…`;
  const more = createButton("button quiet show-all", label, () => {
    paragraph.textContent = text;
    more.remove();
  });
  holder.append(paragraph, more);
  return holder;
}
