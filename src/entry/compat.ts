import { type CompatCapabilities, toCapabilities } from "../compat/capabilities.js";
import { CompatLowLevel, type CompatParts } from "../compat/low-level.js";
import { CompatServer } from "../compat/mcp-server.js";
import type { VerifyState } from "../compat/run-handler.js";
import type { Implementation } from "../protocol/types/index.js";
import type { ServerOptions } from "../server/options.js";
import { McpServer as BowlineServer } from "./server.js";

/** Options of a server as in the official SDK. `bowline` has options of the Bowline server, which take precedence. */
export interface CompatServerOptions {
  readonly instructions?: string;
  readonly capabilities?: CompatCapabilities;
  /** Checks states before handlers get them, such as those of `createRequestStateCodec` (version 2). */
  readonly requestState?: { readonly verify?: VerifyState };
  readonly bowline?: ServerOptions;
  readonly [option: string]: unknown;
}

/** Bowline server with the interface of `McpServer` of the official SDK. */
export class McpServer extends CompatServer {
  constructor(info: Implementation, options: CompatServerOptions = {}) {
    super(createParts(info, options));
  }
}

/** Bowline server with the interface of `Server` of the official SDK. */
export class Server extends CompatLowLevel {
  constructor(info: Implementation, options: CompatServerOptions = {}) {
    super(createParts(info, options));
  }
}

function createParts(
  info: Implementation,
  { instructions, capabilities = {}, requestState, bowline: options }: CompatServerOptions,
): CompatParts {
  const declared = { ...(options?.capabilities ?? toCapabilities(capabilities)) };
  const bowline = new BowlineServer(info, {
    ...(instructions !== undefined && { instructions }),
    ...options,
    capabilities: declared,
  });
  return { bowline, declared, maskErrors: options?.maskErrors ?? false, verifyState: requestState?.verify };
}

export type { CompatCapabilities } from "../compat/capabilities.js";
export type {
  CompatMessage,
  CompatRequestOptions,
  HandlerExtra,
  SampledMessage,
  SendRequest,
} from "../compat/extra.js";
export type { CompatLowLevel, CompatTransport } from "../compat/low-level.js";
export type {
  CompatExperiments,
  CompatHandler,
  CompatPromptHandler,
  CompatPromptOptions,
  CompatReadResult,
  CompatResourceChanges,
  CompatResourceOptions,
  CompatServer,
  CompatTaskOptions,
  CompatToolHandler,
  CompatToolOptions,
  ReadCallback,
  ReadTemplateCallback,
  RegisteredPrompt,
  RegisteredResource,
  RegisteredResourceTemplate,
  RegisteredTool,
} from "../compat/mcp-server.js";
export type { MessageOf, MethodSchema, ParamsOf, ParamsSchemas } from "../compat/message-schema.js";
export type { CompatRegistration } from "../compat/registration.js";
export type { CompatToolResult, VerifyState } from "../compat/run-handler.js";
export type { SchemaOrShape, Shape, ValuesOf } from "../compat/shape.js";
export { StdioServerTransport, type StdioTransportOptions, type TransportHandlers } from "../compat/stdio.js";
export {
  COMPLETABLE_SYMBOL,
  type Complete,
  completable,
  getCompleter,
  isCompletable,
  McpZodTypeKind,
  ResourceTemplate,
  unwrapCompletable,
} from "../compat/templates.js";
export type {
  CompatTask,
  CompatTaskExtra,
  CompatTaskHandler,
  CompatTaskStatus,
  CompatTaskStore,
} from "../compat/tool-task.js";
export {
  createMcpHandler,
  PerRequestHTTPServerTransport,
  StreamableHTTPServerTransport,
  serveStdio,
  WebStandardStreamableHTTPServerTransport,
} from "../compat/unavailable.js";
export type { WriteLine } from "../node/stdio/frame-writer.js";
export type { StdioServerLimits, StdioServerOptions } from "../node/stdio/server.js";
export type { Server as BowlineServer } from "../server/server.js";
// The signatures above use types of the server and of the protocol. A program may import this entry alone.
export type * from "./server-common.js";
