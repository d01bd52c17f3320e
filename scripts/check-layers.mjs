import { posix } from "node:path";
import * as table from "./layers.mjs";
import { alone } from "./lib/check.mjs";
import { cyclesIn, readGraph } from "./lib/graph.mjs";
import { withoutComments } from "./lib/imports.mjs";
import { at, readJson, root } from "./lib/project.mjs";

const eraWords = /legacy|modern|\b20\d\d-\d\d-\d\d\b/i;
/** Users name eras in an option. Its type and its description may name them, since a union tells what is allowed. */
const eraOption = /^\s*(readonly )?era\??: /;

/**
 * Compares the imports of `src` with the table of layers, and looks for packages that users do not have and for names of
 * eras. Looks for cycles of imports in all folders.
 */
export const layers = {
  name: "layers",
  async run() {
    const { dependencies = {}, peerDependencies = {} } = readJson(at("package.json"));
    const packages = new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies)]);
    const graph = readGraph(at("src"));
    const all = readGraph(root, isSource);
    const cycles = cyclesIn(all).map((cycle) => `a cycle of imports: ${cycle.join(" -> ")}`);
    const problems = examine(graph, packages).map((problem) => `src/${problem}`);
    return { problems: [...problems, ...cycles], note: `${graph.size} files, ${all.size} without a cycle` };
  },
};

const isSource = (path) => !/(^|\/)(build|dist|cache|results)\//.test(path);

/** Returns the problems of the modules of a source folder, but for cycles. */
export function examine(graph, packages) {
  const problems = graph.size === 0 ? ["no TypeScript files"] : [];
  for (const [path, { code, imports }] of graph) {
    const layer = layerOf(path);
    if (layer === undefined) problems.push(`${path}: no layer: scripts/layers.mjs has no row for this folder`);
    const found = imports.map((one) => judge(layer, one, packages)).filter((problem) => problem !== undefined);
    problems.push(...found.map((problem) => `${path}: ${problem}`));
    if (!table.knowsEras.includes(layer)) problems.push(...words(path, code));
  }
  return problems;
}

/** Returns the layer of a module: the innermost of its folders that has a row. */
export function layerOf(path) {
  for (let folder = posix.dirname(path); folder !== "."; folder = posix.dirname(folder))
    if (Object.hasOwn(table.layers, folder)) return folder;
  return undefined;
}

function judge(layer, { specifier, kind, target }, packages) {
  if (kind === "inline" && /^\.|^node:/.test(specifier))
    return `takes a type by import("${specifier}"): use import type`;
  if (specifier.startsWith("node:"))
    return table.usesNode.includes(layer) ? undefined : `imports ${specifier}, which only src/node may`;
  if (!specifier.startsWith(".")) {
    const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
    const isBundled = table.bundled[layer]?.includes(name);
    return packages.has(name) || isBundled ? undefined : `imports ${specifier}, which users of the package do not have`;
  }
  if (posix.normalize(specifier) !== specifier.replace(/^\.\/(?!\.)/, ""))
    return `imports ${specifier}, which is not the shortest path`;
  const other = layerOf(target);
  const allowed = table.layers[layer] ?? [];
  if (other === layer || allowed.includes(other) || allowed.includes("*")) return undefined;
  return `imports ${target}, and ${layer} may import ${allowed.join(", ") || "no other layer"}`;
}

function words(path, code) {
  const found = [];
  for (const [index, text] of withoutComments(code).split("\n").entries()) {
    const word = path.endsWith("options.ts") && eraOption.test(text) ? undefined : text.match(eraWords)?.[0];
    if (word !== undefined) found.push(`${path}:${index + 1}: "${word}" belongs in src/era or src/entry`);
  }
  return found;
}

await alone(import.meta.url, layers);
