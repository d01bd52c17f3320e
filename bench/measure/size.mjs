import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { execNpm } from "../../scripts/lib/exec.mjs";
import { at, readJson, shown } from "../../scripts/lib/project.mjs";
import { startSize } from "../../scripts/lib/start-size.mjs";
import { stagePackage } from "../../scripts/package.mjs";
import { peers, programOf } from "../adapters/peers.mjs";
import { round } from "../lib/stats.mjs";

/**
 * Measures what a user loads and installs: `{ budgets, bundles, installed }`. Bundles are minified and gzipped, in
 * units of 1000 bytes. Only code that is loaded at start counts.
 */
export async function measureSize() {
  return { budgets: await budgetSizes(), bundles: await bundleSizes(), installed: await installedSizes() };
}

/** Returns the sizes of the programs in `scripts/budgets.json`. */
async function budgetSizes() {
  const result = {};
  for (const { name, program } of readJson(at("scripts/budgets.json")).sizes) {
    result[name] = await bundleSize({
      stdin: { contents: program.join("\n"), resolveDir: at("bench"), sourcefile: "program.js" },
    });
  }
  return result;
}

/** Bundles one small program per peer and kind, with zod and without it. */
async function bundleSizes() {
  const result = {};
  for (const kind of ["http", "stdio", "client"]) {
    result[kind] = {};
    for (const peer of Object.keys(peers)) {
      const program = programOf(peer, kind);
      if (program === undefined || peer === "bare") continue;
      const external = peers[peer].unresolved ?? [];
      result[kind][peer] = {
        kb: await bundleSize({ entryPoints: [program], external }),
        kbWithoutZod: await bundleSize({ entryPoints: [program], external: [...external, "zod", "zod/*"] }),
      };
    }
  }
  return result;
}

async function bundleSize({ external = [], ...input }) {
  const optional = Object.keys(readJson(at("package.json")).peerDependencies);
  const bundle = await build({
    ...input,
    absWorkingDir: at(),
    bundle: true,
    minify: true,
    splitting: true,
    metafile: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "es2022",
    external: [...external, ...optional],
    outdir: "build/bench",
    logLevel: "silent",
  });
  const program = input.entryPoints?.map(shown)[0] ?? "bench/program.js";
  return round(startSize(bundle, ({ entryPoint }) => entryPoint === program) / 1000, 4);
}

/** Returns packages and bytes of an installation, according to the lock file. */
async function installedSizes() {
  const lock = readJson(at("bench/package-lock.json")).packages;
  const own = await packedSize();
  const result = {};
  for (const side of ["server", "client"]) {
    result[side] = {};
    for (const [peer, { packages }] of Object.entries(peers)) {
      if (packages?.[side] === undefined) continue;
      const sizes = [...closureOf(lock, packages[side])].map((path) => folderSize(at("bench", path)));
      if (packages[side].includes("bowline")) sizes.push(own);
      result[side][peer] = { packages: sizes.length, mb: round(sizes.reduce((sum, size) => sum + size, 0) / 1e6) };
    }
  }
  return result;
}

async function packedSize() {
  const { stdout } = await execNpm(["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: await stagePackage() });
  return JSON.parse(stdout)[0].unpackedSize;
}

/** Returns the lock file's entries of some packages and all their dependencies, resolved as Node does. */
function closureOf(lock, names) {
  const found = new Set();
  const visit = (name, from) => {
    const path = resolve(lock, name, from);
    if (path === undefined || found.has(path)) return;
    found.add(path);
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta = {} } = lock[path];
    for (const need of Object.keys({ ...dependencies, ...optionalDependencies })) visit(need, path);
    for (const need of Object.keys(peerDependencies ?? {}))
      if (!peerDependenciesMeta[need]?.optional) visit(need, path);
  };
  for (const name of names) visit(name, "");
  return found;
}

function resolve(lock, name, from) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const path = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (lock[path] !== undefined) return existsSync(at("bench", path)) ? path : undefined;
    if (folder === "") return undefined;
  }
}

/** Returns the size of a folder without the packages inside of it, which count for themselves. */
function folderSize(folder) {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === "node_modules") continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += folderSize(path);
    else if (entry.isFile()) bytes += statSync(path).size;
  }
  return bytes;
}
