import { existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { exec } from "./exec.mjs";

/**
 * Engines of the tests in test/engines, by the name of their folder there: the program to look for, other folders of
 * programs than those of PATH, the variable with the address of an engine that runs already, and the Debian package.
 */
export const engines = {
  redis: { program: "redis-server", folders: () => [], variable: "REDIS_URL", debian: "redis-server" },
  postgres: { program: "postgres", folders: postgresFolders, variable: "DATABASE_URL", debian: "postgresql" },
};

/** Debian installs PostgreSQL outside of PATH, in a folder for each version. */
export function postgresFolders(base = "/usr/lib/postgresql") {
  if (!existsSync(base)) return [];
  const versions = readdirSync(base).sort((one, other) => Number(other) - Number(one));
  return versions.map((version) => join(base, version, "bin"));
}

/** Returns the place of an engine: the address in its variable, or else the path of its program. */
export function placeOf({ program, folders, variable }, env = process.env) {
  if (env[variable]) return variable;
  const names = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return [...folders(), ...names].map((folder) => join(folder, program)).find((path) => existsSync(path));
}

/** Returns the name of the engine that a test file needs, or undefined. */
export function engineOf(path) {
  const [, name] = /test\/engines\/([^/.]+)/.exec(path.replaceAll("\\", "/")) ?? [];
  return Object.keys(engines).find((engine) => engine === name);
}

/** Returns the reason why an engine is not available, with the remedies. */
export function absence(name, { program, variable, debian }) {
  return `${name}: not tested, ${program} was not found; install it (Debian: apt-get install ${debian}), run npm run engines -- --install as root, or set ${variable}`;
}

/** Installs the packages by apt-get. Returns a problem, or undefined. */
export async function install(packages, { isRoot = process.getuid?.() === 0 } = {}) {
  if (packages.length === 0) return undefined;
  if (!isRoot) return `--install needs root to install ${packages.join(" ")} by apt-get`;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  for (const args of [["update"], ["install", "--yes", "--no-install-recommends", ...packages]]) {
    const { code, output } = await exec("apt-get", args, { env, timeoutMs: 600_000 });
    if (code !== 0) return `apt-get ${args.join(" ")} failed: ${output.trim().split("\n").at(-1)}`;
  }
  return undefined;
}
