import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { alone } from "./lib/check.mjs";
import { importsOf, withoutComments } from "./lib/imports.mjs";
import { at, filesBelow, readJson, shown } from "./lib/project.mjs";

const eraWords = /legacy|modern|\b20\d\d-\d\d-\d\d\b/i;
const knowsEras = new Set(["era", "entry"]);
/** Users name eras in an option. Its type and its description may name them, since a union tells what is allowed. */
const eraOption = /^\s*(readonly )?era\??: /;

/**
 * Checks rules for which the linter has none: files that no row of biome-layers.json covers, packages that users do not
 * have, and names of eras. The linter checks the order of layers, cycles and `node:`.
 */
export const layers = {
  name: "layers",
  async run() {
    const { dependencies = {}, peerDependencies = {} } = readJson(at("package.json"));
    return examine(at("src"), new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies)]));
  },
};

export function examine(source, packages) {
  const files = filesBelow(source, ".ts");
  const problems = files.length === 0 ? [`${shown(source)}: no TypeScript files`] : [];
  const rows = readJson(at("biome-layers.json")).overrides.flatMap(({ includes }) => includes);
  for (const file of files) {
    const path = file.slice(source.length + 1).replaceAll("\\", "/");
    const code = readFileSync(file, "utf8");
    const imports = importsOf(code).map((one) => unseen(one, packages));
    const found = [unknown(path, rows), ...imports].filter((problem) => problem !== undefined);
    problems.push(...found.map((problem) => `${shown(file)}: ${problem}`));
    if (!knowsEras.has(path.split("/")[0])) problems.push(...words(file, code));
  }
  return { problems, note: `${files.length} files` };
}

/** A row is for one layer and one depth of folders, since the linter compares relative paths as text. */
function unknown(path, rows) {
  const folders = path.split("/").slice(0, -1);
  const row = ["src", ...folders.map((name, depth) => (depth === 0 ? name : "*")), "*.ts"].join("/");
  return rows.includes(row) ? undefined : `no layer: biome-layers.json has no row for ${row}`;
}

function unseen({ specifier, kind }, packages) {
  if (kind === "inline" && /^\.|^node:/.test(specifier))
    return `takes a type by import("${specifier}"), which the linter does not see: use import type`;
  if (specifier.startsWith("node:")) return undefined;
  if (specifier.startsWith(".")) {
    // The linter treats `./../server` and `../schema/../server` as other folders.
    const isShortest = posix.normalize(specifier) === specifier.replace(/^\.\/(?!\.)/, "");
    return isShortest ? undefined : `imports ${specifier}, which is not the shortest path`;
  }
  const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  return packages.has(name) ? undefined : `imports ${specifier}, which users of the package do not have`;
}

function words(file, code) {
  const found = [];
  for (const [index, text] of withoutComments(code).split("\n").entries()) {
    const word = file.endsWith("options.ts") && eraOption.test(text) ? undefined : text.match(eraWords)?.[0];
    if (word !== undefined) found.push(`${shown(file)}:${index + 1}: "${word}" belongs in src/era or src/entry`);
  }
  return found;
}

await alone(import.meta.url, layers);
