import { readFileSync, writeFileSync } from "node:fs";
import { at } from "../../scripts/lib/project.mjs";
import { toJson } from "./json.mjs";
import { toMarkdown } from "./markdown.mjs";
import { toOverview } from "./overview.mjs";
import { toOverviewSvg, toSvg } from "./svg.mjs";

const begin = "<!-- bench: begin -->";
const end = "<!-- bench: end -->";
const chart = "![Calls per second of each SDK as a share of bare node](performance.svg)";

/** Returns the page with what is between its markers replaced by a text, or removed if the text is empty. */
export function fillIn(page, text) {
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the page lacks ${begin} and ${end}`);
  return `${page.slice(0, from + begin.length)}\n${text === "" ? "" : `\n${text}\n`}${page.slice(to)}`;
}

/** Writes the results into the pages of the project. */
export function writeDocs(document) {
  const page = at("docs/performance.md");
  writeFileSync(page, fillIn(readFileSync(page, "utf8"), `${chart}\n\n${toMarkdown(document)}`));
  const readme = at("README.md");
  writeFileSync(readme, fillIn(readFileSync(readme, "utf8"), toOverview(document)));
  writeFileSync(at("docs/performance.svg"), toSvg(document));
  writeFileSync(at("docs/overview.svg"), toOverviewSvg(document));
  writeFileSync(at("docs/performance.json"), `${toJson(document)}\n`);
}
