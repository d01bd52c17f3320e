import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { transform } from "esbuild";
import { alone } from "./lib/check.mjs";
import { execNode, execNpm, lines } from "./lib/exec.mjs";
import { blocksOf, linksOf } from "./lib/markdown.mjs";
import { withTarball } from "./lib/pack.mjs";
import { at, filesBelow, packageEntries, readJson } from "./lib/project.mjs";

/** Packages that the README's programs use beside this one, and the optional peers of its entries. */
const companions = ["zod", ...Object.keys(readJson(at("package.json")).peerDependencies ?? {})];

/** Installs the packed package in an empty folder without network, imports each entry and runs the README's programs. */
export const pack = {
  name: "pack",
  run: () =>
    withTarball(async ({ folder, tarball, files, size }) => {
      const home = join(folder, "home");
      mkdirSync(home);
      writeFileSync(join(home, "package.json"), JSON.stringify({ name: "home", private: true, type: "module" }));
      const options = ["--offline", "--no-audit", "--no-fund", "--no-package-lock"];
      const installed = await execNpm(["install", ...options, tarball], { cwd: home });
      if (installed.code !== 0) return { problems: ["npm install of the tarball failed", ...lines(installed.output)] };
      for (const name of companions)
        cpSync(at("node_modules", name), join(home, "node_modules", name), { recursive: true });
      const problems = [
        ...strays(files),
        ...deadLinks(join(home, "node_modules/bowline")),
        ...(await importAll(home)),
        ...(await traceError(home)),
        ...(await runReadme(home)),
      ];
      return { problems, note: `${files.length} files, ${(size / 1000).toFixed(0)} kB` };
    }),
};

function strays(files) {
  const welcome =
    /^(dist\/.+\.(js|js\.map|d\.ts)|docs\/.+\.(md|svg|png)|(README|CHANGELOG)\.md|LICENSE|package\.json)$/;
  return files.filter((path) => !welcome.test(path)).map((path) => `the tarball holds ${path}`);
}

function deadLinks(folder) {
  const dead = (page) => linksOf(page).filter((path) => !existsSync(path));
  const name = (path) => relative(folder, path);
  return filesBelow(folder, ".md").flatMap((page) => dead(page).map((path) => `${name(page)} links to ${name(path)}`));
}

/** Every entry exports something, and has the same error classes as the others. */
async function importAll(home) {
  const program = `
    const classes = new Map();
    for (const name of ${JSON.stringify(packageEntries().map(({ specifier }) => specifier))}) {
      const values = Object.entries(await import(name));
      if (values.length === 0) throw new Error(name + " exports nothing");
      for (const [key, value] of values.filter(([, value]) => Object.prototype.isPrototypeOf.call(Error, value))) {
        if ((classes.get(key) ?? value) !== value) throw new Error(name + " has a " + key + " of its own");
        classes.set(key, value);
      }
    }
    if (classes.size === 0) throw new Error("no entry exports an error class");`;
  const { code, output } = await runProgram(home, "import-all.js", program);
  return code === 0 ? [] : ["importing every entry from the tarball failed", ...lines(output)];
}

/** The stack of an error that the package throws names lines of TypeScript when node is asked for them. */
async function traceError(home) {
  const program = `
    import { McpServer } from "bowline/server";
    try {
      new McpServer({ name: "a", version: "1" }).tool("b", { unknown: true }, () => "c");
    } catch (error) {
      console.log(error.stack);
    }`;
  const { output } = await runProgram(home, "trace-error.js", program, ["--enable-source-maps"]);
  return /bowline\/src\/.+\.ts:\d+/.test(output) ? [] : ["a stack names no TypeScript", ...lines(output)];
}

function runProgram(home, name, program, flags = []) {
  writeFileSync(join(home, name), program);
  return execNode([...flags, name], { cwd: home, timeoutMs: 20_000 });
}

/** The README names its programs by a first line `// server.ts` and `// client.ts`; the client starts the server. */
async function runReadme(home) {
  if (!existsSync(at("README.md"))) return ["README.md does not exist"];
  const programs = new Map();
  for (const { code } of blocksOf(at("README.md"))) {
    const name = code.match(/^\/\/ ([\w-]+)\.ts\b/)?.[1];
    if (name !== undefined && !programs.has(name)) programs.set(name, code);
  }
  const missing = ["server", "client"].filter((name) => !programs.has(name));
  if (missing.length > 0) return missing.map((name) => `README.md: no block begins with // ${name}.ts`);
  for (const [name, code] of programs) {
    const { code: script } = await transform(code, { loader: "ts", format: "esm", target: "node20" });
    writeFileSync(join(home, `${name}.js`), script);
  }
  const { code, output } = await execNode(["client.js"], { cwd: home, timeoutMs: 20_000 });
  if (code !== 0) return ["the README's client.ts failed", ...lines(output)];
  return readFileSync(at("README.md"), "utf8").includes("npm install bowline")
    ? []
    : ["README.md: no npm install line"];
}

await alone(import.meta.url, pack);
