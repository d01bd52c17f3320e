import { modernServer } from "../era/modern/server/era.js";
import type { Implementation } from "../protocol/types/index.js";
import type { ServerOptions } from "../server/options.js";
import { Server } from "../server/server.js";
import type { PromptTypes, ResourceTypes, ToolTypes } from "../server/server-types.js";

/**
 * MCP server for clients of the modern era (2026-07-28) only. It is smaller and has no sessions. Plain JSON Schema
 * needs the option `validator`.
 */
// biome-ignore-start lint/complexity/noBannedTypes: the empty start of a chain of intersections
export class McpServer<
  Tools extends ToolTypes = {},
  Prompts extends PromptTypes = {},
  Resources extends ResourceTypes = {},
> extends Server<Tools, Prompts, Resources> {
  // biome-ignore-end lint/complexity/noBannedTypes: the empty start of a chain of intersections
  constructor(info: Implementation, options: ServerOptions = {}) {
    super(info, options, [modernServer]);
  }
}

export * from "./server-common.js";
