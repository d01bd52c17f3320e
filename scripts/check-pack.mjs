import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { transform } from "esbuild";
import { alone } from "./lib/check.mjs";
import { execNode, execNpm, lines } from "./lib/exec.mjs";
import { blocksOf } from "./lib/markdown.mjs";
import { withTarball } from "./lib/pack.mjs";
import { at, packageEntries, readJson } from "./lib/project.mjs";

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
      const problems = [...strays(files), ...(await importAll(home)), ...(await runReadme(home))];
      return { problems, note: `${files.length} files, ${(size / 1000).toFixed(0)} kB` };
    }),
};

function strays(files) {
  const welcome = /^(dist\/.+\.(js|d\.ts)|bundled\/[\w-]+\.js|package\.json|README\.md|LICENSE|CHANGELOG\.md)$/;
  return files.filter((path) => !welcome.test(path)).map((path) => `the tarball holds ${path}`);
}

/** Every entry exports something, comes from the bundled files, and has the same error classes as the others. */
async function importAll(home) {
  const program = `
    const classes = new Map();
    for (const name of ${JSON.stringify(packageEntries().map(({ specifier }) => specifier))}) {
      if (!import.meta.resolve(name).includes("/bundled/")) throw new Error(name + " is not loaded from bundled/");
      const values = Object.entries(await import(name));
      if (values.length === 0) throw new Error(name + " exports nothing");
      for (const [key, value] of values.filter(([, value]) => Object.prototype.isPrototypeOf.call(Error, value))) {
        if ((classes.get(key) ?? value) !== value) throw new Error(name + " has a " + key + " of its own");
        classes.set(key, value);
      }
    }
    if (classes.size === 0) throw new Error("no entry exports an error class");`;
  writeFileSync(join(home, "import-all.js"), program);
  const { code, output } = await execNode(["import-all.js"], { cwd: home, timeoutMs: 20_000 });
  return code === 0 ? [] : ["importing every entry from the tarball failed", ...lines(output)];
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
