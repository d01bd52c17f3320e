import { constants } from "node:os";
import { basename, relative } from "node:path";
import { atCaller } from "../../protocol/at-caller.js";
import { DefinitionError } from "../../protocol/errors.js";
import type { Channel } from "../../protocol/jsonrpc/channel.js";
import { assertOptions, type Known } from "../../protocol/known-options.js";
import { greet } from "../greeting.js";
import { createStdioServerChannel, STDIO_LIMIT_OPTIONS, type StdioServerOptions } from "./server.js";
import { guardStdout } from "./stdout-guard.js";

/** Server, as far as a channel needs it. */
export interface ChannelServer {
  /** Name and version, for the line that a person sees who starts the server on a terminal. */
  readonly info?: { readonly name: string; readonly version: string } | undefined;
  accept(channel: Channel): Promise<{ readonly closed: Promise<void>; close(): Promise<void> }>;
  readonly close?: (() => Promise<void>) | undefined;
}

/** Options of {@link serveStdio}. */
export interface ServeStdioOptions extends Pick<StdioServerOptions, "limits" | "drainMs"> {
  /**
   * True to reserve stdout for the protocol. Text that other code writes there goes to stderr.
   * @default true
   */
  readonly guardStdout?: boolean | undefined;
  /**
   * True to end the server in order on SIGINT and SIGTERM. The process then exits with the signal's status, unless
   * other listeners of the signal decide otherwise.
   * @default true
   */
  readonly signals?: boolean | undefined;
  /**
   * True to end the server when its parent process dies, even if its input is still open.
   * @default true
   */
  readonly watchParent?: boolean | undefined;
}

const OPTIONS: Known<ServeStdioOptions> = {
  ...STDIO_LIMIT_OPTIONS,
  guardStdout: "boolean",
  signals: "boolean",
  watchParent: "boolean",
};

const END_SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Time for the process to exit by itself after the server has ended. */
const LINGER_MS = 2000;

const CHECK_MS = 1000;

/**
 * Connects a server to stdin and stdout of the process. Resolves when the connection has ended and all data has been
 * written. Release the server's resources after that.
 *
 * @example
 * ```ts
 * await serveStdio(server);
 * ```
 */
export async function serveStdio(server: ChannelServer, options: ServeStdioOptions = {}): Promise<void> {
  atCaller(serveStdio, () => {
    if (typeof server?.accept !== "function")
      throw new DefinitionError("serveStdio needs a server, such as an McpServer");
    assertOptions("serveStdio", options, OPTIONS);
  });
  const { guardStdout: guards, signals, watchParent, ...channelOptions } = options;
  const guard = guards === false ? undefined : guardStdout();
  const channel = createStdioServerChannel(
    guard === undefined ? channelOptions : { ...channelOptions, write: guard.write },
  );
  const stopListening: (() => void)[] = [];
  if (process.stdin.isTTY) greet(server.info, "waits for an MCP client on stdin", listing());
  try {
    const connection = await atCaller(serveStdio, () => server.accept(channel));
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

/** Returns the command that lists what this program serves. */
function listing(): readonly string[] {
  const [, script] = process.argv;
  return script === undefined ? [] : ["npx", "bowline", "list", ...serverOf(script)];
}

/** Returns a script as the command names it: by its file if Node runs it, else by the words that start it. */
function serverOf(script: string): readonly string[] {
  const isNode = process.versions.deno === undefined && process.versions.bun === undefined;
  if (isNode && /\.[cm]?[jt]s$/.test(script)) return [relative("", script)];
  const flags = process.versions.deno === undefined ? process.execArgv : ["run", "--allow-all"];
  return ["--", basename(process.execPath), ...flags, relative("", script)];
}

/**
 * Calls back on the first SIGINT or SIGTERM. Returns a function that stops listening. If a signal has arrived by then,
 * that function sets the exit code of the signal, and kills the process if something keeps it alive. If there are other
 * listeners of the signal, they decide about the process.
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
 * Calls back once when the parent process has died. Returns a function that stops checking. A dead parent usually ends
 * the input, but not if another process holds the other end of the pipe.
 */
function onOrphaned(callback: () => void): () => void {
  const parent = process.ppid;
  // A process whose parent is the system's first process cannot lose it.
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
  // Windows still reports a parent that has exited.
  return process.platform !== "win32" || isAlive(pid);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
