import type { Client } from "../client/client.js";
import type { ClientOptions, CommandTarget, LocalTarget } from "../client/options.js";
import { connect } from "../entry/client.js";
import { HANDSHAKE_VERSIONS } from "../era/versions.js";
import type { Fetch } from "../http/client/send.js";
import { createStdioClientChannel, type StdioClientChannel } from "../node/stdio/client.js";
import { ConnectionError } from "../protocol/errors.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import { localChannel } from "../recording/local-channel.js";
import type { Recording } from "../recording/recording.js";

/** A URL, a process, or a server in this process. */
export type DialledTarget = string | CommandTarget | LocalTarget;

/** Wraps what a client uses, beneath the recorder. */
export interface Beneath {
  readonly process: (channel: StdioClientChannel) => Channel;
  readonly local: (channel: Channel) => Channel;
  readonly fetch: (fetch: ClientOptions["fetch"]) => Fetch | undefined;
  /** Called when the recording has opened the connection of that `fetch`. */
  readonly onOpen: () => void;
}

const NOTHING: Beneath = {
  process: (channel) => channel,
  local: (channel) => channel,
  fetch: (fetch) => fetch as Fetch | undefined,
  onOpen: () => {},
};

/** Connects a client whose traffic is recorded. */
export async function dial(
  recording: Recording,
  target: DialledTarget,
  options: ClientOptions,
  beneath: Beneath = NOTHING,
): Promise<Client> {
  if (typeof target === "string") {
    const recorded = recording.client(target, { ...options, fetch: beneath.fetch(options.fetch) });
    beneath.onOpen();
    return connect(...recorded);
  }
  if ("command" in target) return dialProcess(recording, target, options, beneath);
  const channel = Object.assign(beneath.local(localChannel(target)), { wire: "memory" });
  return connect(...recording.client({ channel }, options));
}

/** Connects to a process. One that ended at a probe for newer versions is started again, and gets a handshake first. */
async function dialProcess(
  recording: Recording,
  { restart: _, ...command }: CommandTarget,
  options: ClientOptions,
  beneath: Beneath,
): Promise<Client> {
  const open = (more: ClientOptions) => {
    const channel = beneath.process(createStdioClientChannel({ ...command, stderr: "pipe" }));
    return connect(...recording.client({ channel }, more));
  };
  try {
    return await open(options);
  } catch (error) {
    const isProbed = (options.era ?? "auto") === "auto" && options.versions === undefined;
    if (!isProbed || !(error instanceof ConnectionError) || options.signal?.aborted === true) throw error;
    return open({ ...options, versions: [...HANDSHAKE_VERSIONS] }).catch(() => {
      throw error;
    });
  }
}
