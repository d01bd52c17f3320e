import { relative } from "node:path";
import { layerOf } from "./check-layers.mjs";
import * as table from "./layers.mjs";
import { alone } from "./lib/check.mjs";
import { loadedBy, readGraph } from "./lib/graph.mjs";
import { at, packageEntries } from "./lib/project.mjs";

/** Compares what each entry of the package, and each late part, loads by static imports with the tables of `layers.mjs`. */
export const bleed = {
  name: "bleed",
  async run() {
    const graph = readGraph(at("src"));
    const sourceOf = (code) => relative(at("dist"), code).replaceAll("\\", "/").replace(/\.js$/, ".ts");
    const files = packageEntries().flatMap(({ subpath, code, browser }) => [
      { subpath, name: subpath, file: sourceOf(code) },
      ...(browser === undefined ? [] : [{ subpath, name: `${subpath} (browser)`, file: sourceOf(browser) }]),
    ]);
    const problems = [];
    const notes = [];
    for (const { subpath, name, file } of files) {
      if (table.entries[subpath] === undefined) problems.push(`${name}: no row in scripts/layers.mjs`);
      else if (!graph.has(file)) problems.push(`${name}: src/${file} does not exist`);
      else {
        const loaded = loadedBy(graph, file);
        notes.push(`${name} ${loaded.size}`);
        problems.push(...overloads(loaded, table.entries[subpath]).map((problem) => `${name} ${problem}`));
      }
    }
    for (const [name, row] of Object.entries(table.late)) {
      const file = `${name}.ts`;
      if (graph.has(file))
        problems.push(...overloads(loadedBy(graph, file), row).map((problem) => `${name} ${problem}`));
      else problems.push(`${name}: scripts/layers.mjs has a row for no module`);
    }
    for (const subpath of Object.keys(table.entries))
      if (!files.some((one) => one.subpath === subpath))
        problems.push(`${subpath}: scripts/layers.mjs has a row for no entry`);
    return { problems, note: `files loaded: ${notes.join(", ")}` };
  },
};

/** Returns a line for each module that a row of the table of entries does not let an entry load. */
export function overloads(loaded, row) {
  const forbidden = row.filter((name) => name.startsWith("!")).map((name) => name.slice(1));
  const named = ["entry", ...row.filter((name) => !name.startsWith("!"))];
  const layers = new Set(named.filter((name) => Object.hasOwn(table.layers, name)));
  for (const layer of layers) if (layer !== "entry") for (const other of table.layers[layer]) layers.add(other);
  const others = named.filter((name) => !layers.has(name));
  const isAllowed = (name) => layers.has(layerOf(name)) || others.some((part) => begins(name, part));
  return [...loaded]
    .filter(([name]) => !isAllowed(name) || forbidden.some((part) => begins(name, part)))
    .map(([name, chain]) => `must not load ${name}: ${chain.join(" -> ")}`);
}

const begins = (name, part) =>
  name === part || name === `${part}.ts` || name.startsWith(part.endsWith(":") ? part : `${part}/`);

await alone(import.meta.url, bleed);
