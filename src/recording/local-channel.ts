import type { LocalTarget } from "../client/options.js";
import type { Channel, ChannelEvents } from "../protocol/jsonrpc/channel.js";
import { createChannelPair } from "../protocol/jsonrpc/memory-channel.js";

/** Returns the channel to a server in this process, which is asked for it when it is opened. */
export function localChannel(target: LocalTarget): Channel {
  const [ours, theirs] = createChannelPair();
  return {
    open: async (events: ChannelEvents) => {
      await target.accept(theirs);
      await ours.open(events);
    },
    send: (text) => ours.send(text),
    close: () => ours.close(),
  };
}
