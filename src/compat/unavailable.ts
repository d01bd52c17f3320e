/** Reports a part of the official SDK that has no counterpart here, with the way to do the same. */
export function unavailable(what: string, remedy: string): never {
  throw new Error(`${what} is not available in bowline/compat: ${remedy}`);
}

const SERVE_HTTP =
  "serve the server with serveHttp(server.bowline) of bowline/node, toNodeListener(server.bowline), or server.bowline.fetch";

/** @deprecated Serve `server.bowline` by `serveHttp`. The constructor throws an error that says so. */
export class StreamableHTTPServerTransport {
  constructor(_options?: object) {
    unavailable("StreamableHTTPServerTransport", SERVE_HTTP);
  }
}

/** @deprecated Serve `server.bowline` by its `fetch`. The constructor throws an error that says so. */
export class WebStandardStreamableHTTPServerTransport {
  constructor(_options?: object) {
    unavailable("WebStandardStreamableHTTPServerTransport", SERVE_HTTP);
  }
}

/** @deprecated Serve `server.bowline` by its `fetch`. Throws an error that says so. */
export function createMcpHandler(_create: unknown, _options?: object): never {
  return unavailable("createMcpHandler", SERVE_HTTP);
}

/** @deprecated Call `server.connect(new StdioServerTransport())`. Throws an error that says so. */
export function serveStdio(_create: unknown, _options?: object): never {
  return unavailable("serveStdio", "call server.connect(new StdioServerTransport())");
}

/** @deprecated Serve `server.bowline` by its `fetch`. The constructor throws an error that says so. */
export class PerRequestHTTPServerTransport {
  constructor(_options?: object) {
    unavailable("PerRequestHTTPServerTransport", SERVE_HTTP);
  }
}

/**
 * Refuses the transports of Streamable HTTP, which have a method that takes requests. That of HTTP+SSE has one for messages
 * too, and carries one client.
 */
export function refuseHttpTransport(transport: object): void {
  const takesMessages = "handleMessage" in transport && !("handlePostMessage" in transport);
  if ("handleRequest" in transport || takesMessages) unavailable(`connect(${transport.constructor.name})`, SERVE_HTTP);
}
