import type { Channel } from "../jsonrpc/channel.js";
import { createStdioServerChannel } from "./stdio-server.js";
import { guardStdout } from "./stdout-guard.js";

/** A server, as far as serving it needs to know. */
export interface ChannelServer {
  accept(channel: Channel): Promise<{ readonly closed: Promise<void>; close(): Promise<void> }>;
}

/**
 * Serves the process's own stdin and stdout. Resolves when the client has gone and everything has been written.
 * Meanwhile stdout belongs to the protocol: what anything else writes there goes to stderr.
 */
export async function serveStdio(server: ChannelServer): Promise<void> {
  const guard = guardStdout();
  const channel = createStdioServerChannel({ write: guard.write });
  try {
    const connection = await server.accept(channel);
    await connection.closed;
    await channel.close();
  } finally {
    guard.restore();
  }
}
