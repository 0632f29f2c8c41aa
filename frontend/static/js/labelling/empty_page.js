// @ts-check
/** The page between dialogues: why there is none, and what to do. Its ways out are in templates/labelling/nothing.html. */
import { clock } from "../shared/api.js";
import { byId } from "../shared/elements.js";
import { format, gettext, ngettext } from "../shared/messages.js";

/** @typedef {import("./state.js").EmptyReason} EmptyReason */

const part = (/** @type {string} */ name) =>
  /** @type {HTMLElement} */ (byId("nothing").querySelector(`[data-${name}]`));

/** @param {EmptyReason} reason  @param {boolean} isAway  the server cannot be reached  @returns {string} the code shown */
export function showEmptyPage(reason, isAway) {
  const { code, message, remedy, details } = reason.code === "loading" && isAway ? offlineReason() : reason;
  showWays(code === "all_done" && details?.open ? "too_many_open" : code);
  part("title").textContent = message;
  part("text").textContent = remedy;
  const freeAt = gettext("The first of them becomes free, if it is not finished, at {when}.");
  part("more").textContent = details?.until ? format(freeAt, { when: clock(details.until).slice(-5) }) : "";
  const test = byId("nothing").querySelector("a[data-way=admission_needed]");
  if (test instanceof HTMLAnchorElement && details?.url) test.href = details.url;
  byId("nothing").append(byId("notices"));
  byId("panes").hidden = true;
  byId("task").textContent = "";
  byId("nothing").hidden = false;
  part("title").focus();
  return code;
}

/** @returns {EmptyReason} */
function offlineReason() {
  return {
    code: "offline",
    message: gettext("No more dialogues lie ready in this browser."),
    remedy: gettext("The next one comes by itself when the connection is back."),
  };
}

/** What this code offers, else what "other" does. @param {string} code */
function showWays(code) {
  const holder = byId("nothing");
  const codesOf = (/** @type {Element} */ element) =>
    (element.getAttribute("data-codes") ?? element.getAttribute("data-way") ?? "").split(" ");
  const isKnown = [...holder.querySelectorAll("[data-codes]")].some((element) => codesOf(element).includes(code));
  /** @type {NodeListOf<HTMLElement>} */
  const elements = holder.querySelectorAll("[data-codes], [data-way]");
  for (const element of elements) element.hidden = !codesOf(element).includes(isKnown ? code : "other");
}

/** Unsent submissions, said where no dialogue is shown. @param {number} n */
export function showUnsentCount(n) {
  if (byId("nothing").hidden) return;
  const message = ngettext(
    "{n} submission waits here and is not lost.",
    "{n} submissions wait here and are not lost.",
    n,
  );
  part("more").textContent = format(message, { n });
}
