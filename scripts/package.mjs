import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { bundle } from "./lib/bundle.mjs";
import { at, filesBelow, packageEntries, readJson, root, shown } from "./lib/project.mjs";

/** The package as users install it, made of the built tree: `npm publish` works on this folder. */
export const staged = at("build/package");

let made;

/** Makes the package anew, once per process, and gives its folder. */
export function stagePackage() {
  made ??= stage();
  return made;
}

async function stage() {
  rmSync(staged, { recursive: true, force: true });
  for (const name of ["README.md", "LICENSE", "CHANGELOG.md"]) put(at(name), copyFileSync);
  for (const file of filesBelow(at("dist"), ".d.ts")) put(file, copyFileSync);
  for (const file of filesBelow(at("dist"), ".js")) put(file, copyWithoutMap);
  await bundle(join(staged, "bundled"));
  writeFileSync(join(staged, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
  return staged;
}

function put(file, copy) {
  const target = join(staged, relative(root, file));
  mkdirSync(dirname(target), { recursive: true });
  copy(file, target);
}

/** The maps hold the source once more; what tsc writes is readable as it is. */
function copyWithoutMap(from, to) {
  writeFileSync(to, readFileSync(from, "utf8").replace(/^\/\/# sourceMappingURL=.*\n?/m, ""));
}

function manifest() {
  const { private: _, scripts, workspaces, imports, devDependencies, ...kept } = readJson(at("package.json"));
  return { ...kept, exports: { ...kept.exports, ...Object.fromEntries(packageEntries().map(target)) } };
}

/**
 * Runtimes that resolve as node does load the few bundled files, since each file costs them time; bundlers, which all know
 * `module`, and everybody else get the files one by one, since they leave out whole files better than parts of them.
 */
function target({ subpath, types, code }) {
  const [single, bundled] = [`./${shown(code)}`, `./bundled/${basename(code)}`];
  return [subpath, { types: `./${shown(types)}`, module: single, node: bundled, default: single }];
}

if (process.argv[1] === import.meta.filename) console.log(shown(await stagePackage()));
