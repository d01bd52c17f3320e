import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { at, filesBelow, root, shown } from "./project.mjs";

/** Returns the pages of the project: those in its root folder and in docs/. */
export function pages() {
  const top = readdirSync(at()).filter((name) => name.endsWith(".md"));
  return [...top.map((name) => at(name)), ...filesBelow(at("docs"), ".md")];
}

/** Returns the pages of all folders, but for those that are made or fetched. */
export function allPages() {
  return filesBelow(root, ".md").filter((page) => !/(^|\/)(build|dist|cache|results|skills)\//.test(shown(page)));
}

/** Returns the pages that are in the package. */
export function packagedPages() {
  return [at("README.md"), at("CHANGELOG.md"), at("SECURITY.md"), ...filesBelow(at("docs"), ".md")];
}

const fence = /^(?<directive><!-- docs:(?<rule>[\s\S]*?)-->\n+)?```(?<info>[^\n]*)\n(?<code>[\s\S]*?)^```$/gm;

const form = /^(?:not run(?<old> on Node 20)?: (?<notRun>[^;]+);?)?(?<rule>[\s\S]*)$/;

/**
 * Returns the TypeScript blocks of a page: `{ place, info, code, rule, notRun, isForNewer }`. The rule is a comment
 * `<!-- docs: ... -->` right above the block. `continue` prepends the previous block; any other text is code that is
 * prepended. A comment may begin with `not run: <reason>;`, which is `notRun`. With `not run on Node 20: <reason>;`, the
 * block also has `isForNewer`.
 */
export function blocksOf(page) {
  const text = readFileSync(page, "utf8");
  const found = [];
  for (const match of text.matchAll(fence)) {
    const { info, code, rule: comment = "" } = match.groups;
    if (!isTypeScript(info)) continue;
    const { old, notRun, rule } = form.exec(comment.trim()).groups;
    const line = text.slice(0, match.index + (match.groups.directive ?? "").length).split("\n").length;
    found.push({
      place: `${shown(page)}:${line}`,
      info: info.trim(),
      code,
      rule: rule.trim() || undefined,
      notRun,
      isForNewer: old !== undefined,
    });
  }
  return found;
}

const isTypeScript = (info) => /^(ts|tsx|typescript)\b/.test(info);
const example = /^(?<margin> *\* )```ts\n(?<code>[\s\S]*?)^ *\* ```$/gm;

/** Returns the TypeScript blocks in the comments of a source file, which editors show: `{ place, code }`. */
export function examplesOf(file) {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(example)].map(({ index, groups: { code } }) => ({
    place: `${shown(file)}:${text.slice(0, index).split("\n").length}`,
    code: code.replace(/^ *\* ?/gm, ""),
  }));
}

/** Returns the name of a block that begins with `// name.ts`. */
export function fileNameOf(code) {
  return code.match(/^\/\/ ([\w.-]+\.ts)\b/)?.[1];
}

/** Returns the first block without a language between a block of TypeScript and the next one: its output. */
export function outputAfter(page, code) {
  const blocks = [...readFileSync(page, "utf8").matchAll(fence)].map(({ groups }) => groups);
  const rest = blocks.slice(blocks.findIndex((block) => block.code === code) + 1);
  const next = rest.findIndex(({ info }) => isTypeScript(info));
  return rest.slice(0, next === -1 ? rest.length : next).find(({ info }) => info === "")?.code;
}

const target = /(\]\(|<img src=")(?![a-z]+:|#)([^)"#]+)/g;

/** Matches a block of code, also in a list. What looks like a link there is none. */
const code = /(^ *```[^\n]*\n[\s\S]*?^ *```$)/m;

/** Returns the text of a page with each link to a file replaced by the result of `lead(path, link)`. Anchors stay. */
export function withLinks(page, lead) {
  const replaced = (text) => text.replace(target, (_, before, link) => before + lead(join(dirname(page), link), link));
  const parts = readFileSync(page, "utf8").split(code);
  return parts.map((part, index) => (index % 2 === 0 ? replaced(part) : part)).join("");
}

const prose = (page) =>
  readFileSync(page, "utf8")
    .split(code)
    .filter((_, index) => index % 2 === 0)
    .join("");

/** Returns the paths of the files that a page links to. */
function linksOf(page) {
  return [...prose(page).matchAll(target)].map(([, , link]) => join(dirname(page), link));
}

const anchored = /\]\((?![a-z]+:)([^)#]*)#([^)]+)\)/g;

/** Returns the links of a page to headings of any page: `{ path, anchor }`. */
function anchorsOf(page) {
  const links = [...prose(page).matchAll(anchored)];
  return links.map(([, link, anchor]) => ({ path: link === "" ? page : join(dirname(page), link), anchor }));
}

/** Returns a line for each link of a page to a file or a heading that does not exist. `nameOf` tells how paths are shown. */
export function deadLinks(page, nameOf = shown) {
  const isPage = (path) => path.endsWith(".md") && existsSync(path);
  return [
    ...linksOf(page)
      .filter((path) => !existsSync(path))
      .map((path) => `${nameOf(page)} links to ${nameOf(path)}, which does not exist`),
    ...anchorsOf(page)
      .filter(({ path, anchor }) => isPage(path) && !headingsOf(path).includes(anchor))
      .map(({ path, anchor }) => `${nameOf(page)} links to ${nameOf(path)}#${anchor}, which is not a heading`),
  ];
}

/** Returns the anchors of a page's headings, in the form of GitHub. */
function headingsOf(page) {
  const text = prose(page);
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
