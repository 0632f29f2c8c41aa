// @ts-check
/** A version of the questions, to be tried. */
import { Preview } from "./schema_preview.js";

const data = JSON.parse(document.getElementById("schema-data")?.textContent ?? "");
new Preview(data).show(data.content);
document.documentElement.dataset.ready = "true";
