import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** Folder of the project. All paths in reports are relative to it. */
export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

export const at = (...parts) => join(root, ...parts);

/** Returns a path as reports show it: relative to the project, with forward slashes. */
export const shown = (path) => relative(root, path).split(sep).join("/");

export const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));

/**
 * Returns all files below a folder whose name ends in one of the endings, sorted. Empty if the folder does not exist.
 */
export function filesBelow(folder, ...endings) {
  if (!existsSync(folder)) return [];
  const found = [];
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== "node_modules") found.push(...filesBelow(path, ...endings));
    else if (entry.isFile() && endings.some((ending) => entry.name.endsWith(ending))) found.push(path);
  }
  return found.sort();
}

/**
 * Returns the entries of the package: those that `exports` names, without package.json. `browser` is the file for pages
 * and workers, where it differs from `code`.
 */
export function packageEntries() {
  const { name, exports } = readJson(at("package.json"));
  return Object.entries(exports)
    .filter(([, target]) => typeof target === "object")
    .map(([subpath, target]) => ({
      subpath,
      specifier: subpath === "." ? name : `${name}${subpath.slice(1)}`,
      types: at(target.types),
      code: at(target.default),
      ...(target.browser !== undefined && { browser: at(target.browser) }),
    }));
}

/**
 * True if JSON is wanted. `npm run x --json` sets an environment variable; `npm run x -- --json` passes an argument.
 */
export const wantsJson = () => process.argv.includes("--json") || process.env.npm_config_json === "true";
