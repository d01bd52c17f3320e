import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { build } from "esbuild";
import { packageEntries, readJson, root, shown } from "./project.mjs";

const peers = Object.keys(readJson(resolve(root, "package.json")).peerDependencies ?? {});

/**
 * Bundles the built entries into a folder, in few files: one per entry, one of what several of them need, one per side
 * (server, client), and one for each thing that is loaded on demand. Each built file is in exactly one of them, so that
 * there is one class of each name however many entries a process imports.
 *
 * esbuild puts files together that the same entry points reach. By itself that makes some ninety files; here each entry
 * point is made to reach whole groups, by imports that are added while it is read.
 */
export async function bundle(outdir) {
  const entryPoints = Object.fromEntries(packageEntries().map(({ code }) => [basename(code, ".js"), shown(code)]));
  const options = {
    absWorkingDir: root,
    entryPoints,
    outdir,
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    metafile: true,
    format: "esm",
    platform: "neutral",
    target: "es2022",
    charset: "utf8",
    external: ["node:*", ...peers],
  };
  const entries = Object.values(entryPoints);
  const { inputs } = (await build({ ...options, write: false })).metafile;
  const starts = startsOf(inputs, entries);
  const groups = groupsOf(inputs, entries, starts);
  const names = new Map([...starts].map(([start, files]) => [start, groupsFor(inputs, groups, files)]));
  const plugin = whole(groups, names);
  const { outputs } = (await build({ ...options, plugins: [plugin] })).metafile;
  for (const [path, { entryPoint }] of Object.entries(outputs)) {
    if (!entries.includes(entryPoint)) continue;
    const [now, before] = [outsideOf(outputs, path), outsideOf(inputs, entryPoint)];
    if (now !== before) throw new Error(`${path} loads ${now || "nothing"} from outside, ${entryPoint} ${before}`);
  }
}

/** What a file, and all it imports at once, needs from elsewhere: node's own modules and peers. */
function outsideOf(files, start) {
  const reached = [...reach(files, start, isStatic)].flatMap((file) => files[file].imports);
  const outside = reached.filter((one) => one.external && isStatic(one)).map(({ path }) => path);
  return [...new Set(outside)].sort().join(", ");
}

/**
 * Files by the side that needs them, `shared` for those of several. What nobody loads at start but several load on demand
 * is there too: it is small, and a file of its own costs more than it. In none is what is loaded on demand for one thing
 * alone, and what needs something from elsewhere: others in its group would need it too, and a peer may not be there.
 */
function groupsOf(inputs, entries, starts) {
  const atStart = new Set(entries.flatMap((entry) => [...starts.get(entry)]));
  const needs = entries.map((entry) => ({ side: sideOf(entry), files: reach(inputs, entry) }));
  const groups = new Map();
  for (const file of Object.keys(inputs)) {
    if (entries.includes(file) || outsideOf(inputs, file) !== "") continue;
    const isShared = !starts.has(file) && [...starts.values()].filter((files) => files.has(file)).length > 1;
    if (!atStart.has(file) && !isShared) continue;
    const sides = new Set(needs.filter(({ files }) => files.has(file)).map(({ side }) => side));
    const name = sides.size > 1 ? "shared" : [...sides][0];
    groups.set(name, [...(groups.get(name) ?? []), file]);
  }
  return groups;
}

/** The server's entries are one side: who imports one of them on node may well load the other. */
const sideOf = (entry) => basename(entry, ".js").replace("-modern", "");

/** Everything that loading can begin with, and what it reaches at once. */
function startsOf(inputs, entries) {
  const imports = Object.values(inputs).flatMap((input) => input.imports);
  const onDemand = imports.filter((one) => !isStatic(one) && !one.external).map(({ path }) => path);
  return new Map([...entries, ...onDemand].map((start) => [start, reach(inputs, start, isStatic)]));
}

const isStatic = ({ kind }) => kind === "import-statement";

function reach(inputs, start, follows = () => true) {
  const found = new Set([start]);
  for (const file of found) {
    for (const one of inputs[file].imports) if (!one.external && follows(one)) found.add(one.path);
  }
  return found;
}

/** The names of the groups that a start needs: all of `shared`, and any other when it, or such a group, needs some of it. */
function groupsFor(inputs, groups, files) {
  const needed = new Set(files);
  const names = new Set();
  for (let before = -1; before < names.size; ) {
    before = names.size;
    for (const [name, members] of groups) {
      if (names.has(name) || (name !== "shared" && !members.some((file) => needed.has(file)))) continue;
      names.add(name);
      for (const member of members) for (const file of reach(inputs, member, isStatic)) needed.add(file);
    }
  }
  return names;
}

/** Makes every start import its groups. */
function whole(groups, names) {
  return {
    name: "whole-groups",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^group:/ }, ({ path }) => ({ path: path.slice("group:".length), namespace: "group" }));
      // An import that is there for the grouping alone counts only where files may have side effects.
      onResolve({ filter: /^\.{1,2}\// }, ({ path, resolveDir }) => ({
        path: resolve(resolveDir, path),
        sideEffects: true,
      }));
      onLoad({ filter: /./, namespace: "group" }, ({ path }) => ({
        contents: groups.get(path).map(importing).join(""),
        resolveDir: root,
      }));
      onLoad({ filter: /\.js$/, namespace: "file" }, ({ path }) => {
        const needed = names.get(shown(path));
        if (needed === undefined) return undefined;
        return {
          contents: [...needed].map((name) => `import "group:${name}";\n`).join("") + readFileSync(path, "utf8"),
        };
      });
    },
  };
}

const importing = (file) => `import "./${file}";\n`;
