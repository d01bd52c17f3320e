import { Console } from "node:console";
import type { WriteLine } from "./frame-writer.js";

/** Guard of the standard output. */
export interface StdoutGuard {
  /** Writes to the original standard output. */
  readonly write: WriteLine;
  /** Restores the standard output. Idempotent. */
  restore(): void;
}

type Write = typeof process.stdout.write;

interface Diversion {
  readonly original: Write;
  readonly replacement: Write;
  guards: number;
  /** Places that have been reported. */
  readonly reported: Set<string>;
}

const MAX_REPORTED = 100;

let diversion: Diversion | undefined;

// The console of Node writes to `process.stdout`. That of Bun and Deno writes to the descriptor, where no guard can
// reach it, so its methods are replaced: with this module, so that methods that a program binds before it serves are
// diverted too.
if (process.versions.bun !== undefined || process.versions.deno !== undefined) divertConsole();

/** Replaces the methods of the console. While a guard is active they write to `process.stdout`, and so to the guard. */
function divertConsole(): void {
  type Methods = { [name: string]: (...args: unknown[]) => unknown };
  const native = globalThis.console as unknown as Methods;
  let guarded: Methods | undefined;
  const replace = (name: string, diverted: (...args: unknown[]) => unknown) => {
    const own = native[name];
    if (own === undefined) return;
    native[name] = (...args) => (diversion === undefined ? own.apply(native, args) : diverted(...args));
  };
  for (const name of Object.keys(Console.prototype)) {
    replace(name, (...args) => {
      guarded ??= new Console(process.stdout, process.stderr) as unknown as Methods;
      return guarded[name]?.(...args);
    });
  }
  // Only Bun has this method.
  replace("write", (...texts) => process.stdout.write(texts.join("")));
}

/**
 * Reserves the standard output for frames. Until `restore`, text that other code writes to `process.stdout`, including
 * `console.log`, goes to the standard error. In development (`NODE_ENV`), each place that writes is reported there
 * once. Guards nest; the last one restored ends the redirection. Writes to the file descriptor itself are not affected.
 */
export function guardStdout(): StdoutGuard {
  diversion ??= divert();
  const current = diversion;
  current.guards++;
  let restored = false;
  return {
    write: (line, written) => current.original.call(process.stdout, line, "utf8", written),
    restore() {
      if (restored) return;
      restored = true;
      current.guards--;
      if (current.guards === 0) undo(current);
    },
  };
}

function divert(): Diversion {
  const original = process.stdout.write;
  // Other code may have wrapped this function and call it after the guard has ended. Then it passes everything on.
  const replacement = function divertedWrite(...args: Parameters<Write>): boolean {
    if (made.guards === 0) return original.apply(process.stdout, args);
    const taken = process.stderr.write(...args);
    if (process.env.NODE_ENV === "development") reportWriter(made.reported, divertedWrite);
    return taken;
  } as Write;
  const made: Diversion = { original, replacement, guards: 0, reported: new Set() };
  process.stdout.write = replacement;
  return made;
}

function reportWriter(reported: Set<string>, writer: (...args: Parameters<Write>) => boolean): void {
  const trace: { stack?: string } = {};
  Error.captureStackTrace(trace, writer);
  const places = (trace.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line) && !line.includes("node:"));
  const place = places[0];
  if (place === undefined || reported.has(place) || reported.size >= MAX_REPORTED) return;
  reported.add(place);
  process.stderr.write(
    `bowline: stdout is reserved for the protocol; the text above was written to it by:\n${places.join("\n")}\n`,
  );
}

function undo(current: Diversion): void {
  if (process.stdout.write === current.replacement) process.stdout.write = current.original;
  diversion = undefined;
}
