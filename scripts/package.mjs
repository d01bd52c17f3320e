import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { bundle } from "./lib/bundle.mjs";
import { importsOf } from "./lib/imports.mjs";
import { withLinks } from "./lib/markdown.mjs";
import { at, filesBelow, packageEntries, readJson, root, shown } from "./lib/project.mjs";

/** The package as users install it: `npm publish` works on this folder. */
export const staged = at("build/package");

let made;

/** Makes the package anew, once per process, and gives its folder. It needs the declarations that `tsc -b` writes. */
export function stagePackage() {
  made ??= stage();
  return made;
}

async function stage() {
  rmSync(staged, { recursive: true, force: true });
  await bundle(join(staged, "dist"));
  for (const file of declarations()) put(file);
  putPages();
  put(at("package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
  return staged;
}

/** The declarations of the entries, and all that these import. */
function declarations() {
  const found = new Set(packageEntries().map(({ types }) => types));
  for (const file of found) {
    const own = importsOf(readFileSync(file, "utf8")).filter(({ specifier }) => specifier.startsWith("."));
    for (const { specifier } of own) found.add(join(dirname(file), specifier.replace(/\.js$/, ".d.ts")));
  }
  return [...found];
}

/** Links in the pages to what the package does not have lead to the repository. */
function putPages() {
  const pages = [at("README.md"), at("CHANGELOG.md"), ...filesBelow(at("docs"), ".md")];
  const guide = existsSync(at("llms.txt")) ? [at("llms.txt")] : [];
  const files = [at("LICENSE"), ...guide, ...filesBelow(at("docs"), ".svg", ".png")];
  const staying = new Set([...pages, ...files]);
  const { homepage } = readJson(at("package.json"));
  const lead = (path, link) => (staying.has(path) ? link : `${homepage}/blob/HEAD/${shown(path)}`);
  for (const file of files) put(file);
  for (const page of pages) put(page, withLinks(page, lead));
}

/** The entries are at the same paths as in the project; what only the project needs is left out. */
function manifest() {
  const { private: _, scripts, workspaces, imports, devDependencies, ...kept } = readJson(at("package.json"));
  return kept;
}

/** Puts a file of the project at the same path of the package, as it is or with other contents. */
function put(file, contents) {
  const target = join(staged, relative(root, file));
  mkdirSync(dirname(target), { recursive: true });
  if (contents === undefined) copyFileSync(file, target);
  else writeFileSync(target, contents);
}

if (process.argv[1] === import.meta.filename) console.log(shown(await stagePackage()));
