// @ts-check
/**
 * Questions are written as a form or as YAML, and the text is what counts: the form rewrites it at every change, the
 * server reads it and says what is wrong and where. What is not saved is kept in this browser.
 */
import { call, isPassing, isSignedOut, Problem } from "../shared/api.js";
import { byId, createElement, format, gettext } from "../shared/page.js";
import { toast } from "../shared/toast.js";
import { Form, isFormable } from "./schema_form.js";
import { Preview } from "./schema_preview.js";
import { ProblemList } from "./schema_problems.js";
import { hideSignedOut, SchemaSaver, SERVER_AWAY, showEditorNotice, showSignedOut } from "./schema_saving.js";
import { toYaml } from "./schema_text.js";

/**
 * @typedef {import("./schema_form.js").Problem} SchemaProblem
 * @typedef {"form" | "text" | "undo"} Origin  of a change
 */

const REST_MS = 300;
const RETRY_MS = 5000;
const MAX_HISTORY = 100;
const EMPTY_TEXT = toYaml({ questions: [] });

/** @param {string} text */
const hasComments = (text) => text.split("\n").some((line) => line.trimStart().startsWith("#"));

class SchemaEditor {
  yaml = /** @type {HTMLTextAreaElement} */ (byId("yaml"));
  undoButton = /** @type {HTMLButtonElement} */ (byId("undo"));
  /** @type {string[]} the texts before changes of the form */
  #history = [];
  /** @type {string | null} the text that the server has checked */
  #checkedText = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #checkLater;

  /** @param {import("./schema_saving.js").PageData} data */
  constructor(data) {
    this.data = data;
    this.lastSnapshot = toYaml(data.content);
    this.preview = new Preview(data);
    this.form = new Form({
      list: byId("list"),
      onChange: () => this.#onForm(),
      onShape: (message) => this.#onForm(message),
    });
    this.problemList = new ProblemList(this.yaml, (problem) => this.#openProblem(problem));
    this.saver = new SchemaSaver(data, {
      yaml: this.yaml,
      isFaultless: () => this.problemList.problems.length === 0 && this.#checkedText === this.yaml.value,
      onProblems: (problems) => this.#showProblems(problems),
      onReplace: (text) => this.#replace(text),
    });
  }

  // ---- the text ----------------------------------------------------------------------------------------------------

  /** The form changed the data: write the text again. @param {string} [message]  something was added, moved or removed */
  #onForm(message) {
    const before = this.yaml.value;
    const action = { label: gettext("Undo"), run: () => this.#undo() };
    if (message !== undefined || before !== this.lastSnapshot) this.#remember(before, message !== undefined);
    if (hasComments(before)) toast(gettext("The form rewrote the text; its comments are gone."), { action });
    this.yaml.value = toYaml(this.form.data);
    if (message) toast(message, { action });
    this.#onChange("form");
  }

  /** What is typed without a rest is one step. @param {string} text  @param {boolean} isStep */
  #remember(text, isStep) {
    if (this.#history.at(-1) === text) return;
    if (!isStep && this.#checkLater !== undefined && this.#history.length > 0) return;
    this.#history = [...this.#history, text].slice(-MAX_HISTORY);
    this.lastSnapshot = text;
  }

  #undo() {
    const before = this.#history.pop();
    if (before === undefined) return;
    this.yaml.value = before;
    this.lastSnapshot = before;
    this.#onChange("undo", 0);
    byId("unsaved").textContent = gettext("Undone.");
  }

  /** @param {string} text  replaces all, and can be undone */
  #replace(text) {
    this.#remember(this.yaml.value, true);
    this.yaml.value = text;
    this.#onChange("text", 0);
  }

  /** @param {Origin} origin  @param {number} [rest]  ms until the server is asked */
  #onChange(origin, rest = REST_MS) {
    this.#checkedText = null;
    if (origin !== "form") byId("form").inert = true; // until the server has read the text
    this.problemList.drawGutter();
    this.saver.onChange();
    this.undoButton.disabled = this.#history.length === 0;
    clearTimeout(this.#checkLater);
    this.#checkLater = setTimeout(() => void this.#check(origin), rest);
  }

