import { constants } from "node:os";
import type { Channel } from "../../protocol/jsonrpc/channel.js";
import { assertOptions, type Known } from "../../protocol/known-options.js";
import { createStdioServerChannel, type StdioServerOptions } from "./server.js";
import { guardStdout } from "./stdout-guard.js";

/** A server, as far as serving it needs to know. */
export interface ChannelServer {
  accept(channel: Channel): Promise<{ readonly closed: Promise<void>; close(): Promise<void> }>;
  close?(): Promise<void>;
}

export interface ServeStdioOptions
  extends Pick<StdioServerOptions, "maxLineBytes" | "maxUnwrittenBytes" | "maxBehindBytes" | "drainMs"> {
  /** Whether stdout is kept for the protocol: what anything else writes there goes to stderr. It is unless told otherwise. */
  readonly guardStdout?: boolean;
  /**
   * Whether SIGINT and SIGTERM end the server in good order. They do unless told otherwise; the process then ends with
   * the signal's status, or as other listeners of the signal see fit.
   */
  readonly signals?: boolean;
  /** Whether the death of the process that started this one ends it, though its input may be open. It does unless told otherwise. */
  readonly watchParent?: boolean;
}

const OPTIONS: Known<ServeStdioOptions> = {
  guardStdout: 1,
  signals: 1,
  watchParent: 1,
  maxLineBytes: 1,
  maxUnwrittenBytes: 1,
  maxBehindBytes: 1,
  drainMs: 1,
};

const END_SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** How long the process may take to end by itself after it was told to. */
const LINGER_MS = 2000;

const CHECK_MS = 1000;

/**
 * Serves the process's own stdin and stdout. Resolves when the client has gone and everything has been written; what runs
 * after it is the place to let go of what the server used.
 */
export async function serveStdio(server: ChannelServer, options: ServeStdioOptions = {}): Promise<void> {
  if (typeof server?.accept !== "function") throw new TypeError("serveStdio needs a server, such as an McpServer");
  assertOptions("serveStdio", options, OPTIONS);
  const { guardStdout: guards, signals, watchParent, ...limits } = options;
  const guard = guards === false ? undefined : guardStdout();
  const channel = createStdioServerChannel(guard === undefined ? limits : { ...limits, write: guard.write });
  const stopListening: (() => void)[] = [];
  try {
    const connection = await server.accept(channel);
    const end = () => void (server.close?.() ?? connection.close());
    if (signals !== false) stopListening.push(onEndSignal(end));
    if (watchParent !== false) stopListening.push(onOrphaned(end));
    await connection.closed;
    await channel.close();
  } finally {
    for (const stop of stopListening) stop();
    guard?.restore();
  }
}

/**
 * Calls back at the first SIGINT or SIGTERM. The function returned stops listening; if a signal has come by then, the
 * process is set to end with the status that the signal stands for, and is ended by it if something keeps it alive. Where
 * others listen to the same signal, what it does to the process is up to them.
 */
function onEndSignal(callback: () => void): () => void {
  let received: NodeJS.Signals | undefined;
  const listen = (signal: NodeJS.Signals) => {
    if (received !== undefined) return;
    received = signal;
    callback();
  };
  for (const signal of END_SIGNALS) process.on(signal, listen);
  return () => {
    for (const signal of END_SIGNALS) process.off(signal, listen);
    if (received !== undefined && process.listenerCount(received) === 0) endBy(received);
  };
}

function endBy(signal: NodeJS.Signals): void {
  process.exitCode ??= 128 + constants.signals[signal];
  setTimeout(() => process.kill(process.pid, signal), LINGER_MS).unref();
}

/**
 * Calls back once when the process that started this one is gone; returns how to stop looking. A dead parent mostly shows
 * as the end of the input, but not where another process holds the other end of the pipe.
 */
function onOrphaned(callback: () => void): () => void {
  const parent = process.ppid;
  // Whoever has no parent but the system's first process cannot lose it.
  if (parent <= 1) return () => {};
  const timer = setInterval(() => {
    if (isParent(parent)) return;
    clearInterval(timer);
    callback();
  }, CHECK_MS).unref();
  return () => clearInterval(timer);
}

function isParent(pid: number): boolean {
  if (process.ppid !== pid) return false;
  // Windows goes on naming a parent that has gone.
  return process.platform !== "win32" || isAlive(pid);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
