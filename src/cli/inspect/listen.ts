import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { InspectEndpoint } from "../../inspect/endpoint.js";
import { toNodeListener } from "../../node/http/serve.js";
import { UsageError } from "../failures.js";

/** What anybody may make the server hold. */
interface ListenLimits {
  /** Connections of browsers, and of programs that only hold them open. */
  readonly maxConnections: number;
  /** Time for the head of a request, and for all of it. An event stream is a response, which may last. */
  readonly headMs: number;
  readonly requestMs: number;
}

const LIMITS: ListenLimits = { maxConnections: 128, headMs: 5_000, requestMs: 30_000 };

/** Server of a page that listens. */
export interface ListeningPage {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves the page of an inspector on 127.0.0.1, and on no other address. */
export async function listenForPage(
  port: number,
  endpointAt: (port: number) => InspectEndpoint,
  { maxConnections, headMs, requestMs } = LIMITS,
): Promise<ListeningPage> {
  const server = createServer({
    headersTimeout: headMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: headMs / 5,
    maxHeaderSize: 16_384,
  });
  server.maxConnections = maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(new UsageError(`cannot listen on port ${port} (${error.code}); choose another by --port`)),
    );
    server.listen(port, "127.0.0.1", resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  // Requests that arrive from now on are handled in a later turn.
  server.on("request", toNodeListener(endpointAt(bound)));
  return {
    port: bound,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
