import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { alone } from "./lib/check.mjs";
import { at, readJson, shown } from "./lib/project.mjs";
import { stagePackage } from "./package.mjs";

/**
 * Bundles a small program per budget (scripts/budgets.json) with the package as users install it; what counts is
 * minified, gzipped and loaded at start. It is gzipped as one file: bundlers differ in how many they make of what is
 * loaded together, and esbuild makes some thirty, with imports between them that are left out here. A budget is what was
 * reached and may not grow unnoticed; the target is where it should go.
 */
export const sizes = {
  name: "sizes",
  async run() {
    const problems = [];
    const notes = [];
    for (const { name, bytes, target, program } of readJson(at("scripts/budgets.json")).sizes) {
      const size = await measure(program.join("\n")).catch((error) => error);
      if (size instanceof Error) problems.push(`${name}: cannot be bundled: ${size.message}`);
      else if (size > bytes) problems.push(`${name}: ${size} bytes, budget ${bytes}`);
      else notes.push(`${name} ${kilo(size)} of ${kilo(bytes)} kB${size > target ? ` (target ${kilo(target)})` : ""}`);
    }
    return { problems, note: notes.join(", ") };
  },
};

function kilo(bytes) {
  return (bytes / 1000).toFixed(1);
}

async function measure(program) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: program, resolveDir: await stagePackage(), sourcefile: "program.js" },
    absWorkingDir: at(),
    bundle: true,
    minify: true,
    splitting: true,
    metafile: true,
    write: false,
    format: "esm",
    platform: "neutral",
    target: "es2022",
    external: ["node:*", ...Object.keys(readJson(at("package.json")).peerDependencies ?? {})],
    outdir: "build/sizes",
    logLevel: "silent",
  });
  const loaded = loadedAtStart(metafile.outputs);
  const parts = outputFiles.filter((file) => loaded.has(shown(file.path)));
  return gzipSync(parts.map(({ text }) => text.replace(BETWEEN_FILES, "")).join("\n"), { level: 9 }).length;
}

/** What a file takes from the others, and gives to them. */
const BETWEEN_FILES = /import\{[^{}]*\}from"\.\/chunk-\w+\.js";|export\{[^{}]*\};\s*$/g;

/** The entry's chunk and those it imports statically: a dynamic import is paid for when it is used. */
function loadedAtStart(outputs) {
  const entry = Object.keys(outputs).find((path) => outputs[path].entryPoint?.endsWith("program.js"));
  if (entry === undefined) throw new Error("the bundle has no entry");
  const loaded = new Set([entry]);
  for (const path of loaded) {
    for (const { path: target, kind } of outputs[path]?.imports ?? []) {
      if (kind === "import-statement" && outputs[target] !== undefined) loaded.add(target);
    }
  }
  return loaded;
}

await alone(import.meta.url, sizes);
