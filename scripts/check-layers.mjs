import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { alone } from "./lib/check.mjs";
import { importsOf, withoutComments } from "./lib/imports.mjs";
import { at, filesBelow, readJson, shown } from "./lib/project.mjs";

const wire = ["protocol", "call", "schema"];
const below = [...wire, "http", "store", "era"];
const both = [...below, "server", "client"];

/** Which layers a layer may import, besides itself. A folder that is not named here is a problem. */
const arrows = {
  protocol: [],
  call: ["protocol"],
  schema: ["protocol", "call"],
  http: wire,
  store: wire,
  era: [...wire, "http", "store"],
  server: below,
  client: below,
  auth: ["protocol", "http"],
  otel: both,
  extensions: both,
  node: [...both, "auth"],
  testing: [...both, "node"],
  entry: [...both, "auth", "otel", "extensions", "node", "testing"],
};

const eraWords = /legacy|modern|\b20\d\d-\d\d-\d\d\b/i;
const knowsEras = new Set(["era", "entry"]);

/** The arrows between layers, cycles, `node:` and packages, and the words that only the eras may use. */
export const layers = {
  name: "layers",
  async run() {
    return examine(at("src"), allowedPackages());
  },
};

function allowedPackages() {
  const { dependencies = {}, peerDependencies = {} } = readJson(at("package.json"));
  return new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies)]);
}

export function examine(source, packages) {
  const files = filesBelow(source, ".ts");
  const problems = files.length === 0 ? [`${shown(source)}: no TypeScript files`] : [];
  const graph = new Map();
  for (const file of files) {
    const code = readFileSync(file, "utf8");
    const targets = [];
    for (const { specifier } of importsOf(code)) {
      if (!specifier.startsWith(".")) {
        problems.push(...foreign(source, file, specifier, packages));
        continue;
      }
      const target = join(dirname(file), specifier.replace(/\.js$/, ".ts"));
      if (!existsSync(target)) problems.push(`${shown(file)}: imports ${specifier}, which does not exist`);
      else targets.push(target);
      problems.push(...arrow(source, file, target));
    }
    graph.set(file, targets);
    problems.push(...words(source, file, code));
  }
  problems.push(...cycles(graph));
  return { problems, note: `${files.length} files, ${[...graph.values()].flat().length} imports` };
}

const layerOf = (source, file) => file.slice(source.length + 1).split(/[\\/]/)[0];

function foreign(source, file, specifier, packages) {
  if (specifier.startsWith("node:")) {
    return layerOf(source, file) === "node" ? [] : [`${shown(file)}: imports ${specifier}; only src/node may`];
  }
  const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  return packages.has(name) ? [] : [`${shown(file)}: imports ${specifier}, which users of the package do not have`];
}

function arrow(source, file, target) {
  const from = layerOf(source, file);
  const to = layerOf(source, target);
  if (arrows[from] === undefined)
    return [`${shown(file)}: ${from} is not a layer (scripts/check-layers.mjs lists them)`];
  if (from === to || arrows[from].includes(to)) return [];
  return [`${shown(file)}: ${from} may not import ${to} (${shown(target)})`];
}

function words(source, file, code) {
  if (knowsEras.has(layerOf(source, file))) return [];
  const found = [];
  for (const [index, text] of withoutComments(code).split("\n").entries()) {
    const word = text.match(eraWords)?.[0];
    if (word !== undefined) found.push(`${shown(file)}:${index + 1}: "${word}" belongs in src/era or src/entry`);
  }
  return found;
}

/** One line per import that closes a circle, type imports included. */
function cycles(graph) {
  const found = [];
  const done = new Set();
  const visit = (file, path) => {
    const start = path.indexOf(file);
    if (start !== -1) return void found.push(`cycle: ${[...path.slice(start), file].map(shown).join(" -> ")}`);
    if (done.has(file)) return;
    for (const target of graph.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return found;
}

await alone(import.meta.url, layers);
