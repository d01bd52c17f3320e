import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { transform } from "esbuild";
import { alone } from "./lib/check.mjs";
import { execNode, execNpm, lines } from "./lib/exec.mjs";
import { anchorsOf, blocksOf, fileNameOf, headingsOf, linksOf, outputAfter } from "./lib/markdown.mjs";
import { withTarball } from "./lib/pack.mjs";
import { at, filesBelow, packageEntries, readJson, shown } from "./lib/project.mjs";

/** Packages that programs of the pages use besides this one, and the optional peers of its entries. */
const companions = ["zod", ...Object.keys(readJson(at("package.json")).peerDependencies ?? {})];

/** Maximum size of the tarball. A larger one is a mistake. */
const MAX_BYTES = 1_500_000;

/** Installs the packed package in an empty folder without network, imports each entry and runs programs of the pages. */
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
        ...missing(files, join(home, "node_modules/bowline")),
        ...(size > MAX_BYTES ? [`the tarball has ${size} bytes, more than ${MAX_BYTES}`] : []),
        ...deadLinks(join(home, "node_modules/bowline")),
        ...(await importAll(home)),
        ...(await traceError(home)),
        ...(await runPages(home)),
      ];
      return { problems, note: `${files.length} files, ${(size / 1000).toFixed(0)} kB` };
    }),
};

function strays(files) {
  const welcome =
    /^(dist\/.+\.(js|js\.map|d\.ts)|docs\/.+\.(md|svg)|(README|CHANGELOG|SECURITY)\.md|llms\.txt|LICENSE|package\.json)$/;
  return files
    .filter((path) => !welcome.test(path))
    .map((path) => `the tarball contains ${path}, which scripts/check-pack.mjs does not expect`);
}

/** The package contains its documentation and names the repository. */
function missing(files, folder) {
  const pages = [
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "llms.txt",
    "LICENSE",
    ...filesBelow(at("docs"), ".md").map(shown),
  ];
  const manifest = readJson(join(folder, "package.json"));
  return [
    ...pages.filter((page) => !files.includes(page)).map((page) => `the tarball lacks ${page}`),
    ...["repository", "homepage", "bugs", "license"]
      .filter((member) => manifest[member] === undefined)
      .map((member) => `package.json of the tarball lacks ${member}`),
  ];
}

function deadLinks(folder) {
  const name = (path) => relative(folder, path);
  return filesBelow(folder, ".md", "llms.txt").flatMap((page) => [
    ...linksOf(page)
      .filter((path) => !existsSync(path))
      .map((path) => `${name(page)} links to ${name(path)}, which the package lacks`),
    ...anchorsOf(page)
      .filter(({ path, anchor }) => path.endsWith(".md") && existsSync(path) && !headingsOf(path).includes(anchor))
      .map(({ path, anchor }) => `${name(page)} links to ${name(path)}#${anchor}, which is not a heading`),
  ]);
}

/** Checks that each entry exports something, and that all entries share their error classes. */
async function importAll(home) {
  const program = `
    const classes = new Map();
    for (const name of ${JSON.stringify(packageEntries().map(({ specifier }) => specifier))}) {
      const values = Object.entries(await import(name));
      if (values.length === 0) throw new Error(name + " exports nothing");
      for (const [key, value] of values.filter(([, value]) => Object.prototype.isPrototypeOf.call(Error, value))) {
        if ((classes.get(key) ?? value) !== value) throw new Error(name + " does not share the class " + key + " with the other entries");
        classes.set(key, value);
      }
    }
    if (classes.size === 0) throw new Error("no entry exports an error class");`;
  const { code, output } = await runProgram(home, "import-all.js", program);
  return code === 0 ? [] : ["importing every entry from the tarball failed", ...lines(output)];
}

/** Checks that the stack of an error names lines of TypeScript if Node runs with `--enable-source-maps`. */
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

/** Runs programs of the pages that a newcomer reads first. */
async function runPages(home) {
  if (!readFileSync(at("README.md"), "utf8").includes("npm install bowline")) return ["README.md: no npm install line"];
  const readme = await writePrograms(home, "README.md", ["server.ts", "client.ts"]);
  const hosts = await writePrograms(home, "docs/hosts.md", ["agent.ts"]);
  const authorization = await writePrograms(home, "docs/authorization.md", ["local.ts"]);
  const cluster = await writePrograms(home, "docs/cluster.md", ["cluster.ts"]);
  const skills = await writePrograms(home, "docs/skills.md", ["skills.ts"]);
  const tutorial = await writePrograms(home, "docs/tutorial.md", ["try.ts", "notes.test.ts"]);
  return [
    ...readme.problems,
    ...tutorial.problems,
    ...hosts.problems,
    ...authorization.problems,
    ...skills.problems,
    ...cluster.problems,
    ...(await runPage(readme, "client.ts")),
    ...(await runPage(tutorial, "try.ts")),
    ...(await runPage(hosts, "agent.ts")),
    ...(await runPage(authorization, "local.ts")),
    ...(await runPage(skills, "skills.ts")),
    ...(await runPage(cluster, "cluster.ts")),
    ...(await runPage(tutorial, "notes.test.ts", ["--test"])),
  ];
}

/**
 * Writes the blocks of a page that begin with `// name.ts` to a new folder. They are written as JavaScript, since Node 20
 * does not run TypeScript.
 */
async function writePrograms(home, page, needed) {
  const folder = join(home, page.replaceAll(/\W/g, "-"));
  mkdirSync(folder);
  const programs = new Map(blocksOf(at(page)).map(({ code }) => [fileNameOf(code), code]));
  programs.delete(undefined);
  for (const [name, code] of programs) {
    const { code: script } = await transform(code, { loader: "ts", format: "esm", target: "node20" });
    writeFileSync(join(folder, toScript(name)), script.replaceAll('.ts"', '.js"'));
  }
  const missing = needed.filter((name) => !programs.has(name));
  return { page, folder, programs, problems: missing.map((name) => `${page}: no block begins with // ${name}`) };
}

const toScript = (name) => name.replace(/\.ts$/, ".js");

/** Runs a program of a page. The first block without a language after it is the expected output. */
async function runPage({ page, folder, programs }, name, flags = []) {
  const { code, stdout, output } = await execNode([...flags, toScript(name)], { cwd: folder, timeoutMs: 20_000 });
  if (code !== 0) return [`${page}: ${name} failed`, ...lines(output)];
  const wanted = outputAfter(at(page), programs.get(name));
  if (flags.length > 0 || wanted === undefined || wanted === stdout) return [];
  return [`${page}: ${name} printed something else:`, ...lines(stdout)];
}

await alone(import.meta.url, pack);
