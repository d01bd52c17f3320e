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
}

let diversion: Diversion | undefined;

/**
 * Keeps the standard output for frames: until `restore`, what anyone else writes to `process.stdout` (`console.log`
 * included) goes to the standard error. Guards nest; the last one restored ends the diversion. Writes to the file
 * descriptor itself are out of reach.
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
    return made.guards > 0 ? process.stderr.write(...args) : original.apply(process.stdout, args);
  } as Write;
  const made: Diversion = { original, replacement, guards: 0 };
  process.stdout.write = replacement;
  return made;
}

function undo(current: Diversion): void {
  if (process.stdout.write === current.replacement) process.stdout.write = current.original;
  diversion = undefined;
}
