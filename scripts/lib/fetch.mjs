import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { exec, execNpm, lines } from "./exec.mjs";
import { at, readJson } from "./project.mjs";

/**
 * Fetches programs and packages that are too large for the lockfile, or would cause conflicts in node_modules. Each is
 * fetched once, at an exact version, into a cache. Scripts of packages do not run, and no folder is left incomplete.
 * All functions throw with the reason if the fetch fails.
 */

/** Options that let a machine without network fail soon. */
const PATIENCE = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"];

/**
 * Packages and their dependencies are resolved as of this day, so that dependencies of a pinned version do not change.
 */
const RESOLVED_AS_OF = "2026-11-15";

const { platform, arch } = process;
export const exe = platform === "win32" ? ".exe" : "";

/** Package for this platform that contains the program of a version of Node. */
export const nodeSource = (version) => ({
  source: `node-${platform === "win32" ? "win" : platform}-${arch}@${version}`,
  file: `bin/node${exe}`,
});

export const fetchNode = (version) => fetchProgram(nodeSource(version));

/** Returns the path of a file in a package. Its dependencies are not fetched. */
export async function fetchProgram({ source, file }) {
  const folder = folderOf("runtimes/cache", source);
  const program = join(folder, "package", file);
  const isThere = () => existsSync(program);
  if (!isThere()) await fill(folder, isThere, (draft) => unpack(source, draft));
  if (!isThere()) throw new Error(`${source} has no ${file}`);
  return program;
}

/** Returns the folder of an installed package `name@version`, with its dependencies beside it. */
export async function fetchPackage(source) {
  const [, name, version] = /^(.+)@(.+)$/.exec(source);
  const folder = folderOf("interop/cache", source);
  const installed = join(folder, "node_modules", name);
  const versionIn = () => existsSync(installed) && readJson(join(installed, "package.json")).version;
  if (versionIn() !== version)
    await fill(
      folder,
      () => versionIn() === version,
      (draft) => install(source, draft),
    );
  if (versionIn() !== version) throw new Error(`npm installed ${versionIn()} instead of ${source}`);
  return installed;
}

const folderOf = (cache, source) => at(cache, source.replace(/\W+/g, "-").replace(/^-/, ""));

/** Fills a folder by a draft. Another process may fill the same folder meanwhile, and its contents are as good. */
export async function fill(folder, isFilled, work) {
  const draft = `${folder}-${process.pid}.part`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  try {
    await work(draft);
    if (isFilled()) return;
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function unpack(source, draft) {
  const packed = await execNpm([
    "pack",
    "--json",
    "--ignore-scripts",
    ...PATIENCE,
    `--pack-destination=${draft}`,
    source,
  ]);
  if (packed.code !== 0) throw new Error(`cannot fetch ${source}: ${reasonIn(packed)}`);
  const [{ filename }] = JSON.parse(packed.stdout);
  const name = filename.replace("@", "").replace("/", "-");
  const { code, stderr } = await exec("tar", ["-xzf", name], { cwd: draft });
  if (code !== 0) throw new Error(`cannot unpack ${source}: ${stderr.trim()}`);
  rmSync(join(draft, name));
}

async function install(source, draft) {
  const quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--no-workspaces", "--ignore-scripts"];
  const pinned = ["--save-exact", `--before=${RESOLVED_AS_OF}`];
  const installed = await execNpm(["install", "--prefix", draft, ...quiet, ...pinned, ...PATIENCE, source], {
    cwd: draft,
  });
  if (installed.code !== 0) throw new Error(`cannot fetch ${source}: ${reasonIn(installed)}`);
}

const reasonIn = ({ stdout, stderr }) => {
  const said = lines(stderr).filter((line) => /^npm error (?!code|errno|syscall)/.test(line));
  return said[0]?.replace("npm error ", "") ?? (stdout.trim() || "npm failed");
};
