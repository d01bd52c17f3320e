import { untilAborted } from "../call/abortable.js";
import { CallLifetime } from "../call/lifetime.js";
import { ChannelLink } from "../era/channel-link.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import { createChannelPair } from "../protocol/jsonrpc/memory-channel.js";
import {
  type ChannelTarget,
  type ClientOptions,
  type CommandTarget,
  DEFAULTS,
  type LocalTarget,
  unknownTarget,
} from "./options.js";
import type { ClientCore } from "./runtime.js";

type Spawn = (target: CommandTarget) => Promise<Channel>;

/** Opens a channel to a server, within the limits of connecting. What does not come to be open is closed. */
export async function openChannel(
  spawn: Spawn,
  target: CommandTarget | LocalTarget | ChannelTarget,
  options: ClientOptions,
  client: ClientCore,
  firstId: number,
): Promise<ChannelLink> {
  const { signal, timeoutMs = DEFAULTS.timeoutMs } = options;
  const link = new ChannelLink(await channelTo(spawn, target), firstId);
  // Until an era takes over, only problems are of interest.
  link.receiver = { ...link.receiver, onProblem: (problem) => client.onProblem(problem) };
  const lifetime = new CallLifetime("connect", { signal, timeoutMs }, client.clock);
  try {
    lifetime.throwIfAborted();
    await untilAborted(link.open(), lifetime);
    return link;
  } catch (error) {
    const closed = link.close().catch(() => {});
    // A channel of the author's own may never come to its end; a process does.
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
