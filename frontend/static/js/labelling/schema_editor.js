// @ts-check
/**
 * Questions are written as a form or as YAML, and the text is what counts: the form writes it anew at every change, the
 * server reads it and says what is wrong and where. What is not saved is kept in this browser.
 */
import { call, isPassing, isSignedOut, Problem, uuid } from "../shared/api.js";
import { owner } from "../shared/outbox_store.js";
import { format, gettext, ngettext } from "../shared/page.js";
import { toast } from "../shared/toast.js";
import { Form, isFormable } from "./schema_form.js";
import { Preview } from "./schema_preview.js";
import { toYaml } from "./schema_text.js";

/** @typedef {import("./schema_form.js").Problem} Wrong */

const REST_MS = 300;
const RETRY_MS = 5000;
const HISTORY = 100;
const LIMIT_MS = 20_000;

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const data = JSON.parse(byId("schema-data").textContent ?? "");
const newest = data.newest;
const keptAs = `lapidary.schema.${owner}.${data.project}`;
const yaml = /** @type {HTMLTextAreaElement} */ (byId("yaml"));
const save = /** @type {HTMLButtonElement} */ (byId("save"));
const undoButton = /** @type {HTMLButtonElement} */ (byId("undo"));

let savedText = toYaml(data.newestContent);
/** @type {string[]} the texts before changes of the form */
let history = [];
let lastSnapshot = toYaml(data.content);
/** @type {Wrong[]} */
let problems = [];
/** What the server said of the text: null while it has not. @type {string | null} */
let checkedText = null;
/** A save, or the question what somebody else saved, is under way: another save would follow the wrong version. */
let isBusy = false;
let saveId = uuid();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;

const preview = new Preview(data);
const form = new Form({ list: byId("list"), onChange: () => fromForm(), onShape: (said) => fromForm(said) });

const isDirty = () => yaml.value !== savedText;

// ---- the text --------------------------------------------------------------------------------------------------------

/** The form changed the data: write the text anew. @param {string} [said]  something came, went or moved */
function fromForm(said) {
  const before = yaml.value;
  if (said !== undefined || before !== lastSnapshot) remember(before, said !== undefined);
  if (hasComments(before))
    toast(gettext("The form wrote the text anew; comments in it are gone."), {
      action: { label: gettext("Undo"), run: undo },
    });
  yaml.value = toYaml(form.data);
  if (said) toast(said, { action: { label: gettext("Undo"), run: undo } });
  changed("form");
}

/** @param {string} text */
const hasComments = (text) => text.split("\n").some((line) => line.trimStart().startsWith("#"));

/** Steps of typing in one rest are one step. @param {string} text  @param {boolean} isStep */
function remember(text, isStep) {
  if (history.at(-1) === text) return;
  if (!isStep && waiting !== undefined && history.length > 0) return;
  history = [...history, text].slice(-HISTORY);
  lastSnapshot = text;
}

function undo() {
  const before = history.pop();
  if (before === undefined) return;
  yaml.value = before;
  lastSnapshot = before;
  changed("undo", 0);
  byId("unsaved").textContent = gettext("Undone.");
}

/** @param {string} text  replaces all, and can be undone */
function replace(text) {
  remember(yaml.value, true);
  yaml.value = text;
  changed("text", 0);
}

/** @param {"form" | "text" | "undo"} by  @param {number} [rest]  ms until the server is asked */
function changed(by, rest = REST_MS) {
  keep();
  saveId = uuid();
  checkedText = null;
  if (by !== "form") byId("form").inert = true; // until the server has read the text
  drawGutter();
  showSave();
  clearTimeout(waiting);
  waiting = setTimeout(() => void check(by), rest);
}

