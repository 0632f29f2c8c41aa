// @ts-check
/** On a narrow screen the tabs scroll: scroll the current one into view. */
for (const here of document.querySelectorAll(".tabs [aria-current]")) {
  here.scrollIntoView({ block: "nearest", inline: "center", behavior: "instant" });
}
