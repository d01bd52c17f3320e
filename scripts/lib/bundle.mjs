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
  const plugin = whole(groupsOf(inputs, entries), startsOf(inputs, entries));
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
 * Files by the side that needs them, `shared` for those of several. In none is what nobody loads at start, and what needs
 * something from elsewhere: others in its group would need it too, and a peer may not be there.
 */
function groupsOf(inputs, entries) {
  const atStart = new Set(entries.flatMap((entry) => [...reach(inputs, entry, isStatic)]));
  const needs = entries.map((entry) => ({ side: sideOf(entry), files: reach(inputs, entry) }));
  const groups = new Map();
  for (const file of atStart) {
    if (entries.includes(file) || outsideOf(inputs, file) !== "") continue;
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

/** Makes every start reach all of `shared`, and all of a side's group when it reaches some of it. */
function whole(groups, starts) {
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
        const files = starts.get(shown(path));
        if (files === undefined) return undefined;
        const names = [...groups.keys()].filter(
          (name) => name === "shared" || groups.get(name).some((f) => files.has(f)),
        );
        return { contents: names.map((name) => `import "group:${name}";\n`).join("") + readFileSync(path, "utf8") };
      });
    },
  };
}

const importing = (file) => `import "./${file}";\n`;
