import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { importsOf } from "./imports.mjs";
import { filesBelow } from "./project.mjs";

/**
 * Reads the modules below a folder: a `Map` of each file's path in it, with forward slashes, to `{ code, imports }`. An
 * import is `{ specifier, kind, target }`, of which `target` is the path of another module, or else the specifier.
 */
export function readGraph(folder, isWanted = () => true) {
  const path = (file) => file.slice(folder.length + 1).replaceAll("\\", "/");
  const files = filesBelow(folder, ".ts", ".tsx", ".mjs").filter(
    (file) => !file.endsWith(".d.ts") && isWanted(path(file)),
  );
  return new Map(
    files.map((file) => {
      const code = readFileSync(file, "utf8");
      const imports = importsOf(code).map((one) => ({ ...one, target: targetOf(one.specifier, path(file), folder) }));
      return [path(file), { code, imports }];
    }),
  );
}

function targetOf(specifier, from, folder) {
  if (!specifier.startsWith(".")) return specifier;
  const target = posix.join(posix.dirname(from), specifier);
  const sources = [".ts", ".tsx"].map((ending) => target.replace(/\.js$/, ending));
  return sources.find((source) => existsSync(join(folder, source))) ?? target;
}

/** Returns all that a module loads by static imports, itself included, each with the chain of imports that leads there. */
export function loadedBy(graph, start) {
  const chains = new Map([[start, [start]]]);
  for (const [name, chain] of chains) {
    for (const { kind, target } of graph.get(name)?.imports ?? [])
      if (kind === "static" && !chains.has(target)) chains.set(target, [...chain, target]);
  }
  return chains;
}

/** Returns cycles of imports of any kind, each as a chain that ends with its first module. Empty only if there are none. */
export function cyclesIn(graph) {
  const cycles = [];
  const seen = new Set();
  const place = new Map();
  const visit = (name) => {
    if (seen.has(name) || !graph.has(name)) return;
    seen.add(name);
    place.set(name, place.size);
    for (const { target } of graph.get(name).imports) {
      if (place.has(target)) cycles.push([...[...place.keys()].slice(place.get(target)), target]);
      else visit(target);
    }
    place.delete(name);
  };
  for (const name of graph.keys()) visit(name);
  return cycles;
}
