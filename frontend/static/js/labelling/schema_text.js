// @ts-check
/** Questions as YAML text: the content of the form, valid or not, so that the server can name the line of a problem. */

/** One line of YAML as a person wrote it, taken as it is. */
export class Raw {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }
}

const ORDER = [
  ...["key", "scope", "kind", "value", "text", "speakers", "when", "required", "sets", "agree", "runs"],
  ...["low", "high", "min", "max", "max_length", "nugget", "counts_as", "apart", "alone"],
  ...["guideline", "examples", "options"],
];
const FLOWING = ["when", "required", "sets", "text", "speakers"];
const PLAIN = /^\p{L}(?:[\p{L}\p{N} _.?!。，？！；、（）·’-]*[\p{L}\p{N}_.?!。，？！；、（）·’])?$/u;
const WORDS = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
const WIDE = 100;

/** @param {unknown} value  @returns {string} */
function scalar(value) {
  if (typeof value !== "string") return String(value ?? "null");
  return PLAIN.test(value) && !WORDS.test(value) ? value : JSON.stringify(value);
}

/** @param {object} map  @returns {[string, unknown][]} those that are there, in the usual order */
function entries(map) {
  const place = (/** @type {string} */ name) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  return Object.entries(map)
    .filter(([, value]) => value !== undefined)
    .sort(([one], [other]) => place(one) - place(other));
}

/** On one line. @param {unknown} value  @returns {string} */
export function flow(value) {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (typeof value !== "object" || value === null) return scalar(value);
  return `{${Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .map(([name, one]) => `${scalar(name)}: ${flow(one)}`)
    .join(", ")}}`;
}

/** @param {unknown} value */
const isNested = (value) => typeof value === "object" && value !== null && !(value instanceof Raw);

/** @param {string} name  @param {unknown} value */
function isFlow(name, value) {
  if (!isNested(value) || FLOWING.includes(name)) return true;
  const parts = Object.values(/** @type {object} */ (value));
  return parts.length === 0 || (parts.every((part) => !isNested(part)) && flow(value).length < WIDE);
}

/** @param {unknown} value  @param {string} pad  @returns {string[]} lines */
function block(value, pad) {
  if (Array.isArray(value)) return value.flatMap((item) => listItem(item, pad));
  return entries(/** @type {object} */ (value)).flatMap(([name, one]) => {
    if (isFlow(name, one)) return `${pad}${scalar(name)}: ${flow(one)}`;
    return [`${pad}${scalar(name)}:`, ...block(one, Array.isArray(one) ? pad : `${pad}  `)];
  });
}

/** @param {unknown} item  @param {string} pad */
function listItem(item, pad) {
  if (isFlow("", item)) return [`${pad}- ${flow(item)}`];
  const [first, ...rest] = block(item, `${pad}  `);
  return [`${pad}- ${first.trimStart()}`, ...rest];
}

/** @param {{ questions: object[] }} data */
export function toYaml(data) {
  return `${(data.questions.length > 0 ? block(data, "") : ["questions: []"]).join("\n")}\n`;
}
