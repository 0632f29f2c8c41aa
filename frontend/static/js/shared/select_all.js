// A checkbox in the head of a list that ticks all boxes of the page, and the number of ticked ones beside the action.
// <input type="checkbox" data-select-all="NAME" hidden>, <output data-selected="NAME">, and the boxes named NAME.

for (const all of document.querySelectorAll("[data-select-all]")) {
  if (!(all instanceof HTMLInputElement)) continue;
  const name = all.dataset.selectAll ?? "";
  /** @type {NodeListOf<HTMLInputElement>} */
  const boxes = document.querySelectorAll(`input[type=checkbox][name="${name}"]`);
  const count = document.querySelector(`[data-selected="${name}"]`);
  const action = count?.closest("button");

  const show = () => {
    const ticked = [...boxes].filter((box) => box.checked).length;
    all.checked = ticked > 0 && ticked === boxes.length;
    all.indeterminate = ticked > 0 && ticked < boxes.length;
    if (count) count.textContent = ticked ? String(ticked) : "";
    if (action instanceof HTMLButtonElement) action.disabled = ticked === 0;
  };

  all.hidden = false;
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    show();
  });
  for (const box of boxes) box.addEventListener("change", show);
  show();
}
