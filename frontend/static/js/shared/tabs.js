// @ts-check
/** On a narrow screen the tabs scroll: bring the one that is here into view. */
for (const here of document.querySelectorAll(".tabs [aria-current]")) {
  here.scrollIntoView({ block: "nearest", inline: "center", behavior: "instant" });
}
