import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import resolve from "@rollup/plugin-node-resolve";
import { build as esbuild } from "esbuild";
import { rollup } from "rollup";
import * as vite from "vite";
import webpack from "webpack";
import { alone } from "./lib/check.mjs";
import { at, filesBelow, packageEntries } from "./lib/project.mjs";
import { stagePackage } from "./package.mjs";

const folder = at("build/browsers");

/** Entries that need Node. Pages and workers can use all others. */
const ON_NODE = ["./compat", "./inspect", "./node", "./sqlite"];

/** A page as programs write it, and one that uses all entries. */
const programs = {
  client: `
    import { connect } from "bowline/client";
    const client = await connect(new URL("/mcp", location.href));
    document.title = (await client.callTool("forecast", { city: "Oslo" })).text;`,
  "all entries": packageEntries()
    .filter(({ subpath }) => !ON_NODE.includes(subpath))
    .map(({ specifier }, index) => `import * as part${index} from "${specifier}"; console.log(part${index});`)
    .join("\n"),
};

/** Matches what is left of a module of Node in a bundle: an import, or what bundlers put in its place. */
const REMAINS = /["'`]node:\w+[\w/]*["'`]|__vite-browser-external/;

/** Vite warns of parts that it cannot load on demand, since this program has already loaded them by another entry. */
const LOADED_ALREADY = "INEFFECTIVE_DYNAMIC_IMPORT";

/**
 * Bundlers with their defaults for pages. Each bundles the folder of a program, with the page `index.html` and its
 * `page.js`, into another folder. It returns its warnings, and throws if it cannot bundle.
 */
export const bundlers = {
  async esbuild(source, outdir) {
    const options = { bundle: true, splitting: true, format: "esm", minify: true, logLevel: "silent" };
    const { warnings } = await esbuild({ ...options, entryPoints: [join(source, "page.js")], outdir });
    return warnings.map(({ text }) => text);
  },

  async webpack(source, outdir) {
    // It also warns of programs above 244 kB, which is the size that this check prints.
    const options = { mode: "production", context: source, entry: "./page.js", performance: false };
    const compiler = webpack({ ...options, output: { path: outdir } });
    const stats = await new Promise((done, fail) =>
      compiler.run((error, result) => (error ? fail(error) : done(result))),
    );
    await new Promise((done) => compiler.close(done));
    const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
    if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join("\n"));
    return warnings.map(({ message }) => message);
  },

  async rollup(source, outdir) {
    const warnings = [];
    const bundle = await rollup({
      input: join(source, "page.js"),
      plugins: [resolve({ browser: true })],
      onwarn: ({ message }) => warnings.push(message),
    });
    await bundle.write({ dir: outdir });
    await bundle.close();
    return warnings;
  },

  async vite(source, outdir) {
    const warnings = [];
    const warn = (text) => text.includes(LOADED_ALREADY) || warnings.push(text);
    const logger = { ...vite.createLogger("silent"), warn, warnOnce: warn };
    const settings = { root: source, configFile: false, logLevel: "warn", customLogger: logger };
    await vite.build({ ...settings, build: { outDir: outdir, chunkSizeWarningLimit: Number.POSITIVE_INFINITY } });
    return warnings;
  },
};

/** Sentences of docs/browsers.md with the sizes of the client: what a page loads at start, all its parts, and one file. */
const TOLD = /A minified client has (\d+) kB, gzipped, .* have (\d+) kB\.\s+A bundle of one file has (\d+) kB\./s;

/** Difference to a size that the page tells, so that a small change of the client is no change of the page. */
const TOLERANCE_KB = 1;

/** Compares the sizes that the page tells with those of the client, as esbuild bundles it. */
async function staleSizes(source) {
  const output = { absWorkingDir: at(), outdir: source, write: false, metafile: true };
  const options = { ...output, bundle: true, format: "esm", minify: true, logLevel: "silent" };
  const build = async (splitting) => {
    const bundle = await esbuild({ ...options, splitting, entryPoints: [join(source, "page.js")] });
    return { names: loadedAtStart(bundle.metafile), files: bundle.outputFiles };
  };
  const { names, files } = await build(true);
  const start = files.filter(({ path }) => names.has(relative(at(), path)));
  const measured = [start, files, (await build(false)).files].map((parts) => bytesOf(parts) / 1000);
  const told = TOLD.exec(readFileSync(at("docs/browsers.md"), "utf8"))
    ?.slice(1)
    .map(Number);
  if (told === undefined) return ["docs/browsers.md does not tell the sizes of the client"];
  const isTrue = measured.every((kilobytes, index) => Math.abs(kilobytes - told[index]) <= TOLERANCE_KB);
  const [shown, found] = [told, measured.map((kilobytes) => kilobytes.toFixed(1))].map((sizes) => sizes.join(", "));
  return isTrue
    ? []
    : [`docs/browsers.md tells ${shown} kB (at start, all parts, one file), and a client has ${found} kB`];
}

/** Returns the names of the files that a bundle loads before its program runs. */
function loadedAtStart({ outputs }) {
  const names = new Set(Object.keys(outputs).filter((name) => outputs[name].entryPoint?.endsWith("page.js")));
  for (const name of names)
    for (const { path, kind } of outputs[name].imports) if (kind === "import-statement") names.add(path);
  return names;
}

const bytesOf = (files) => files.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0);

/** Bundles programs for pages from the package as users install it, with each bundler. */
export const browsers = {
  name: "browsers",
  async run() {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(folder, "node_modules"), { recursive: true });
    // A package of its own, since the nearest one resolves its own name to itself.
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "pages", private: true, type: "module" }));
    symlinkSync(await stagePackage(), join(folder, "node_modules/bowline"), "junction");
    const problems = [];
    const notes = [];
    for (const [program, code] of Object.entries(programs)) {
      const source = join(folder, program.replace(" ", "-"));
      mkdirSync(source);
      writeFileSync(join(source, "page.js"), code);
      writeFileSync(join(source, "index.html"), '<!doctype html><script type="module" src="./page.js"></script>');
      for (const [bundler, build] of Object.entries(bundlers)) {
        const outdir = join(source, bundler);
        const told = await build(source, outdir).catch(({ message }) => [message]);
        const files = filesBelow(outdir, ".js");
        problems.push(...[...told, ...faults(files)].map((text) => `${program}: ${bundler}: ${text}`));
        notes.push(`${program} by ${bundler} ${kilo(files)} kB`);
      }
    }
    problems.push(...(await staleSizes(join(folder, "client"))));
    return { problems, note: notes.join(", ") };
  },
};

function faults(files) {
  if (files.length === 0) return ["wrote no bundle"];
  const found = files.map((file) => [relative(folder, file), REMAINS.exec(readFileSync(file, "utf8"))?.[0]]);
  return found.filter(([, rest]) => rest !== undefined).map(([name, rest]) => `${name} contains ${rest}`);
}

/** Returns the size of a whole program, parts that are loaded on demand included, gzipped. */
function kilo(files) {
  return (bytesOf(files.map((file) => ({ contents: readFileSync(file) }))) / 1000).toFixed(1);
}

await alone(import.meta.url, browsers);
