import type { RedisClient, RedisConnection, RedisEvents } from "./connection.js";
import { type Duplicate, openDuplicate } from "./duplicate.js";

/** Client of the package `redis`, as `createClient` returns it. */
export interface NodeRedisClient {
  readonly options?: object;
  duplicate(overrides?: object): unknown;
}

/** Methods of such a client that a connection uses. */
interface Own extends Duplicate {
  sendCommand(args: readonly string[]): Promise<unknown>;
  subscribe(channel: string, listener: (text: string, channel: string) => void): Promise<void>;
  destroy(): void;
  readonly isOpen: boolean;
}

/**
 * Uses a client of the package `redis`. The cluster opens connections of its own with the settings of this client. The
 * client itself does not have to be connected, and stays as it is.
 */
export function fromNodeRedis(client: NodeRedisClient): RedisClient {
  return { open: (events, signal) => open(client, events, signal) };
}

async function open(client: NodeRedisClient, events: RedisEvents, signal: AbortSignal): Promise<RedisConnection> {
  const settings = (client.options ?? {}) as { socket?: object };
  const own = client.duplicate({
    socket: { ...settings.socket, reconnectStrategy: false },
    disableOfflineQueue: true,
    keyPrefix: undefined,
    commandOptions: undefined,
    clientSideCache: undefined,
    pingInterval: undefined,
  }) as Own;
  const cut = () => {
    if (own.isOpen) own.destroy();
  };
  const close = await openDuplicate(own, { events: ["error", "end"], cut }, events, signal);
  return {
    command: (args) => own.sendCommand(args),
    subscribe: (channel) => own.subscribe(channel, (text) => events.onMessage(channel, text)),
    close,
  };
}
