// @ts-check
/** Keeps what is typed into fields with data-draft through a reload, until their form is sent. */
import { Memory } from "./memory.js";

/** @type {NodeListOf<HTMLInputElement | HTMLTextAreaElement>} */
const fields = document.querySelectorAll("[data-draft]");

for (const field of fields) {
  const memory = new Memory(field.dataset.draft ?? "");
  // What was typed before this script came stays.
  if (field.value === field.defaultValue) field.value = memory.read("draft", field.value);
  else memory.write("draft", field.value);
  field.addEventListener("input", () => memory.write("draft", field.value));
  field.form?.addEventListener("submit", () => memory.write("draft", null));
}