  /** @param {Origin} origin */
  async #check(origin) {
    const text = this.yaml.value;
    this.#checkLater = undefined;
    let checked;
    try {
      checked = await call("POST", `/projects/${this.data.project}/schemas/check/`, { yaml: text || " " });
    } catch (error) {
      if (text === this.yaml.value) void this.#onUnchecked(error, origin);
      return;
    }
    if (text === this.yaml.value) this.#onChecked(text, origin, checked);
  }

  /** @param {string} text  @param {Origin} origin  @param {any} checked  parsed: the text as data, right or not */
  #onChecked(text, origin, { parsed, problems, content }) {
    this.#checkedText = text;
    hideSignedOut();
    if (origin !== "form") this.#fillForm(parsed);
    this.#showProblems(problems);
    this.preview.show(content ?? null);
    this.saver.showState();
    document.documentElement.dataset.ready = "true";
  }

  /** @param {unknown} error  @param {Origin} origin */
  async #onUnchecked(error, origin) {
    if (error instanceof Problem && !isPassing(error) && !isSignedOut(error)) {
      this.#showProblems([{ path: "", line: null, message: error.message, remedy: error.remedy }]);
      return;
    }
    this.problemList.showUnchecked(isSignedOut(error) ? await showSignedOut() : SERVER_AWAY);
    this.#checkLater = setTimeout(() => void this.#check(origin), RETRY_MS);
  }

  /** @param {unknown} content  as the text says, right or not; null: unreadable */
  #fillForm(content) {
    const isShown = isFormable(content) || (content instanceof Object && !("questions" in content));
    byId("form").inert = !isShown;
    byId("form").classList.toggle("is-off", !isShown);
    this.form.show(isFormable(content) ? structuredClone(content) : { questions: [] });
    const message = gettext("The text cannot be read as questions, so there is no form.");
    if (!isShown) byId("list").replaceChildren(createElement("li", "muted", message));
  }

  // ---- problems ----------------------------------------------------------------------------------------------------

  /** @param {SchemaProblem[]} problems */
  #showProblems(problems) {
    if (this.#isBlank) this.problemList.showBeginning(problems);
    else this.problemList.show(problems);
    this.form.markProblems(this.#isBlank ? [] : problems);
  }

  /** Whether the project has no questions, and none were written here. */
  get #isBlank() {
    return this.saver.savedText === EMPTY_TEXT && this.yaml.value === EMPTY_TEXT;
  }

  /** @param {SchemaProblem} problem */
  #openProblem({ path, line }) {
    if (byId("text").hidden && path && this.form.fieldOf(path)) {
      this.form.goTo(path);
      return;
    }
    this.#showWay("text");
    this.problemList.goToLine(line ?? 1);
  }

  // ---- form or text ------------------------------------------------------------------------------------------------

  get #wayKey() {
    return `${this.saver.draftKey}.way`;
  }

  /** @param {string} way  "form" or "text" */
  #showWay(way) {
    for (const choice of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("[name=way]")))
      choice.checked = choice.value === way;
    byId("form").hidden = way !== "form";
    byId("text").hidden = way !== "text";
    try {
      sessionStorage.setItem(this.#wayKey, way);
    } catch {
      // The page begins with the form again.
    }
  }

  // ---- begin -------------------------------------------------------------------------------------------------------

  /** @param {HTMLSelectElement} select */
  async #takePreset(select) {
    const name = select.value;
    select.value = "";
    if (!name) return;
    const undo = { label: gettext("Undo"), run: () => this.#undo() };
    try {
      const answer = await fetch(this.data.urls.preset.replace("NAME", name));
      if (!answer.ok) throw new TypeError(String(answer.status));
      this.#replace(await answer.text());
      showEditorNotice("preset", gettext("The text is replaced by the preset."), "warn", [undo]);
    } catch {
      showEditorNotice("preset", SERVER_AWAY, "bad");
    }
  }

  /** The text of before, which was not saved. */
  #restoreDraft() {
    const { saver } = this;
    const draft = saver.storedDraft();
    if (!draft?.text) return;
    if (location.search.includes("from=")) {
      this.#remember(draft.text, true); // another version was asked for: the draft is one step back
      history.replaceState(null, "", location.pathname);
    } else if (draft.text !== saver.savedText) {
      this.yaml.value = draft.text;
      this.#explainDraft(draft.sha256 !== saver.newest.sha256);
    }
  }

  /** @param {boolean} isOlder  than the newest version */
  #explainDraft(isOlder) {
    const { newest } = this.saver;
    const message = isOlder
      ? gettext("This is your text from before, which is not saved. Version {version} was saved since then.")
      : gettext("This is your text from before, which is not saved.");
    const seeNewest = {
      label: format(gettext("See version {version}"), newest),
      href: this.saver.versionUrl(newest.version),
    };
    const goBack = { label: gettext("Back to the saved questions"), run: () => this.#replace(this.saver.savedText) };
    showEditorNotice("restored", format(message, newest), "warn", isOlder ? [seeNewest, goBack] : [goBack]);
  }

  #wireControls() {
    this.yaml.addEventListener("input", () => this.#onChange("text"));
    byId("add").addEventListener("click", () => {
      if (!byId("form").inert) this.form.addQuestion(); // else the text is being read, or cannot be
    });
    byId("way").addEventListener("change", ({ target }) =>
      this.#showWay(/** @type {HTMLInputElement} */ (target).value),
    );
    byId("preset").addEventListener(
      "change",
      ({ target }) => void this.#takePreset(/** @type {HTMLSelectElement} */ (target)),
    );
    this.undoButton.addEventListener("click", () => this.#undo());
    addEventListener("beforeunload", (event) => {
      if (this.saver.isDirty) event.preventDefault();
    });
  }

  start() {
    this.#wireControls();
    this.yaml.value = toYaml(this.data.content);
    this.#restoreDraft();
    this.#showWay(sessionStorage.getItem(this.#wayKey) === "text" ? "text" : "form");
    this.#onChange("text", 0);
  }
}

new SchemaEditor(JSON.parse(byId("schema-data").textContent ?? "")).start();
