import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { bundle } from "./lib/bundle.mjs";
import { importsOf } from "./lib/imports.mjs";
import { reduceToLines } from "./lib/line-maps.mjs";
import { withLinks } from "./lib/markdown.mjs";
import { at, filesBelow, packageEntries, readJson, root, shown } from "./lib/project.mjs";

/** Folder of the package as users install it. `npm publish` works on it. */
export const staged = at("build/package");

let made;

/** Builds the package, once per process, and returns its folder. Needs the declarations that `tsc -b` writes. */
export function stagePackage() {
  made ??= stage();
  return made;
}

async function stage() {
  rmSync(staged, { recursive: true, force: true });
  await bundle(join(staged, "dist"));
  reduceToLines(join(staged, "dist"));
  for (const file of declarations()) put(file);
  putPages();
  put(at("package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
  return staged;
}

/** Returns the declarations of the entries and everything that they import. */
function declarations() {
  const found = new Set(packageEntries().map(({ types }) => types));
  for (const file of found) {
    const own = importsOf(readFileSync(file, "utf8")).filter(({ specifier }) => specifier.startsWith("."));
    for (const { specifier } of own) found.add(join(dirname(file), specifier.replace(/\.js$/, ".d.ts")));
  }
  return [...found];
}

/** Adds the pages. Links to files outside of the package are changed to lead to the repository. */
function putPages() {
  const pages = [at("README.md"), at("CHANGELOG.md"), at("SECURITY.md"), ...filesBelow(at("docs"), ".md")];
  const files = [at("LICENSE"), at("llms.txt"), ...filesBelow(at("docs"), ".svg", ".png")];
  const staying = new Set([...pages, ...files]);
  const { homepage } = readJson(at("package.json"));
  const lead = (path, link) => (staying.has(path) ? link : `${homepage}/blob/HEAD/${shown(path)}`);
  for (const file of files) put(file);
  for (const page of pages) put(page, withLinks(page, lead));
}

/** Returns package.json without the members that only the project needs. The entries keep their paths. */
function manifest() {
  const { private: _, scripts, workspaces, imports, devDependencies, ...kept } = readJson(at("package.json"));
  return kept;
}

/** Adds a file of the project to the package at the same path, with its own contents or the given ones. */
function put(file, contents) {
  const target = join(staged, relative(root, file));
  mkdirSync(dirname(target), { recursive: true });
  if (contents === undefined) copyFileSync(file, target);
  else writeFileSync(target, contents);
}

if (process.argv[1] === import.meta.filename) console.log(shown(await stagePackage()));
