import { legacyServer } from "../era/legacy/server-era.js";
import { modernServer } from "../era/modern/server-era.js";
import { defaultValidator } from "../schema/json-schema/validator.js";
import type { Implementation } from "../schema/types.js";
import type { ToolTypes } from "../server/http-server.js";
import type { ServerOptions } from "../server/options.js";
import { Server } from "../server/server.js";

/** A server for clients of every protocol version. */
// biome-ignore lint/complexity/noBannedTypes: the empty start of a chain of intersections
export class McpServer<Tools extends ToolTypes = {}> extends Server<Tools> {
  constructor(info: Implementation, options: ServerOptions = {}) {
    super(info, { validator: defaultValidator, ...options }, [modernServer, legacyServer]);
  }
}

export type { Channel, ChannelEvents } from "../jsonrpc/channel.js";
export type { ServedConnection } from "../server/door.js";
export type { Server } from "../server/server.js";
export * from "./server-common.js";
