import type { WriteLine } from "./frame-writer.js";

export interface StdoutGuard {
  /** Writes to the true standard output. */
  readonly write: WriteLine;
  /** Gives the standard output back. Idempotent. */
  restore(): void;
}

type Write = typeof process.stdout.write;

interface Diversion {
  readonly original: Write;
  readonly replacement: Write;
  guards: number;
  /** The places that were named. */
  readonly culprits: Set<string>;
}

const MOST_CULPRITS = 100;

let diversion: Diversion | undefined;

/**
 * Keeps the standard output for frames: until `restore`, what anyone else writes to `process.stdout` (`console.log`
 * included) goes to the standard error, and in development (`NODE_ENV`) each place that does so is named there once.
 * Guards nest; the last one restored ends the diversion. Writes to the file descriptor itself are out of reach.
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
  // Someone may have wrapped this function and keep calling it after the guard is gone: then it is transparent.
  const replacement = function divertedWrite(...args: Parameters<Write>): boolean {
    if (made.guards === 0) return original.apply(process.stdout, args);
    const taken = process.stderr.write(...args);
    if (process.env.NODE_ENV === "development") nameCulprit(made.culprits, divertedWrite);
    return taken;
  } as Write;
  const made: Diversion = { original, replacement, guards: 0, culprits: new Set() };
  process.stdout.write = replacement;
  return made;
}

function nameCulprit(named: Set<string>, writer: (...args: Parameters<Write>) => boolean): void {
  const trace: { stack?: string } = {};
  Error.captureStackTrace(trace, writer);
  const places = (trace.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line) && !line.includes("node:"));
  const place = places[0];
  if (place === undefined || named.has(place) || named.size >= MOST_CULPRITS) return;
  named.add(place);
  process.stderr.write(
    `bowline: stdout belongs to the protocol; the text above was written there\n${places.join("\n")}\n`,
  );
}

function undo(current: Diversion): void {
  if (process.stdout.write === current.replacement) process.stdout.write = current.original;
  diversion = undefined;
}
