// @ts-check
/** Saving the text of a schema as a version, what happens if somebody else saved one meanwhile, and the unsaved draft. */
import { call, isSignedOut, Problem, uuid } from "../shared/api.js";
import { owner } from "../shared/outbox_store.js";
import { byId, createElement, format, gettext, joinSentences, ngettext } from "../shared/page.js";
import { toast } from "../shared/toast.js";
import { toYaml } from "./schema_text.js";

/**
 * @typedef {import("./schema_form.js").Problem} SchemaProblem
 * @typedef {{ version: number, sha256: string, answered: number, replaceable: boolean }} Version
 *   answered: submissions under it; replaceable: nobody has used it
 * @typedef {import("./schema_preview.js").Data & { project: string, content: { questions: object[] },
 *   newestContent: { questions: object[] }, newest: Version, urls: { version: string, preset: string } }} PageData
 */

const PAGE_LIMIT_MS = 20_000;
const SIGNED_OUT = gettext("You are signed out. Sign in in another tab, then save again; your text stays here.");
export const SERVER_AWAY = gettext(
  "The server cannot be reached; the text is kept in this browser and checked again soon.",
);

/**
 * @param {string} cause  one notice of each  @param {string} text  @param {"warn" | "bad" | "good"} [tone]
 * @param {{ label: string, run?: () => void, href?: string }[]} [actions]
 */
export function showEditorNotice(cause, text, tone = "warn", actions = []) {
  const before = byId("notices").querySelector(`[data-cause="${cause}"]`);
  const box = createElement("div", `alert ${tone}`);
  box.dataset.cause = cause;
  box.append(createElement("p", "", text));
  for (const { label, run, href } of actions) {
    const control = createElement(href ? "a" : "button", "button", label);
    if (control instanceof HTMLAnchorElement) Object.assign(control, { href, target: "_blank", rel: "noopener" });
    else control.type = "button";
    if (run) control.addEventListener("click", run);
    if (run) control.addEventListener("click", () => box.remove());
    box.append(control);
  }
  if (before) before.replaceWith(box);
  else byId("notices").append(box);
  return box;
}

/** Says that nobody is signed in any more, or somebody else. Returns what it says. */
export async function showSignedOut() {
  const { otherPersonNotice } = await import("../shared/signed_out.js");
  const other = await otherPersonNotice();
  const text = other?.text ?? SIGNED_OUT;
  showEditorNotice("signed-out", text, "warn", other?.actions);
  return text;
}

/** The right person is signed in again. */
export function hideSignedOut() {
  byId("notices").querySelector('[data-cause="signed-out"]')?.remove();
}

export class SchemaSaver {
  /** A save, or the question what somebody else saved, is under way: another save would follow the wrong version. */
  #isBusy = false;
  #saveId = uuid();
  #button = /** @type {HTMLButtonElement} */ (byId("save"));

  /**
   * @param {PageData} data
   * @param {{ yaml: HTMLTextAreaElement, isFaultless: () => boolean, onProblems: (problems: SchemaProblem[]) => void,
   *   onReplace: (text: string) => void }} options
   *   isFaultless: the server has checked the text and found no problem; onReplace: another text was chosen
   */
  constructor(data, options) {
    this.data = data;
    this.options = options;
    this.newest = data.newest;
    this.savedText = toYaml(data.newestContent);
    this.draftKey = `lapidary.schema.${owner}.${data.project}`;
    this.#button.addEventListener("click", () => void this.#save());
  }

  get isDirty() {
    return this.options.yaml.value !== this.savedText;
  }

  /** The text changed: the next save is another one. */
  onChange() {
    this.#saveId = uuid();
    this.#keepDraft();
    this.showState();
  }

  // ---- the draft ---------------------------------------------------------------------------------------------------

