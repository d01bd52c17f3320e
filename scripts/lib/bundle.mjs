import { dirname, isAbsolute, join, relative } from "node:path";
import { rolldown } from "rolldown";
import { reach, reasonsOf } from "./chunks.mjs";
import { at, packageEntries, root } from "./project.mjs";

/**
 * Bundles the sources of the package's entries into a folder, with source maps. Each entry has the path at which tsc
 * writes it, so that `exports` is valid. Each module is in exactly one file, so that classes exist once however many
 * entries a process imports. Other packages are not bundled, but for the copies of the command. Returns why each module is in
 * its file.
 */
export async function bundle(outdir) {
  const graph = new Map();
  const reasons = new Map();
  const bundling = await rolldown({
    cwd: root,
    input: Object.fromEntries(inputs().map((source) => [nameOf(source), source])),
    external: (id, importer) => !id.startsWith(".") && !isAbsolute(id) && !isCopy(id, importer),
    platform: "neutral",
    preserveEntrySignatures: "allow-extension",
    resolve: { extensionAlias: { ".js": [".ts"] } },
    transform: { target: "es2023" },
    plugins: [
      {
        name: "chunks",
        buildEnd() {
          for (const [id, module] of readGraph(this)) graph.set(id, module);
          for (const [id, reason] of reasonsOf(graph)) reasons.set(id, named(reason));
        },
      },
    ],
  });
  const { output } = await bundling.write({
    dir: outdir,
    entryFileNames: "[name].js",
    chunkFileNames: "[name].js",
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ debugName: "chunks", name: (id) => reasons.get(id)?.chunk ?? copyOf(id) }],
    },
    comments: { jsdoc: false },
    minifyInternalExports: false,
    sourcemap: true,
    sourcemapPathTransform: (source, map) => fromPackage(source, map, outdir),
  });
  await bundling.close();
  proveOutside(graph, output);
  return new Map([...reasons].map(([id, reason]) => [nameOf(id), { ...reason, size: graph.get(id).size }]));
}

/** Packages that the command contains, by the module that exports what it uses of each. Their licences allow it. */
export const COPIES = { oauth4webapi: "cli/login/oauth4webapi" };

function isCopy(id, importer) {
  return Object.hasOwn(COPIES, id) && importer !== undefined && nameOf(importer) === COPIES[id];
}

/** Returns the file of a module of a package that the command contains. */
function copyOf(id) {
  const name = Object.keys(COPIES).find((one) => id.replaceAll("\\", "/").includes(`/node_modules/${one}/`));
  return name === undefined ? null : COPIES[name];
}

/** Writes the roots of a reason as paths below `src`. */
function named({ chunk, needs, joined }) {
  const name = (id) => (isAbsolute(id) ? nameOf(id) : id);
  return { chunk: name(chunk), needs: needs.map(name), joined: joined?.map(name) };
}

/** Returns the sources with which loading begins. */
function inputs() {
  const programs = PROGRAMS.map((name) => join(sources, `${name}.ts`));
  const files = packageEntries().flatMap(({ code, browser = [] }) => [code].concat(browser));
  return [...files.map(sourceOf), ...programs];
}

/** Parts with entries of their own, by the name of their folder, with which the names of these entries begin. */
const EXTENSIONS = ["skills", "state", "tasks", "cluster", "postgres", "redis", "sqlite", "cli", "inspect"];
/** Parts of other folders that are loaded with an extension only. */
const WITH_EXTENSIONS = ["era/legacy/server/cluster/", "node/sqlite/"];
/** Programs of processes and threads. They are started by their paths, so that no module imports them. */
const PROGRAMS = ["entry/sqlite-thread", "cli/bin", "cli/runner"];

const sources = at("src");
const sourceOf = (code) => join(sources, relative(at("dist"), code)).replace(/\.js$/, ".ts");
const nameOf = (source) => relative(sources, source).replaceAll("\\", "/").replace(/\.ts$/, "");

/** Returns the path of a source relative to the package's own folder, not to the folder in which it is staged. */
function fromPackage(source, map, outdir) {
  const place = join(at("dist"), relative(outdir, dirname(map)));
  return relative(place, join(dirname(map), source)).replaceAll("\\", "/");
}

/** Returns the modules, sorted, since the order in which they are read differs between runs. */
function readGraph(context) {
  const isOwn = (id) => id.startsWith(sources);
  const ids = [...context.getModuleIds()].filter(isOwn).sort();
  return ids.map((id) => {
    const { importedIds, dynamicallyImportedIds, isEntry, code } = context.getModuleInfo(id);
    const module = {
      imports: importedIds.filter(isOwn),
      late: dynamicallyImportedIds.filter(isOwn),
      outside: importedIds.filter((one) => !isOwn(one)),
      isEntry,
      // Programs without an extension load nothing of it.
      isApart:
        EXTENSIONS.some((name) => /^(?:entry\/)?([^/-]+)/.exec(nameOf(id))?.[1] === name) ||
        WITH_EXTENSIONS.some((folder) => nameOf(id).startsWith(folder)),
      size: code.length,
    };
    return [id, module];
  });
}

/** Throws if an entry loads a package, or a module of Node, that its own modules would not load. */
function proveOutside(graph, output) {
  const files = new Map(output.filter(({ type }) => type === "chunk").map((chunk) => [chunk.fileName, chunk]));
  for (const { isEntry, facadeModuleId, fileName } of files.values()) {
    if (!isEntry) continue;
    const loaded = new Set([fileName]);
    for (const one of loaded) for (const next of files.get(one)?.imports ?? []) loaded.add(next);
    const before = new Set([...reach(graph, facadeModuleId)].flatMap((id) => graph.get(id).outside));
    const more = [...loaded].filter((one) => !files.has(one) && !before.has(one));
    if (more.length > 0) throw new Error(`${fileName} loads ${more.join(", ")}, which its modules do not`);
  }
}
