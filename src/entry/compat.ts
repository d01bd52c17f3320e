import { CompatLowLevel } from "../compat/low-level.js";
import { CompatServer } from "../compat/mcp-server.js";
import { defined } from "../protocol/json.js";
import type { Implementation, JsonObject } from "../protocol/types/index.js";
import type { ServerOptions } from "../server/options.js";
import { McpServer as BowlineServer } from "./server.js";

/** Options of a server as in the official SDK. `bowline` has options of the Bowline server, which take precedence. */
export interface CompatServerOptions {
  readonly instructions?: string;
  readonly capabilities?: {
    readonly tools?: { readonly listChanged?: boolean };
    readonly prompts?: { readonly listChanged?: boolean };
    readonly resources?: { readonly listChanged?: boolean; readonly subscribe?: boolean };
    readonly logging?: object;
    readonly experimental?: { readonly [name: string]: JsonObject };
    readonly extensions?: { readonly [name: string]: JsonObject };
    readonly [capability: string]: unknown;
  };
  readonly bowline?: ServerOptions;
  readonly [option: string]: unknown;
}

/** Bowline server with the interface of `McpServer` of the official SDK. */
export class McpServer extends CompatServer {
  constructor(info: Implementation, options: CompatServerOptions = {}) {
    super(createServer(info, options), options.bowline?.maskErrors);
  }
}

/** Bowline server with the interface of `Server` of the official SDK. */
export class Server extends CompatLowLevel {
  constructor(info: Implementation, options: CompatServerOptions = {}) {
    super(createServer(info, options), options.bowline?.maskErrors);
  }
}

function createServer(info: Implementation, { instructions, capabilities = {}, bowline }: CompatServerOptions) {
  const { tools, prompts, resources, logging, experimental, extensions } = capabilities;
  const given = defined({ tools, prompts, resources, experimental, extensions });
  return new BowlineServer(info, {
    ...(instructions !== undefined && { instructions }),
    capabilities: { ...given, ...(logging && { logging: true }) },
    ...bowline,
  });
}

export type {
  CompatMessage,
  CompatRequestOptions,
  HandlerExtra,
  SampledMessage,
  SendRequest,
} from "../compat/extra.js";
export { type CompatLowLevel, type CompatTransport, StdioServerTransport } from "../compat/low-level.js";
export type {
  CompatHandler,
  CompatPromptHandler,
  CompatPromptOptions,
  CompatReadResult,
  CompatResourceChanges,
  CompatResourceOptions,
  CompatServer,
  CompatToolHandler,
  CompatToolOptions,
  CompatToolResult,
  ReadCallback,
  ReadTemplateCallback,
  RegisteredPrompt,
  RegisteredResource,
  RegisteredResourceTemplate,
  RegisteredTool,
} from "../compat/mcp-server.js";
export type { MessageOf, MethodSchema, ParamsOf, ParamsSchemas } from "../compat/message-schema.js";
export type { CompatRegistration } from "../compat/registration.js";
export type { SchemaOrShape, Shape, ValuesOf } from "../compat/shape.js";
export { type Complete, completable, ResourceTemplate } from "../compat/templates.js";
export type { Server as BowlineServer } from "../server/server.js";
// The signatures above use types of the server and of the protocol. A program may import this entry alone.
export type * from "./server-common.js";
