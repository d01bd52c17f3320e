import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Folder of the package. This file becomes part of dist/cli/bin.js, which is at the same depth. */
const root = new URL("../../", import.meta.url);

/** Returns the version of the package that the command belongs to. */
export function bowlineVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as { readonly version: string };
  return version;
}

/** Returns the names, versions and licences of the packages of which the command has copies. */
export function bundledCopies(): readonly string[] {
  const file = new URL("dist/cli/NOTICES.txt", root);
  // Only the published command has copies.
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => /^\S+ \d+\.\d+\.\d+\S* \(.+\)$/.test(line));
}

/** Returns the path of the program of the process for a file. */
export function runnerPath(): string {
  return fileURLToPath(new URL("dist/cli/runner.js", root));
}

/** Returns the folder of the page of the inspector. */
export function pageUrl(): URL {
  return new URL("dist/cli/page/", root);
}

/** Returns the folder of a template of `init`. */
export function templateFolder(name: string): string {
  return fileURLToPath(new URL(`templates/${name}`, root));
}
