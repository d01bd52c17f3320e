import { isOnNode } from "../call/clock.js";
import type { Client } from "../client/client.js";
import { connectWith } from "../client/connect.js";
import type { ServersConfig } from "../client/group/config.js";
import { Group, type ServerTypes } from "../client/group/group.js";
import type { GroupOptions } from "../client/group/options.js";
import type { ClientOptions, Target } from "../client/options.js";
import type { AnyServer } from "../client/server-types.js";
import { globalFetch, sendBy } from "../http/client/send.js";
import { createDialer } from "./dialer.js";

const dialer = createDialer({
  send: async () => (isOnNode ? (await import("../node/undici/send.js")).directSend : sendBy(globalFetch)),
  spawn: async ({ restart: _, ...command }) =>
    (await import("../node/stdio/client.js")).createStdioClientChannel(command),
});

/** Connects to a server of any protocol version: at a URL, as a command, in this process, or through a channel. */
export function connect<S extends AnyServer = AnyServer>(
  target: Target,
  options: ClientOptions = {},
): Promise<Client<S>> {
  return connectWith<S>(dialer, target, options);
}

/**
 * Combines many servers into one catalogue, from the configuration format that hosts share. Servers are started when
 * needed.
 */
export function createGroup<M extends ServerTypes = ServerTypes>(
  config: ServersConfig,
  options: GroupOptions = {},
): Group<M> {
  return new Group<M>(config, options, connect);
}

export * from "./client-common.js";
