import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { COPIES } from "./lib/bundle.mjs";
import { alone } from "./lib/check.mjs";
import { execNode, execNpm, lines } from "./lib/exec.mjs";
import { deadLinks } from "./lib/markdown.mjs";
import { withTarball } from "./lib/pack.mjs";
import { at, filesBelow, packageEntries, readJson, shown } from "./lib/project.mjs";

/** The optional peers of the entries. */
const companions = Object.keys(readJson(at("package.json")).peerDependencies);

/**
 * Maximum size of the tarball: that of the SDK, 190 kB for the command with all its parts, and 100 kB for the page of the
 * inspector. A larger one is a mistake.
 */
const MAX_BYTES = 1_500_000 + 190_000 + 100_000;

/** Maximum size of the command, unpacked, without the page of the inspector, which has its own budgets. */
const MAX_COMMAND_BYTES = 400_000;

/** Installs the packed package in an empty folder without network, and imports each entry. */
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
      const readme = readFileSync(join(home, "node_modules/bowline/README.md"), "utf8");
      const problems = [
        ...strays(files),
        ...(readme.includes("npm install bowline") ? [] : ["README.md: no npm install line"]),
        ...missing(files, join(home, "node_modules/bowline")),
        ...largeCommand(join(home, "node_modules/bowline/dist/cli")),
        ...(size > MAX_BYTES ? [`the tarball has ${size} bytes, more than ${MAX_BYTES}`] : []),
        ...linksIn(join(home, "node_modules/bowline")),
        ...(await importAll(home)),
        ...(await traceError(home)),
        ...(await runCommand(home)),
      ];
      return { problems, note: `${files.length} files, ${(size / 1000).toFixed(0)} kB` };
    }),
};

function strays(files) {
  const welcome =
    /^(dist\/.+\.(js|js\.map|d\.ts)|dist\/cli\/(?:output\.schema\.json|NOTICES\.txt|page\/(?:index\.html|app\.css))|docs\/.+\.(md|svg)|templates\/.+\.(ts|md|json)|(README|CHANGELOG|SECURITY)\.md|llms\.txt|LICENSE|package\.json)$/;
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

function linksIn(folder) {
  return filesBelow(folder, ".md", "llms.txt").flatMap((page) => deadLinks(page, (path) => relative(folder, path)));
}

function largeCommand(folder) {
  const files = filesBelow(folder, "").filter((file) => !file.startsWith(join(folder, "page")));
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
  return bytes > MAX_COMMAND_BYTES ? [`dist/cli has ${bytes} bytes, more than ${MAX_COMMAND_BYTES}`] : [];
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
    import { connect } from "bowline/client";
    await connect({ command: "./no-such-command" }).catch((error) => console.log(error.stack));`;
  const { output } = await runProgram(home, "trace-error.js", program, ["--enable-source-maps"]);
  return /bowline\/src\/.+\.ts:\d+/.test(output) ? [] : ["a stack names no TypeScript", ...lines(output)];
}

/** Checks that `npx bowline` runs in a folder in which the tarball is installed. */
async function runCommand(home) {
  const { code, output } = await execNpm(["exec", "--offline", "--", "bowline", "--help"], { cwd: home });
  if (code !== 0 || !output.includes("Usage: bowline")) return ["npx bowline --help failed", ...lines(output)];
  const told = await execNpm(["exec", "--offline", "--", "bowline", "--version", "--verbose"], { cwd: home });
  return Object.keys(COPIES)
    .filter((name) => !new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ `, "m").test(told.output))
    .map((name) => `bowline --version --verbose does not tell the version of ${name}, of which the command has a copy`);
}

function runProgram(home, name, program, flags = []) {
  writeFileSync(join(home, name), program);
  return execNode([...flags, name], { cwd: home, timeoutMs: 20_000 });
}

await alone(import.meta.url, pack);
