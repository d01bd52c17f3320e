import type { Readable, Writable } from "node:stream";

/** Stream to write to, which may be a terminal. */
export type OutStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Stream to read from, which may be a terminal. */
export type InStream = Readable & { readonly isTTY?: boolean };

/** Everything that the command takes from its process. A test passes its own. */
export interface Io {
  readonly stdin: InStream;
  readonly stdout: OutStream;
  readonly stderr: OutStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Home folder of the user. */
  readonly home: string;
  readonly platform: NodeJS.Platform;
  /** Aborts with an {@link Interrupted} at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  /** Does what SIGINT does. A terminal in raw mode sends Ctrl-C as a key. */
  readonly interrupt: () => void;
}

/** Reason of `signal` of an {@link Io}. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  constructor(readonly by: "SIGINT" | "SIGTERM") {
    super(`interrupted by ${by}`);
  }
}
