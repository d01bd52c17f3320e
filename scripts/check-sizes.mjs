import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { alone } from "./lib/check.mjs";
import { at, readJson } from "./lib/project.mjs";
import { startSize } from "./lib/start-size.mjs";
import { stagePackage } from "./package.mjs";
import { bundlePage } from "./page.mjs";

/**
 * Bundles a small program per budget of `scripts/budgets.json` with the package as users install it. Counts the code
 * that is loaded at start, minified and gzipped. The page of the inspector has a budget for each file.
 */
export const sizes = {
  name: "sizes",
  async run() {
    const problems = [];
    const notes = [];
    for (const { name, bytes, program } of readJson(at("scripts/budgets.json")).sizes) {
      const size = await measure(program.join("\n")).catch((error) => error);
      if (size instanceof Error) problems.push(`${name}: cannot be bundled: ${size.message}`);
      else if (size > bytes) problems.push(`${name}: ${size} bytes, budget ${bytes}`);
      else notes.push(`${name} ${kilo(size)} of ${kilo(bytes)} kB`);
    }
    const page = await bundlePage();
    for (const [file, bytes] of Object.entries(readJson(at("scripts/budgets.json")).page)) {
      const size = gzipSync(page[file], { level: 9 }).length;
      if (size > bytes) problems.push(`the page's ${file}: ${size} bytes, budget ${bytes}`);
      else notes.push(`${file} ${kilo(size)} of ${kilo(bytes)} kB`);
    }
    return { problems, note: notes.join(", ") };
  },
};

function kilo(bytes) {
  return (bytes / 1000).toFixed(1);
}

async function measure(program) {
  const bundle = await build({
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
  return startSize(bundle, ({ entryPoint }) => entryPoint?.endsWith("program.js"));
}

await alone(import.meta.url, sizes);
