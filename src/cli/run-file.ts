import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import type { CommandTarget } from "../client/options.js";
import { UsageError } from "./failures.js";
import { runnerPath } from "./package.js";

/** Plans the process for a file that serves, or exports, a server. */
export function planRunner(file: string, name: string | undefined): CommandTarget {
  const args = [...loaderOf(file), runnerPath(), file, ...(name === undefined ? [] : [name])];
  return { command: process.execPath, args };
}

/** Returns the arguments by which Node reads TypeScript: none on Node 22.18, else tsx of the project. */
export function loaderOf(file: string): string[] {
  const isCode = /\.[cm]?js$/.test(file);
  const { typescript } = process.features as { readonly typescript?: string | false };
  if (isCode || (typeof typescript === "string" && !/x$/.test(file))) return [];
  try {
    return ["--import", pathToFileURL(createRequire(file).resolve("tsx")).href];
  } catch {
    const reason = /x$/.test(file)
      ? "Node does not read JSX"
      : `Node ${process.versions.node} does not read TypeScript`;
    throw new UsageError(`${file}: ${reason}, and the project has no tsx; install it: npm install --save-dev tsx`);
  }
}
