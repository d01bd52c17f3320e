import type { RedisClient, RedisConnection, RedisEvents } from "./connection.js";
import { type Duplicate, openDuplicate } from "./duplicate.js";

/** Client of the package `ioredis`, as `new Redis()` returns it. */
export interface IoredisClient {
  duplicate(overrides?: object): unknown;
}

/** Methods of such a client that a connection uses. */
interface Own extends Duplicate {
  on(event: "error" | "end", listener: () => void): unknown;
  on(event: "message", listener: (channel: string, text: string) => void): unknown;
  call(command: string, ...args: string[]): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  disconnect(): void;
}

/**
 * Uses a client of the package `ioredis`. The cluster opens connections of its own with the settings of this client. The
 * client itself does not have to be connected, and stays as it is.
 */
export function fromIoredis(client: IoredisClient): RedisClient {
  return { open: (events, signal) => open(client, events, signal) };
}

/** Settings of a connection that does not reconnect, queues nothing and repeats no command. */
const settings = {
  lazyConnect: true,
  retryStrategy: () => null,
  reconnectOnError: null,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  enableAutoPipelining: false,
  maxRetriesPerRequest: null,
  keyPrefix: "",
  stringNumbers: false,
  commandTimeout: undefined,
};

async function open(client: IoredisClient, events: RedisEvents, signal: AbortSignal): Promise<RedisConnection> {
  const own = client.duplicate(settings) as Own;
  own.on("error", () => {});
  own.on("message", (channel, text) => events.onMessage(channel, text));
  const close = await openDuplicate(own, { events: ["end"], cut: () => own.disconnect() }, events, signal);
  return {
    command: ([name = "", ...args]) => own.call(name, ...args),
    subscribe: async (channel) => void (await own.subscribe(channel)),
    close,
  };
}
