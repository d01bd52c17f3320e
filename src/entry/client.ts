import { isOnNode } from "../call/clock.js";
import type { Client } from "../client/client.js";
import { connectWith } from "../client/connect.js";
import type { ServersConfig } from "../client/group/config.js";
import { Group, type ServerTypes } from "../client/group/group.js";
import type { GroupOptions } from "../client/group/options.js";
import type { ClientOptions, Target } from "../client/options.js";
import type { AnyServer } from "../client/server-types.js";
import { globalFetch, sendBy } from "../http/client/send.js";
import { atCaller } from "../protocol/at-caller.js";
import { createDialer } from "./dialer.js";

const dialer = createDialer({
  send: async ({ maxIdleConnections }, fetch) =>
    isOnNode
      ? (await import("../node/undici/send.js")).createDirectSend(maxIdleConnections, fetch)
      : sendBy(fetch ?? globalFetch),
  spawn: async ({ restart: _, ...command }) =>
    (await import("../node/stdio/client.js")).createStdioClientChannel(command),
});

/**
 * Connects to a server of any protocol version: at a URL, as a command, in this process, or through a channel. With
 * `connect<typeof server>` the compiler checks names, arguments and results.
 *
 * @example
 * ```ts
 * const client = await connect("https://example.com/mcp");
 * const local = await connect({ command: "npx", args: ["some-server"] });
 * console.log((await client.callTool("forecast", { city: "Oslo" })).text);
 * await client.close();
 * await local.close();
 * ```
 */
export async function connect<S extends AnyServer = AnyServer>(
  target: Target,
  options: ClientOptions = {},
): Promise<Client<S>> {
  return await atCaller(connect, () => connectWith<S>(dialer, target, options));
}

/**
 * Combines many servers into one catalogue, from the configuration format that hosts share. Servers are started when
 * needed.
 *
 * @example
 * ```ts
 * const group = createGroup({ mcpServers: { files: { command: "npx", args: ["some-server"] } } });
 * for await (const { name, description } of group.tools()) console.log(name, description);
 * await group.callTool("files__read", { path: "a.txt" });
 * await group.close();
 * ```
 */
export function createGroup<M extends ServerTypes = ServerTypes>(
  config: ServersConfig,
  options: GroupOptions = {},
): Group<M> {
  return atCaller(createGroup, () => new Group<M>(config, options, connect));
}

export * from "./client-common.js";
