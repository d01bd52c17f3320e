import { lazyModule } from "../call/lazy.js";
import { legacyDescriptor } from "../era/legacy/server/descriptor.js";
import { modernServer } from "../era/modern/server/era.js";
import type { OfferedEra } from "../era/server-era.js";
import type { Implementation } from "../protocol/types/index.js";
import { lazyValidator } from "../schema/json-schema/lazy-validator.js";
import type { ServerOptions } from "../server/options.js";
import { Server } from "../server/server.js";
import { eraOfRequest } from "../server/transports/pick-era.js";

/** Legacy era with handshake and sessions. It is loaded when a client first uses it. */
const offeredLegacy: OfferedEra = {
  ...legacyDescriptor,
  load: lazyModule(async () => (await import("../era/legacy/server/era.js")).legacyServer),
};

/**
 * MCP server for clients of every protocol version.
 *
 * @example
 * ```ts
 * const server = new McpServer({ name: "weather", version: "1.0.0" }).tool(
 *   "forecast",
 *   { description: "Forecasts the weather.", input: z.object({ city: z.string() }) },
 *   ({ city }) => `Cold in ${city}`,
 * );
 * await serveStdio(server);
 * ```
 */
export class McpServer extends Server {
  constructor(info: Implementation, options: ServerOptions = {}) {
    super(info, options, [modernServer, offeredLegacy], lazyValidator);
  }
}

/**
 * True if a request comes from a client of the legacy era, by the same rules as the endpoint. The body of the request
 * stays unread, so that the request can be passed on to a server of that era. Pass the body separately if it has
 * already been parsed.
 */
export async function isLegacyRequest(request: Request, body?: unknown): Promise<boolean> {
  return (await eraOfRequest([modernServer, offeredLegacy], request, body)) === offeredLegacy;
}

export * from "./server-common.js";
