import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { packagedPages } from "./lib/markdown.mjs";
import { at, filesBelow, readJson, shown } from "./lib/project.mjs";

/**
 * Writes `llms.txt`, a guide to the pages for language models (https://llmstxt.org): `node scripts/llms.mjs`. The title and
 * the summary are those of the README. The links are those of its section "Where to go next", each with the first sentence of
 * its page. Pages in the folder of a page follow it. The `docs` check fails if the file is not current.
 */
export function llmsText() {
  const readme = at("README.md");
  const links = [...sectionOf(readme, "Where to go next").matchAll(/\[([^\]]+)\]\(([^)]+\.md)\)/g)].map(
    ([, title, link]) => ({ title, page: join(dirname(readme), link) }),
  );
  const docs = links.filter(({ page }) => shown(page).startsWith("docs/"));
  const others = links.filter((link) => !docs.includes(link));
  return [
    `# ${titleOf(readme)}`,
    `> ${introductionOf(readme)}`,
    "## Docs",
    docs.flatMap(({ title, page }) => [item(title, page), ...subpages(title, page)]).join("\n"),
    "## Optional",
    others.map(({ title, page }) => item(title, page)).join("\n"),
    "",
  ].join("\n\n");
}

/** Pages of `docs/deploying/` follow `docs/deploying.md`. */
function subpages(title, page) {
  const folder = page.replace(/\.md$/, "");
  return filesBelow(at("docs"), ".md")
    .filter((path) => dirname(path) === folder)
    .map((path) => item(titleOf(path).startsWith(title) ? titleOf(path) : `${title}: ${titleOf(path)}`, path));
}

/** Pages outside of the package are linked in the repository. */
function item(title, page) {
  const { homepage } = readJson(at("package.json"));
  const path = shown(page);
  const link = packagedPages().includes(page) ? path : `${homepage}/blob/HEAD/${path}`;
  return `- [${title}](${link}): ${firstSentence(introductionOf(page))}`;
}

function titleOf(page) {
  return /^# (.+)$/m.exec(readFileSync(page, "utf8"))?.[1];
}

/** Returns the first paragraph below the title as one line of plain text. */
function introductionOf(page) {
  const [, text] = /^# .+\n\n(?![#|`<!-])((?:.+\n)+)/.exec(readFileSync(page, "utf8")) ?? [];
  if (text === undefined) throw new Error(`${shown(page)}: no paragraph follows the title`);
  const plain = text.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1").replaceAll("**", "");
  return plain.trim().replaceAll(/\s+/g, " ");
}

function firstSentence(text) {
  return /^.+?\.(?= |$)/.exec(text)?.[0] ?? text;
}

function sectionOf(page, heading) {
  const [, section] = readFileSync(page, "utf8").split(`\n## ${heading}\n`);
  if (section === undefined) throw new Error(`${shown(page)} has no section ${JSON.stringify(heading)}`);
  return section.split("\n## ", 1)[0];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(at("llms.txt"), llmsText());
