import { type AnyServer, Client } from "../client/client.js";
import { connectWith, type Dialer, type Target } from "../client/connect.js";
import type { ClientOptions } from "../client/options.js";
import { legacyClient } from "../era/legacy/client-era.js";
import { modernClient } from "../era/modern/client-era.js";

const dialer: Dialer = {
  eras: [modernClient, legacyClient],
  memory: new Map<string, string>(),
  spawn: async (target) => (await import("../node/stdio-client.js")).createStdioClientChannel(target),
};

/** Connects to a server of any protocol version: at an address, behind a command, in this process, or through a channel. */
export function connect<S extends AnyServer = AnyServer>(
  target: Target,
  options: ClientOptions = {},
): Promise<Client<S>> {
  return connectWith<S>(dialer, target, options);
}

export type { AnyServer, WatchFilter } from "../client/client.js";
export type { ChannelTarget, CommandTarget, LocalTarget, Target } from "../client/connect.js";
export { isResourceNotFound } from "../client/is-resource-not-found.js";
export type {
  AnswerContext,
  CallOptions,
  ClientCall,
  ClientInterceptor,
  ClientLogger,
  ClientOptions,
} from "../client/options.js";
export type { MethodResults, ToolOutcome } from "../client/results.js";
export type { Watch } from "../client/watch.js";
export { withParams } from "../client/with-params.js";
export type { PriorKnowledge } from "../era/client-era.js";
export type { Channel, ChannelEvents } from "../jsonrpc/channel.js";
export { toolChoiceOf } from "../schema/sampling-rules.js";
export type { Change } from "../store/change-bus.js";
export * from "./errors.js";
export { Client };
