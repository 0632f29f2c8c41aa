// @ts-check
/**
 * The theme switch without a reload. The server renders the stored choice into <html data-theme>, so no page
 * shows the wrong one first; here it only changes under the person's hand. Without scripts the form just posts.
 */
import { toast } from "./toast.js";

/** @param {string} theme */
function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
  for (const choice of document.querySelectorAll("[name=theme][aria-pressed]")) {
    choice.setAttribute("aria-pressed", String(choice.getAttribute("value") === theme));
  }
}

/** @param {HTMLFormElement} form  @param {string} theme */
async function saveTheme(form, theme) {
  const body = new FormData(form);
  body.set("theme", theme);
  const answer = await fetch(form.action, { method: "POST", body, headers: { "HX-Request": "true" } });
  if (!answer.ok) throw new Error(`theme: ${answer.status}`);
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !form.matches("[data-theme-form]")) return;
  if (!(event.submitter instanceof HTMLButtonElement)) return;
  event.preventDefault();
  applyTheme(event.submitter.value);
  const menu = form.closest("[popover]");
  if (menu instanceof HTMLElement) menu.hidePopover();
  try {
    await saveTheme(form, event.submitter.value);
  } catch {
    toast(form.dataset.failed ?? "", { tone: "warn" });
  }
});