/** @param {"form" | "text" | "undo"} by */
async function check(by) {
  const text = yaml.value;
  waiting = undefined;
  let answer;
  try {
    answer = await call("POST", `/projects/${data.project}/schemas/check/`, { yaml: text || " " });
  } catch (error) {
    if (text !== yaml.value) return;
    if (error instanceof Problem && !isPassing(error) && !isSignedOut(error)) {
      showProblems([{ path: "", line: null, message: error.message, remedy: error.remedy }]);
    } else {
      byId("problems-title").textContent = isSignedOut(error)
        ? gettext("You are signed out. Sign in in another tab, then save again; your text stays here.")
        : gettext("The server cannot be reached; the text is kept in this browser and checked again soon.");
      waiting = setTimeout(() => void check(by), RETRY_MS);
    }
    return;
  }
  if (text !== yaml.value) return;
  checkedText = text;
  if (by !== "form") toForm(answer.parsed);
  showProblems(answer.problems);
  if (answer.content) preview.show(answer.content);
  else preview.show(null);
  showSave();
  document.documentElement.dataset.ready = "true";
}

/** @param {unknown} content  as the text says, right or not; null: unreadable */
function toForm(content) {
  const isShown = isFormable(content) || (content instanceof Object && !("questions" in content));
  byId("form").inert = !isShown;
  byId("form").classList.toggle("is-off", !isShown);
  if (isFormable(content)) form.show(structuredClone(content));
  else form.show({ questions: [] });
  if (isShown) return;
  const off = document.createElement("li");
  off.className = "muted";
  off.textContent = gettext("The text cannot be read as questions, so there is no form.");
  byId("list").replaceChildren(off);
}

// ---- problems --------------------------------------------------------------------------------------------------------

/** @param {Wrong[]} found */
function showProblems(found) {
  problems = found;
  const title = byId("problems-title");
  title.textContent =
    found.length > 0
      ? format(ngettext("{n} problem", "{n} problems", found.length), { n: found.length })
      : gettext("No problem.");
  title.classList.toggle("is-bad", found.length > 0);
  title.classList.toggle("is-good", found.length === 0);
  byId("problems").replaceChildren(...found.map(problemRow));
  form.mark(found);
  drawGutter();
}

/** @param {Wrong} problem */
function problemRow({ path, line, message, remedy }) {
  const row = document.createElement("li");
  const go = document.createElement("button");
  go.type = "button";
  go.className = "problem";
  const where = document.createElement("b");
  where.textContent = line === null ? path : format(gettext("Line {n}"), { n: line });
  const said = document.createElement("span");
  said.textContent = `${message} ${remedy}`.trim();
  const at = document.createElement("code");
  at.textContent = path;
  go.append(where, said, ...(path ? [at] : []));
  go.addEventListener("click", () => {
    if (way() === "form" && path && form.fieldOf(path)) form.goTo(path);
    else goToLine(line ?? 1);
  });
  row.append(go);
  return row;
}

/** @param {number} line  from 1 */
function goToLine(line) {
  setWay("text");
  const lines = yaml.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  yaml.focus();
  yaml.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  const height = yaml.scrollHeight / Math.max(1, lines.length);
  yaml.scrollTop = Math.max(0, (line - 5) * height);
  yaml.scrollLeft = 0;
}

function drawGutter() {
  const bad = new Set(problems.map(({ line }) => line));
  const count = yaml.value.split("\n").length;
  byId("gutter").replaceChildren(
    ...Array.from({ length: count }, (_none, n) => {
      const number = document.createElement("span");
      number.textContent = String(n + 1);
      if (bad.has(n + 1)) number.className = "bad";
      return number;
    }),
  );
  byId("gutter").scrollTop = yaml.scrollTop;
}

// ---- two ways --------------------------------------------------------------------------------------------------------

const way = () => (byId("text").hidden ? "form" : "text");

/** @param {string} chosen */
function setWay(chosen) {
  for (const one of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("[name=way]")))
    one.checked = one.value === chosen;
  byId("form").hidden = chosen !== "form";
  byId("text").hidden = chosen !== "text";
  try {
    sessionStorage.setItem(`${keptAs}.way`, chosen);
  } catch {
    // The page begins with the form again.
  }
}

// ---- drafts ----------------------------------------------------------------------------------------------------------

