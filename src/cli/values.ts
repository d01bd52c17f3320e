import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { UsageError } from "./failures.js";
import type { Io } from "./io.js";

/** Reads a value of the command line: `@file` and `@-` are the content of a file and of stdin, `@@` is a literal `@`. */
export async function readInput(text: string, name: string, io: Io): Promise<string> {
  if (text === "@-") return readAll(io);
  if (text.startsWith("@@")) return text.slice(1);
  if (!text.startsWith("@")) return text;
  const path = text.slice(1);
  try {
    return await readFile(resolve(io.cwd, path), "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`--${name}: ${path} cannot be read (${code ?? "unknown error"})`);
  }
}

async function readAll({ stdin }: Io): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of stdin) parts.push(typeof part === "string" ? Buffer.from(part) : part);
  return Buffer.concat(parts).toString("utf8");
}
