import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Folder of the package. This file becomes part of dist/cli/bin.js, which is at the same depth. */
const root = new URL("../../", import.meta.url);

/** Returns the version of the package that the command belongs to. */
export function bowlineVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as { readonly version: string };
  return version;
}

/** Returns the path of the program of the process for a file. */
export function runnerPath(): string {
  return fileURLToPath(new URL("dist/cli/runner.js", root));
}

/** Returns the folder of a template of `init`. */
export function templateFolder(name: string): string {
  return fileURLToPath(new URL(`templates/${name}`, root));
}
