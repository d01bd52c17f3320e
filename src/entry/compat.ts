import { CompatLowLevel } from "../compat/low-level.js";
import { CompatServer } from "../compat/mcp-server.js";
import type { Implementation } from "../protocol/types/index.js";
import type { ServerOptions } from "../server/options.js";
import { McpServer as BowlineServer } from "./server.js";

/** Options of a server of the official SDK. `bowline` has the options of Bowline. */
export interface CompatServerOptions {
  readonly instructions?: string;
  readonly capabilities?: {
    readonly tools?: { readonly listChanged?: boolean };
    readonly prompts?: { readonly listChanged?: boolean };
    readonly resources?: { readonly listChanged?: boolean; readonly subscribe?: boolean };
    readonly logging?: object;
    readonly [capability: string]: unknown;
  };
  readonly bowline?: ServerOptions;
  readonly [option: string]: unknown;
}

/** High-level server of the official SDK. */
export class McpServer extends CompatServer {
  constructor(info: Implementation, options: CompatServerOptions = {}) {
    super(createServer(info, options));
  }
}

/** Low-level server of the official SDK. */
export class Server extends CompatLowLevel {
  constructor(info: Implementation, options: CompatServerOptions = {}) {
    super(createServer(info, options));
  }
}

function createServer(info: Implementation, { instructions, capabilities = {}, bowline }: CompatServerOptions) {
  const { tools, prompts, resources, logging } = capabilities;
  const given = { ...(tools && { tools }), ...(prompts && { prompts }), ...(resources && { resources }) };
  return new BowlineServer(info, {
    ...(instructions !== undefined && { instructions }),
    capabilities: { ...given, ...(logging && { logging: true }) },
    ...bowline,
  });
}

export type { CompatMessage, CompatRequestOptions, HandlerExtra, SendRequest } from "../compat/extra.js";
export { type CompatTransport, type MethodSchema, StdioServerTransport } from "../compat/low-level.js";
export {
  type CompatPromptOptions,
  type CompatRegistration,
  type CompatResourceOptions,
  type CompatToolOptions,
  completable,
  ResourceTemplate,
} from "../compat/mcp-server.js";
export type { SchemaOrShape, Shape, ValuesOf } from "../compat/shape.js";
