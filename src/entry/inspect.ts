import { createInspector, type InspectableServer, type InspectOptions, type Inspector } from "../inspect/inspector.js";
import { pageFolder } from "../node/files/page.js";
import { atCaller } from "../protocol/at-caller.js";

export type { HttpExchange } from "../http/exchange.js";
export type { InspectableServer, InspectOptions, Inspector } from "../inspect/inspector.js";
export type { InspectLimits } from "../inspect/limits.js";
export type { RedactionOptions } from "../recording/redactor.js";

/** Folder of the page. This file is at the same depth in the package. */
const PAGE = new URL("../cli/page/", import.meta.url);

/**
 * Creates an inspector: a page that shows all traffic of a server, and calls its tools, for development servers. It refuses to start
 * if `NODE_ENV` is `production`.
 *
 * @example
 * ```ts
 * const inspector = inspect({ server });
 * const { url } = await serveHttp(inspector, { port: 3001, path: "/inspect/" });
 * console.log(`Inspect at ${inspector.link(url)}`);
 * ```
 */
export function inspect<S extends InspectableServer>(options: InspectOptions<S>): Inspector<S> {
  return atCaller(inspect, () =>
    createInspector(options, {
      by: "bowline",
      files: pageFolder(PAGE),
      isProduction: process.env.NODE_ENV === "production",
      warn: (message) => void process.stderr.write(`${message}\n`),
    }),
  );
}

// The signatures above use types of the client and of the protocol. A program may import this entry alone.
export type * from "./client-common.js";
