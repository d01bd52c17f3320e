import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { exec, execNpm, lines } from "./exec.mjs";
import { at, readJson } from "./project.mjs";

/**
 * What is too heavy for the lockfile, or would get in the way in node_modules: each is fetched once, at an exact version,
 * into a cache beside what uses it. No script of a package runs, and no folder is left half full. All throw with the
 * reason when it cannot be had.
 */

/** A machine without network is told so soon. */
const PATIENCE = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"];

/** Packages and their dependencies are resolved as of this day, so that they do not change under a pinned version. */
const RESOLVED_AS_OF = "2026-11-15";

const { platform, arch } = process;
export const exe = platform === "win32" ? ".exe" : "";

/** Where Node of a version comes from: a package for this platform that holds the program alone. */
export const nodeSource = (version) => ({
  source: `node-${platform === "win32" ? "win" : platform}-${arch}@${version}`,
  file: `bin/node${exe}`,
});

export const fetchNode = (version) => fetchProgram(nodeSource(version));

/** The path of a file in a package; its dependencies are not fetched. */
export async function fetchProgram({ source, file }) {
  const folder = folderOf("runtimes/cache", source);
  const program = join(folder, "package", file);
  if (!existsSync(program)) await fill(folder, (draft) => unpack(source, draft));
  if (!existsSync(program)) throw new Error(`${source} has no ${file}`);
  return program;
}

/** The folder of an installed package `name@version`, with its dependencies beside it. */
export async function fetchPackage(source) {
  const [, name, version] = /^(.+)@(.+)$/.exec(source);
  const folder = folderOf("interop/cache", source);
  const installed = join(folder, "node_modules", name);
  const versionIn = () => existsSync(installed) && readJson(join(installed, "package.json")).version;
  if (versionIn() !== version) await fill(folder, (draft) => install(source, draft));
  if (versionIn() !== version) throw new Error(`${source} was asked for, ${versionIn()} was installed`);
  return installed;
}

const folderOf = (cache, source) => at(cache, source.replace(/\W+/g, "-").replace(/^-/, ""));

async function fill(folder, work) {
  const draft = `${folder}.part`;
  rmSync(draft, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  try {
    await work(draft);
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
