import { modernServer } from "../era/modern/server/era.js";
import type { Implementation } from "../protocol/types/index.js";
import type { ServerOptions } from "../server/options.js";
import { Server } from "../server/server.js";

/**
 * MCP server for clients of the modern era (2026-07-28) only. It is smaller and has no sessions. Plain JSON Schema
 * needs the option `validator`.
 *
 * @example
 * ```ts
 * const server = new McpServer({ name: "weather", version: "1.0.0" }).tool("forecast", () => "Cold");
 * export default { fetch: server.fetch };
 * ```
 */
export class McpServer extends Server {
  constructor(info: Implementation, options: ServerOptions = {}) {
    super(info, options, [modernServer]);
  }
}

export * from "./server-common.js";
