import { untilAborted } from "../call/abortable.js";
import { CallLifetime } from "../call/lifetime.js";
import { ChannelTransport } from "../era/channel-transport.js";
import { CLIENT_TIMES } from "../era/client-limits.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import { createChannelPair } from "../protocol/jsonrpc/memory-channel.js";
import {
  type ChannelTarget,
  type ClientOptions,
  type CommandTarget,
  type LocalTarget,
  unknownTarget,
} from "./options.js";
import type { ClientCore } from "./runtime.js";

type Spawn = (target: CommandTarget) => Promise<Channel>;

/** Opens a channel to a server within the limits of connecting. Closes the channel if opening fails. */
export async function openChannel(
  spawn: Spawn,
  target: CommandTarget | LocalTarget | ChannelTarget,
  options: ClientOptions,
  client: ClientCore,
  firstId: number,
): Promise<ChannelTransport> {
  const { signal, timeoutMs = CLIENT_TIMES.timeoutMs } = options;
  const transport = new ChannelTransport(await channelTo(spawn, target), firstId);
  // Only problems are handled until an era takes over.
  transport.receiver = { ...transport.receiver, onProblem: (problem) => client.onProblem(problem) };
  const lifetime = new CallLifetime("connect", { signal, timeoutMs }, client.clock);
  try {
    lifetime.throwIfAborted();
    await untilAborted(transport.open(), lifetime);
    return transport;
  } catch (error) {
    const closed = transport.close().catch(() => {});
    // Waits only for a process to exit. Closing a custom channel may never finish.
    if ("command" in target) await closed;
    throw error;
  } finally {
    lifetime.close();
  }
}

async function channelTo(spawn: Spawn, target: CommandTarget | LocalTarget | ChannelTarget): Promise<Channel> {
  if ("channel" in target) return target.channel;
  if ("command" in target) return spawn(target);
  if ("accept" in target && typeof target.accept === "function") {
    const [ours, theirs] = createChannelPair();
    await target.accept(theirs);
    return ours;
  }
  throw unknownTarget();
}
