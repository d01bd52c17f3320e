import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** The project's folder; every path in a report is relative to it. */
export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

export const at = (...parts) => join(root, ...parts);

/** The path as reports spell it: from the project's folder, with forward slashes. */
export const shown = (path) => relative(root, path).split(sep).join("/");

export const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));

/** All files below a folder whose name ends in one of the endings, sorted; none when the folder does not exist. */
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

/** The package's entries: what `exports` names, without package.json. */
export function packageEntries() {
  const { name, exports } = readJson(at("package.json"));
  return Object.entries(exports)
    .filter(([, target]) => typeof target === "object")
    .map(([subpath, target]) => ({
      subpath,
      specifier: subpath === "." ? name : `${name}${subpath.slice(1)}`,
      types: at(target.types),
      code: at(target.default),
    }));
}

/** `npm run x --json` reaches the script as an environment variable, `npm run x -- --json` as an argument. */
export const wantsJson = () => process.argv.includes("--json") || process.env.npm_config_json === "true";
