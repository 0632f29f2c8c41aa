// @ts-check
/**
 * Several forms on one page, each with its own Save: sending one would drop what was changed in another, and so would a
 * link. The browser asks first.
 */

/** @type {EventTarget | null} the form that is being sent */
let sent = null;

/** @param {Element} field  @returns {boolean} */
function isChanged(field) {
  if (field instanceof HTMLSelectElement) {
    const hasDefault = [...field.options].some((option) => option.defaultSelected);
    if (!hasDefault && !field.multiple) return field.selectedIndex > 0;
    return [...field.options].some((option) => option.selected !== option.defaultSelected);
  }
  if (field instanceof HTMLTextAreaElement) return field.value !== field.defaultValue;
  if (!(field instanceof HTMLInputElement) || field.type === "hidden") return false;
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  return field.value !== field.defaultValue;
}

/** What a refused form shows is stored nowhere, even if it is as the server sent it. @param {HTMLFormElement} form */
const isUnsaved = (form) =>
  form.querySelector("[aria-invalid='true'], .alert.bad") !== null || [...form.elements].some(isChanged);

addEventListener("submit", (event) => {
  sent = event.defaultPrevented ? null : event.target;
});

addEventListener("beforeunload", (event) => {
  const others = [...document.forms].filter((form) => form !== sent && form.method === "post");
  if (others.some(isUnsaved)) event.preventDefault();
  sent = null; // the person may stay
});
