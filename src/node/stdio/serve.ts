import type { Channel } from "../../protocol/jsonrpc/channel.js";
import { assertOptions, type Known } from "../../protocol/known-options.js";
import { onEndSignal } from "./end-signals.js";
import { onOrphaned } from "./orphaned.js";
import { createStdioServerChannel } from "./server.js";
import { guardStdout } from "./stdout-guard.js";

/** A server, as far as serving it needs to know. */
export interface ChannelServer {
  accept(channel: Channel): Promise<{ readonly closed: Promise<void>; close(): Promise<void> }>;
  close?(): Promise<void>;
}

export interface ServeStdioOptions {
  /** Whether stdout is kept for the protocol: what anything else writes there goes to stderr. It is unless told otherwise. */
  readonly guardStdout?: boolean;
  /**
   * Whether SIGINT and SIGTERM end the server in good order. They do unless told otherwise; the process then ends with
   * the signal's status, or as other listeners of the signal see fit.
   */
  readonly signals?: boolean;
  /** Whether the death of the process that started this one ends it, though its input may be open. It does unless told otherwise. */
  readonly watchParent?: boolean;
  /** The longest line accepted, in bytes. 32 MiB unless given. */
  readonly maxLineBytes?: number;
  /** How long the end waits for the client to take what was sent. 2000 unless given. */
  readonly drainMs?: number;
}

const OPTIONS: Known<ServeStdioOptions> = { guardStdout: 1, signals: 1, watchParent: 1, maxLineBytes: 1, drainMs: 1 };

/**
 * Serves the process's own stdin and stdout. Resolves when the client has gone and everything has been written; what runs
 * after it is the place to let go of what the server used.
 */
export async function serveStdio(server: ChannelServer, options: ServeStdioOptions = {}): Promise<void> {
  if (typeof server?.accept !== "function") throw new TypeError("serveStdio needs a server, such as an McpServer");
  assertOptions("serveStdio", options, OPTIONS);
  const { maxLineBytes, drainMs } = options;
  const guard = options.guardStdout === false ? undefined : guardStdout();
  const channel = createStdioServerChannel({
    ...(guard === undefined ? undefined : { write: guard.write }),
    ...(maxLineBytes === undefined ? undefined : { maxLineBytes }),
    ...(drainMs === undefined ? undefined : { drainMs }),
  });
  const stopListening: (() => void)[] = [];
  try {
    const connection = await server.accept(channel);
    const end = () => void (server.close?.() ?? connection.close());
    if (options.signals !== false) stopListening.push(onEndSignal(end));
    if (options.watchParent !== false) stopListening.push(onOrphaned(end));
    await connection.closed;
    await channel.close();
  } finally {
    for (const stop of stopListening) stop();
    guard?.restore();
  }
}