  #keepDraft() {
    const draft = { text: this.options.yaml.value, sha256: this.newest.sha256 };
    try {
      if (this.isDirty) localStorage.setItem(this.draftKey, JSON.stringify(draft));
      else localStorage.removeItem(this.draftKey);
    } catch {
      // Full or forbidden: leaving the page warns.
    }
  }

  /** @returns {{ text: string, sha256: string } | null} */
  storedDraft() {
    try {
      return JSON.parse(localStorage.getItem(this.draftKey) ?? "null");
    } catch {
      return null;
    }
  }

  // ---- saving ------------------------------------------------------------------------------------------------------

  showState() {
    const { isDirty } = this;
    this.#button.textContent = isDirty ? this.#saveLabel() : gettext("No changes");
    this.#button.disabled = this.#isBusy || !isDirty || !this.options.isFaultless();
    byId("unsaved").textContent = isDirty ? gettext("not saved, kept in this browser") : "";
  }

  #saveLabel() {
    const { version, answered, replaceable } = this.newest;
    if (replaceable) return format(gettext("Save in place of version {version}: nobody has used it"), { version });
    const message =
      version === 0 || answered === 0
        ? gettext("Save as version {version}")
        : ngettext(
            "Save as version {version}; {n} submission keeps version {before}",
            "Save as version {version}; {n} submissions keep version {before}",
            answered,
          );
    return format(message, { version: version + 1, n: answered, before: version });
  }

  /** @template T @param {() => Promise<T>} work  @returns {Promise<T>} */
  async #whileBusy(work) {
    this.#isBusy = true;
    this.showState();
    try {
      return await work();
    } finally {
      this.#isBusy = false;
      this.showState();
    }
  }

  async #save() {
    byId("notices").querySelector("[data-cause=newer]")?.remove(); // what it offers would cross this save
    const { sha256 } = this.newest;
    const yaml = this.options.yaml.value;
    const request = { id: this.#saveId, yaml, ...(sha256 ? { based_on: sha256 } : {}) };
    await this.#whileBusy(async () => {
      try {
        const saved = await call("POST", `/projects/${this.data.project}/schemas/`, request);
        this.#onSaved(saved, yaml);
        const message = gettext("Version {version} is saved. New work is done under it.");
        toast(format(message, { version: saved.version }), { tone: "good" });
        await this.#refreshVersions().catch(() => undefined); // it is saved all the same
      } catch (error) {
        this.#showRefusal(error);
      }
    });
  }

  /** @param {{ version: number, sha256: string, used_at: string | null }} saved  @param {string} text */
  #onSaved({ version, sha256, used_at }, text) {
    if (version !== this.newest.version) Object.assign(this.newest, { answered: 0 });
    Object.assign(this.newest, { version, sha256, replaceable: used_at === null });
    this.savedText = text;
    this.#saveId = uuid();
    for (const old of byId("notices").querySelectorAll("[data-cause]")) old.remove();
    this.#keepDraft();
  }

  /** The list of versions as the server draws it now, and how often the newest one was used. */
  async #refreshVersions() {
    const answer = await fetch(location.pathname, { signal: AbortSignal.timeout(PAGE_LIMIT_MS) });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const [fresh, old] = [page.getElementById("versions"), document.getElementById("versions")];
    const { newest } = JSON.parse(page.getElementById("schema-data")?.textContent ?? "{}");
    if (fresh && old) old.replaceWith(fresh);
    if (newest?.sha256 === this.newest.sha256) Object.assign(this.newest, newest);
  }

  /** @param {unknown} error */
  #showRefusal(error) {
    const unsaved = gettext("It is not saved; your text stays here.");
    if (error instanceof Problem && error.code === "schema_newer") this.#offerNewer(error);
    else if (isSignedOut(error)) void showSignedOut();
    else if (error instanceof Problem && Array.isArray(error.body.problems)) {
      this.options.onProblems(error.body.problems);
      showEditorNotice("refused", unsaved, "bad");
    } else {
      const why = error instanceof Problem ? joinSentences(error.message, error.remedy) : SERVER_AWAY;
      showEditorNotice("refused", `${unsaved} ${why}`.trim(), "bad");
    }
  }

  // ---- a newer version ---------------------------------------------------------------------------------------------

  /** @param {number} version */
  versionUrl(version) {
    return this.data.urls.version.replace("/0/", `/${version}/`);
  }

  /** @param {Problem} problem */
  #offerNewer({ message, remedy, body: { version, sha256 } }) {
    const text = joinSentences(message, remedy, gettext("It is not saved; your text stays here."));
    const box = showEditorNotice("newer", text, "warn", [
      { label: format(gettext("See version {version}"), { version }), href: this.versionUrl(version) },
      { label: gettext("Keep mine"), run: () => void this.#followVersion(version, sha256) },
      { label: gettext("Take the newer one"), run: () => void this.#takeNewer(version, sha256) },
    ]);
    box.scrollIntoView({ block: "nearest" });
    box.querySelector("a")?.focus();
  }

  /** @param {number} version  @param {string} sha256 */
  async #takeNewer(version, sha256) {
    const before = { ...this.newest };
    const content = await this.#followVersion(version, sha256);
    if (content) this.options.onReplace(toYaml(content));
    else Object.assign(this.newest, before);
  }

  /** The next save follows this version. @param {number} version  @param {string} sha256 */
  #followVersion(version, sha256) {
    return this.#whileBusy(async () => {
      try {
        const { content } = await call("GET", `/projects/${this.data.project}/schemas/${version}/`);
        Object.assign(this.newest, { version, sha256, answered: 0, replaceable: false });
        this.savedText = toYaml(content);
        await this.#refreshVersions();
        this.#keepDraft();
        return content;
      } catch (error) {
        this.#showRefusal(error);
        return null;
      }
    });
  }
}
