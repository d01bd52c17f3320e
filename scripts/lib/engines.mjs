import { existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { exec, lines } from "./exec.mjs";
import { fetchNode } from "./fetch.mjs";

/**
 * Engines of the tests in test/engines: the program to look for, other folders of programs than those of PATH, the
 * variable with the address of an engine that runs already, and the Debian package.
 */
export const engines = {
  redis: { program: "redis-server", folders: () => [], variable: "REDIS_URL", debian: "redis-server" },
  postgres: { program: "postgres", folders: postgresFolders, variable: "DATABASE_URL", debian: "postgresql" },
  keyring: { program: "secret-tool", folders: () => [], debian: "libsecret-tools gnome-keyring dbus" },
  chromium: { program: "chromium", folders: () => [], variable: "CHROMIUM", debian: "chromium" },
  nginx: { program: "nginx", folders: () => ["/usr/sbin"], debian: "nginx" },
};

/** Versions of Node on which some tests run besides this one. SQLite is a part of Node from version 22.13 on. */
const NEWER_NODES = ["22.23.3", "24.21.0", "26.10.0"];

/** True if a test file runs on the newer versions of Node. */
export const needsNewerNodes = (path) => /test[\\/]engines[\\/](sqlite|node)[\\/]/.test(path);

/** True if a test file needs SQLite, and so cannot run on every Node. */
const needsSqlite = (path) => /test[\\/]engines[\\/]sqlite[\\/]/.test(path);

/** Fetches the newer versions of Node. Returns each with its program, or with the problem of the fetch. */
export function newerNodes({ fetch = fetchNode } = {}) {
  const find = async (version) => {
    try {
      return { version, program: await fetch(version) };
    } catch ({ message }) {
      return { version, problem: `node: not tested on Node ${version}, ${message}` };
    }
  };
  return Promise.all(NEWER_NODES.map(find));
}

/** Returns the runs of a test file: one on this Node, and one on each of the newer ones if it needs them. */
export function runsOf(path, nodes, here = process.versions.node) {
  if (!needsNewerNodes(path)) return [{ path }];
  const found = nodes.filter(({ program }) => program !== undefined);
  const newer = found.map(({ version, program }) => ({ path, program, where: ` (Node ${version})` }));
  const major = (version) => version.split(".")[0];
  const isOther = needsSqlite(path) || found.some(({ version }) => major(version) === major(here));
  return isOther ? newer : [{ path, where: ` (Node ${here})` }, ...newer];
}

/** Debian installs PostgreSQL outside of PATH, in a folder for each version. */
export function postgresFolders(base = "/usr/lib/postgresql") {
  if (!existsSync(base)) return [];
  const versions = readdirSync(base).sort((one, other) => Number(other) - Number(one));
  return versions.map((version) => join(base, version, "bin"));
}

/** Returns the place of an engine: the address in its variable, or else the path of its program. */
export function placeOf({ program, folders, variable }, env = process.env) {
  if (variable !== undefined && env[variable]) return variable;
  return onPath([program], env, folders());
}

/** Returns the path of the first of these programs that is in one of the folders, or in one of PATH. */
export function onPath(programs, env = process.env, folders = []) {
  const named = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const places = programs.flatMap((program) => [...folders, ...named].map((folder) => join(folder, program)));
  return places.find((path) => existsSync(path));
}

/**
 * Returns the names of the engines that a test file needs: those that its path below test/engines contains as words, so
 * that `nginx/redis.test.js` needs both.
 */
export function enginesOf(path) {
  const [, rest = ""] = path.replaceAll("\\", "/").split("test/engines/");
  const words = rest.split(/[^a-z]+/);
  return Object.keys(engines).filter((name) => words.includes(name));
}

/** Returns the reason why an engine is not available, with the remedies. */
export function absence(name, { program, variable, debian }) {
  const address = variable === undefined ? "" : `, or set ${variable}`;
  return `${name}: not tested, ${program} was not found; install it (Debian: apt-get install ${debian}, or npm run engines -- --install as root)${address}`;
}

/** Installs the packages by apt-get. Returns a problem, or undefined. */
export async function install(packages, { isRoot = process.getuid?.() === 0, run = exec } = {}) {
  if (packages.length === 0) return undefined;
  if (!isRoot) return `--install needs root to install ${packages.join(" ")} by apt-get`;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const network = ["-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=15", "-o", "Acquire::https::Timeout=15"];
  for (const args of [
    ["update"],
    ["install", "--yes", "--no-install-recommends", ...packages.flatMap((one) => one.split(" "))],
  ]) {
    const { code, output } = await run("apt-get", [...network, ...args], { env, timeoutMs: 300_000 });
    if (code !== 0) return `apt-get ${args.join(" ")} failed: ${lines(output).at(-1) ?? `exit code ${code}`}`;
  }
  return undefined;
}