function keep() {
  try {
    if (isDirty()) localStorage.setItem(keptAs, JSON.stringify({ text: yaml.value, sha256: newest.sha256 }));
    else localStorage.removeItem(keptAs);
  } catch {
    // Full or forbidden: leaving the page warns.
  }
}

function kept() {
  try {
    return JSON.parse(localStorage.getItem(keptAs) ?? "null");
  } catch {
    return null;
  }
}

/**
 * @param {string} cause  one notice of each  @param {string} text  @param {"warn" | "bad" | "good"} [tone]
 * @param {{ label: string, run?: () => void, href?: string }[]} [actions]
 */
function notice(cause, text, tone = "warn", actions = []) {
  const before = byId("notices").querySelector(`[data-cause="${cause}"]`);
  const box = document.createElement("div");
  const said = document.createElement("p");
  box.className = `alert ${tone}`;
  box.dataset.cause = cause;
  said.textContent = text;
  box.append(said);
  for (const { label, run, href } of actions) {
    const control = document.createElement(href ? "a" : "button");
    control.className = "button";
    control.textContent = label;
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

// ---- saving ----------------------------------------------------------------------------------------------------------

function showSave() {
  const { version, answered, replaceable } = newest;
  const next = replaceable ? version : version + 1;
  const values = { version: next, n: answered, before: version };
  const will =
    version === 0 || answered === 0
      ? gettext("Save as version {version}")
      : ngettext(
          "Save as version {version}; {n} submission keeps version {before}",
          "Save as version {version}; {n} submissions keep version {before}",
          answered,
        );
  save.textContent = !isDirty()
    ? gettext("Nothing is changed")
    : format(replaceable ? gettext("Save in place of version {version}: nobody has used it") : will, values);
  save.disabled = isBusy || !isDirty() || problems.length > 0 || checkedText !== yaml.value;
  byId("unsaved").textContent = isDirty() ? gettext("not saved, kept in this browser") : "";
  undoButton.disabled = history.length === 0;
}

async function store() {
  const text = yaml.value;
  byId("notices").querySelector("[data-cause=newer]")?.remove(); // what it offers would cross this save
  isBusy = true;
  showSave();
  const based = newest.sha256 ? { based_on: newest.sha256 } : {};
  try {
    const answer = await call("POST", `/projects/${data.project}/schemas/`, { id: saveId, yaml: text, ...based });
    takeSaved(answer, text);
    toast(format(gettext("Version {version} is saved. New work is done under it."), { version: answer.version }), {
      tone: "good",
    });
    await refreshVersions().catch(() => undefined); // it is saved all the same
  } catch (error) {
    refused(error);
  } finally {
    isBusy = false;
    showSave();
  }
}

/** @param {{ version: number, sha256: string, used_at: string | null }} answer  @param {string} text */
function takeSaved({ version, sha256, used_at }, text) {
  if (version !== newest.version) Object.assign(newest, { answered: 0 });
  Object.assign(newest, { version, sha256, replaceable: used_at === null });
  savedText = text;
  saveId = uuid();
  for (const old of byId("notices").querySelectorAll("[data-cause]")) old.remove();
  keep();
}

async function refreshVersions() {
  const answer = await fetch(location.pathname, { signal: AbortSignal.timeout(LIMIT_MS) });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [now, then] = [page.getElementById("versions"), document.getElementById("versions")];
  const fresh = JSON.parse(page.getElementById("schema-data")?.textContent ?? "{}").newest;
  if (now && then) then.replaceWith(now);
  if (fresh?.sha256 === newest.sha256) Object.assign(newest, fresh);
}

/** @param {unknown} error */
function refused(error) {
  if (error instanceof Problem && error.code === "schema_newer") {
    offerNewer(error);
  } else if (isSignedOut(error))
    notice("refused", gettext("You are signed out. Sign in in another tab, then save again; your text stays here."));
  else if (error instanceof Problem && Array.isArray(error.body.problems)) {
    showProblems(error.body.problems);
    notice("refused", gettext("It is not saved; your text stays here."), "bad");
  } else {
    const why =
      error instanceof Problem
        ? `${error.message} ${error.remedy}`
        : gettext("The server cannot be reached; the text is kept in this browser and checked again soon.");
    notice("refused", `${gettext("It is not saved; your text stays here.")} ${why}`.trim(), "bad");
  }
}

/** @param {Problem} problem */
function offerNewer(problem) {
  const { version, sha256 } = problem.body;
  const before = { ...newest };
  const box = notice(
    "newer",
    `${problem.message} ${problem.remedy} ${gettext("It is not saved; your text stays here.")}`,
    "warn",
    [
      {
        label: format(gettext("See version {version}"), { version }),
        href: data.urls.version.replace("/0/", `/${version}/`),
      },
      { label: gettext("Keep mine"), run: () => void knowNewer(version, sha256) },
      {
        label: gettext("Take the newer one"),
        run: async () => {
          const content = await knowNewer(version, sha256);
          if (content) replace(toYaml(content));
          else Object.assign(newest, before);
        },
      },
    ],
  );
  box.scrollIntoView({ block: "nearest" });
  box.querySelector("a")?.focus();
}

/** The next save follows this version. @param {number} version  @param {string} sha256 */
async function knowNewer(version, sha256) {
  isBusy = true;
  showSave();
  try {
    const { content } = await call("GET", `/projects/${data.project}/schemas/${version}/`);
    Object.assign(newest, { version, sha256, answered: 0, replaceable: false });
    savedText = toYaml(content);
    await refreshVersions();
    keep();
    return content;
  } catch (error) {
    refused(error);
    return null;
  } finally {
    isBusy = false;
    showSave();
  }
}

// ---- presets ---------------------------------------------------------------------------------------------------------

/** @param {HTMLSelectElement} select */
async function takePreset(select) {
  const name = select.value;
  select.value = "";
  if (!name) return;
  try {
    const answer = await fetch(data.urls.preset.replace("NAME", name));
    if (!answer.ok) throw new TypeError(String(answer.status));
    replace(await answer.text());
    notice("preset", gettext("The text is replaced by the preset."), "warn", [{ label: gettext("Undo"), run: undo }]);
  } catch {
    notice(
      "preset",
      gettext("The server cannot be reached; the text is kept in this browser and checked again soon."),
      "bad",
    );
  }
}

// ---- begin -----------------------------------------------------------------------------------------------------------

yaml.addEventListener("input", () => changed("text"));
yaml.addEventListener("scroll", () => {
  byId("gutter").scrollTop = yaml.scrollTop;
});
byId("add").addEventListener("click", () => {
  if (byId("form").inert) return; // the text is being read, or cannot be
  form.add();
});
byId("way").addEventListener("change", (event) => setWay(/** @type {HTMLInputElement} */ (event.target).value));
byId("preset").addEventListener("change", (event) => void takePreset(/** @type {HTMLSelectElement} */ (event.target)));
save.addEventListener("click", () => void store());
undoButton.addEventListener("click", undo);
addEventListener("beforeunload", (event) => {
  if (isDirty()) event.preventDefault();
});

yaml.value = toYaml(data.content);
const draft = kept();
if (draft?.text && location.search.includes("from=")) {
  remember(draft.text, true); // another version was asked for: the draft is one step back
  window.history.replaceState(null, "", location.pathname);
} else if (draft?.text && draft.text !== savedText) {
  const isOlder = draft.sha256 !== newest.sha256;
  yaml.value = draft.text;
  notice(
    "restored",
    format(
      isOlder
        ? gettext("This is your text from before, which is not saved. Version {version} was saved since then.")
        : gettext("This is your text from before, which is not saved."),
      { version: newest.version },
    ),
    "warn",
    [
      ...(isOlder
        ? [
            {
              label: format(gettext("See version {version}"), newest),
              href: data.urls.version.replace("/0/", `/${newest.version}/`),
            },
          ]
        : []),
      { label: gettext("Back to the saved questions"), run: () => replace(savedText) },
    ],
  );
}
setWay(sessionStorage.getItem(`${keptAs}.way`) === "text" ? "text" : "form");
changed("text", 0);
