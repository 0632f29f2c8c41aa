// @ts-check
/** The workbench's questions over a sample dialogue, in either language. Answers given stay while the questions change. */
import { ENGLISH, gettext, loadMessages } from "../shared/page.js";
import { Questions } from "./questions/questions.js";

/**
 * @typedef {import("./questions/answer_sheet.js").Content} Content
 * @typedef {{ sample: { lang: string, utterances: import("./questions/answer_sheet.js").Utterance[] },
 *   invented: Record<string, string[]>, catalogs: { zh: string } }} Data  catalogs: URL of the Chinese messages
 */

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** All speakers that the questions name. @param {unknown} part  @returns {string[]} */
function speakersIn(part) {
  if (Array.isArray(part)) return part.flatMap(speakersIn);
  if (typeof part !== "object" || part === null) return [];
  return Object.entries(part).flatMap(([name, value]) => {
    if (name === "speakers" || name === "speaker") return [value].flat().filter((one) => typeof one === "string");
    return speakersIn(value);
  });
}

export class Preview {
  /** @type {Content | null} */
  #content = null;
  /** @type {Questions} */
  #questions;
  /** @type {"en" | "zh"} */
  #language = document.documentElement.lang.startsWith("zh") ? "zh" : "en";

  /** @param {Data} data */
  constructor(data) {
    this.data = data;
    this.#questions = new Questions({
      turns: byId("turns"),
      panel: byId("questions"),
      keyboard: byId("try"),
      onActive: (slot) => byId("panes").toggleAttribute("data-beside", slot !== null && slot.position !== null),
    });
    for (const choice of /** @type {NodeListOf<HTMLInputElement>} */ (
      document.querySelectorAll("[name=try-language]")
    )) {
      choice.checked = choice.value === this.#language;
      choice.addEventListener("change", () => void this.#speak(choice.value === "zh" ? "zh" : "en"));
    }
  }

  /** @param {"en" | "zh"} language */
  async #speak(language) {
    this.#language = language;
    const messages = language === "zh" ? await loadMessages(this.data.catalogs.zh).catch(() => ENGLISH) : ENGLISH;
    if (language !== this.#language) return;
    this.#questions.language = { code: language, ...messages };
    if (this.#content) this.show(this.#content);
  }

  /** @param {Content | null} content  null: not while there are problems; what was shown last stays */
  show(content) {
    const state = byId("try-state");
    state.hidden = content !== null;
    state.textContent = content ? "" : gettext("The preview appears when the questions have no problem.");
    byId("try").toggleAttribute("data-stale", content === null);
    if (!content) return;
    const answers = this.#content ? this.#questions.answers : undefined;
    this.#content = content;
    byId("try").lang = this.#language === "zh" ? "zh-Hans" : "en";
    this.#questions.show({ schema: content, ...this.#sampleFor(content), answers });
    this.#questions.begin({ focus: false });
  }

  /** A dialogue of the project if the questions ask about its speakers, else an invented one. @param {Content} content */
  #sampleFor(content) {
    const named = [...new Set(speakersIn(content.questions))];
    const { sample, invented } = this.data;
    const fits = named.length === 0 || sample.utterances.some(({ speaker }) => named.includes(speaker));
    if (sample.utterances.length > 0 && fits) return sample;
    const speakers = named.length > 1 ? named : [...named, "user", "assistant"].slice(0, 2);
    const texts = invented[this.#language === "zh" ? "zh-hans" : "en"];
    const utterances = texts.map((text, position) => ({
      position,
      text,
      speaker: speakers[position % speakers.length],
    }));
    return { lang: this.#language, utterances };
  }
}
