import { modernServer } from "../era/modern/server-era.js";
import type { Implementation } from "../schema/types.js";
import { HttpServer, type ToolTypes } from "../server/http-server.js";
import type { ServerOptions } from "../server/options.js";

/**
 * A server over HTTP for clients of the versions without handshakes only: smaller, and it keeps nothing between requests.
 * Plain JSON Schema needs the option `validator`.
 */
// biome-ignore lint/complexity/noBannedTypes: the empty start of a chain of intersections
export class McpServer<Tools extends ToolTypes = {}> extends HttpServer<Tools> {
  constructor(info: Implementation, options: ServerOptions = {}) {
    super(info, options, [modernServer]);
  }
}

export * from "./server-common.js";
