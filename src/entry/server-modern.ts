import { modernServer } from "../era/modern/server-era.js";
import type { Implementation } from "../schema/types.js";
import type { ServerOptions } from "../server/options.js";
import { type EmptyShape, Server, type ServerShape } from "../server/server.js";

/** A server for clients of the versions without handshakes only: smaller, and it keeps nothing between requests. */
export class McpServer<Shape extends ServerShape = EmptyShape> extends Server<Shape> {
  constructor(info: Implementation, options: ServerOptions = {}) {
    super(info, options, [modernServer]);
  }
}

export * from "./server-common.js";
