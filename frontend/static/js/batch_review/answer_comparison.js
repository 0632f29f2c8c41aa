// @ts-check
/** The controller's answers against the annotators' label. */

/**
 * @typedef {import("../labelling/questions/answer_sheet.js").Answers} Answers
 * @typedef {import("../labelling/questions/answer_sheet.js").Value} Value
 */

/** @param {Answers} answers  @param {string} path  @returns {Value | undefined} */
export function valueAt(answers, path) {
  const [key, position] = path.split("/").reverse();
  return position === undefined ? answers.dialogue[key] : answers.utterances[position]?.[key];
}

/** What two people answered differently. @param {Answers} one  @param {Answers} other  @returns {string[]} paths */
function differingPaths(one, other) {
  /** @type {Set<string>} */
  const paths = new Set();
  for (const { dialogue, utterances } of [one, other]) {
    for (const key of Object.keys(dialogue)) paths.add(key);
    for (const [position, answers] of Object.entries(utterances))
      for (const key of Object.keys(answers)) paths.add(`${position}/${key}`);
  }
  return [...paths].filter((path) => JSON.stringify(valueAt(one, path)) !== JSON.stringify(valueAt(other, path)));
}

/**
 * If one question is checked, what only one of them was asked or answered is no disagreement.
 * @param {Answers} own  @param {Answers} label  @param {string} checked  the checked question; "": every compared answer
 */
export function disagreements(own, label, checked) {
  const paths = differingPaths(own, label);
  if (!checked) return paths;
  return paths.filter((path) => [own, label].every((answers) => valueAt(answers, path) !== undefined));
}

/** Whether the answers say what the label says, as far as that is checked. @param {Answers} own  @param {Answers} label  @param {string} checked */
export function isSameAsLabel(own, label, checked) {
  const paths = differingPaths(own, label);
  return checked ? !paths.includes(checked) : paths.length === 0;
}
