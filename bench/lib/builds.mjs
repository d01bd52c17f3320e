import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { exec, execNode, execTsc } from "../../scripts/lib/exec.mjs";
import { at, shown } from "../../scripts/lib/project.mjs";

const cache = "build/base";

/** Files that a host loads besides the package. Both builds use the same copies. */
const hostParts = ["hosts", "load", "workload", "adapters/bowline"];

/** Returns the commit that a git ref names. */
export async function commitOf(ref) {
  const { code, stdout } = await git("rev-parse", "--verify", "--quiet", `${ref}^{commit}`);
  if (code !== 0) throw new Error(`git knows no commit ${ref}`);
  return stdout.trim();
}

/** Returns the commit of the working tree, and whether the tree differs from it. Where git knows neither, returns nothing. */
export async function workingTree() {
  const { code, stdout: commit } = await git("rev-parse", "--verify", "--quiet", "HEAD");
  if (code !== 0) return {};
  const { stdout: differences } = await git("status", "--porcelain");
  return { commit: commit.trim(), changed: differences.trim() !== "" };
}

const git = (...args) => exec("git", args);

/**
 * Returns the folder of the package of a commit, built on first use. The commit's own script stages it, with the
 * installed dependencies.
 */
export async function basePackage(commit) {
  const folder = at(cache, commit);
  if (existsSync(folder)) return folder;
  mkdirSync(at(cache), { recursive: true });
  const tree = mkdtempSync(at(cache, "tree-"));
  try {
    const staged = await buildTree(tree, commit);
    if (!existsSync(folder)) renameSync(staged, folder); // another run may have built it in the meantime
    return folder;
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

/** Builds a commit in an empty folder and returns the folder of the staged package. */
async function buildTree(tree, commit) {
  const archive = join(tree, "tree.tar");
  await must("git archive", exec("git", ["archive", "--format=tar", `--output=${archive}`, commit]));
  await must("tar", exec("tar", ["-xf", archive, "-C", tree]));
  symlinkSync(at("node_modules"), join(tree, "node_modules"), "junction");
  await must("tsc -b src", execTsc(["-b", "src"], { cwd: tree }));
  const script = join("scripts", "package.mjs");
  if (!existsSync(join(tree, script))) throw new Error(`${commit} has no ${shown(at(script))} to stage its package`);
  await must(shown(at(script)), execNode([script], { cwd: tree }));
  const staged = join(tree, "build/package");
  if (!existsSync(join(staged, "package.json"))) throw new Error(`${shown(at(script))} of ${commit} stages no package`);
  return staged;
}

async function must(name, running) {
  const result = await running;
  if (result.code !== 0) throw new Error(`${name} of the base ends with ${result.code}:\n${result.output.trim()}`);
  return result;
}

/**
 * Makes a folder of hosts per package: `{ name: packageFolder }` as `{ name: hostFolder }`. A host resolves the package
 * by its exports, as a user's program does. The folders are copies, so that staging a package again does not change a
 * run. They are removed when the process exits.
 */
export function makeHostFolders(packages) {
  mkdirSync(at("build"), { recursive: true });
  const parent = mkdtempSync(at("build", "compare-"));
  process.on("exit", () => rmSync(parent, { recursive: true, force: true }));
  return Object.fromEntries(
    Object.entries(packages).map(([name, packageFolder]) => {
      const folder = join(parent, name);
      for (const part of hostParts) cpSync(at("bench", part), join(folder, part), { recursive: true });
      cpSync(packageFolder, join(folder, "node_modules", "bowline"), { recursive: true });
      // Without this manifest, the project's own would be the nearest, and the name would resolve to the working tree's
      // build.
      writeFileSync(join(folder, "package.json"), '{ "name": "bench-hosts", "private": true, "type": "module" }\n');
      return [name, folder];
    }),
  );
}

/** Throws if the URL that a host resolved is not in the package of its folder. */
export function assertOwnPackage(url, folder) {
  const own = pathToFileURL(join(realpathSync(folder), "node_modules", "bowline")).href;
  if (!url.startsWith(`${own}/`)) throw new Error(`the host loads ${url}, which is not in the package to measure`);
}
