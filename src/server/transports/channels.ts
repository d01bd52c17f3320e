import { lazyModule } from "../../call/lazy.js";
import type { CallOrigin, OfferedEra } from "../../era/server-era.js";
import { McpError } from "../../protocol/errors.js";
import type { Channel } from "../../protocol/jsonrpc/channel.js";
import type { ServerCore } from "../runtime.js";
import type { ChannelEndpoint } from "./channel.js";

/** A server that is reached by HTTP alone never loads it. */
const channelPart = lazyModule(() => import("./channel.js"));

/** Channels that a server serves. */
export class ChannelEndpoints {
  readonly #core: ServerCore;
  readonly #open = new Set<ChannelEndpoint>();
  /** Settles when the most recently accepted channel has loaded its modules. */
  #accepting: Promise<unknown> | undefined;
  #closed = false;

  constructor(core: ServerCore) {
    this.#core = core;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Serves a channel. Loads all modules that a call may need first, since the input may end right after a call. */
  async accept(offered: readonly OfferedEra[], channel: Channel, origin: () => CallOrigin): Promise<ChannelEndpoint> {
    if (this.#closed) throw closed();
    const loading = Promise.all([channelPart(), this.#core.registry.prepare(), ...offered.map((era) => era.load())]);
    this.#accepting = loading;
    const [{ ChannelEndpoint }, , ...eras] = await loading;
    if (this.#closed) {
      await channel.close();
      throw closed();
    }
    const endpoint = new ChannelEndpoint(this.#core, eras, channel, origin);
    this.#open.add(endpoint);
    endpoint.closed.then(() => this.#open.delete(endpoint));
    try {
      await endpoint.open();
    } catch (error) {
      this.#open.delete(endpoint);
      throw error;
    }
    this.#core.options.onConnection?.(endpoint);
    return endpoint;
  }

  /** Resolves when no call is running. */
  async idle(): Promise<void> {
    await Promise.all([...this.#open].map((endpoint) => endpoint.idle()));
  }

  /** Closes all channels. `accept` closes a channel that is still being accepted. */
  async close(): Promise<void> {
    this.#closed = true;
    const accepting = this.#accepting?.catch(() => {});
    await Promise.all([accepting, ...[...this.#open].map((endpoint) => endpoint.close())]);
  }
}

function closed(): McpError {
  return new McpError("server_closing", "The server has been closed");
}
