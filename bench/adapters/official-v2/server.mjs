import { randomUUID } from "node:crypto";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { descriptions, extraTools, handlers, hasProgress, hasSlow, info, resources } from "../../workload/app.mjs";
import { Echo, Extra, Slow } from "../../workload/schemas.mjs";
import { listen } from "../listen.mjs";

export function createServer() {
  const server = new McpServer(info);
  server.registerTool("echo", { description: descriptions.echo, inputSchema: Echo }, async (args) =>
    handlers.echo(args),
  );
  for (const { name, description } of extraTools) {
    server.registerTool(name, { description, inputSchema: Extra }, async (args) => handlers.extra(args));
  }
  if (hasProgress) server.registerTool("progress", { description: descriptions.progress }, progress);
  if (hasSlow) {
    server.registerTool("slow", { description: descriptions.slow, inputSchema: Slow }, ({ tag }, { mcpReq }) =>
      handlers.slow(tag, mcpReq.signal),
    );
  }
  for (const { name, uri, mimeType, text } of resources) {
    server.registerResource(name, uri, { mimeType }, async ({ href }) => ({
      contents: [{ uri: href, text, mimeType }],
    }));
  }
  return server;
}

function progress({ mcpReq }) {
  const progressToken = mcpReq._meta?.progressToken;
  return handlers.progress((progress, total) => {
    if (progressToken === undefined) return;
    return mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total } });
  });
}

export async function serveStdio() {
  const { serveStdio } = await import("@modelcontextprotocol/server/stdio");
  serveStdio(createServer);
}

/**
 * Serves in the documented ways: a handler that creates a server per request, or a transport and a server per session.
 */
export async function serveHttp({ modern, json }) {
  const node = await import("@modelcontextprotocol/node");
  const hostAllowed = node.localhostHostValidation();
  const originAllowed = node.localhostOriginValidation();
  const handle = modern
    ? node.toNodeHandler(createMcpHandler(createServer, { legacy: "reject" }))
    : perSession(node.NodeStreamableHTTPServerTransport, json === true);
  return listen((request, response) => {
    if (hostAllowed(request, response) && originAllowed(request, response)) void handle(request, response);
  });
}

function perSession(Transport, enableJsonResponse) {
  const sessions = new Map();
  return async (request, response) => {
    const session = request.headers["mcp-session-id"];
    let transport = sessions.get(session);
    if (transport === undefined) {
      if (session !== undefined) return response.writeHead(404).end();
      transport = new Transport({
        sessionIdGenerator: () => randomUUID(),
        enableJsonResponse,
        onsessioninitialized: (id) => void sessions.set(id, transport),
      });
      transport.onclose = () => sessions.delete(transport.sessionId);
      await createServer().connect(transport);
    }
    await transport.handleRequest(request, response);
  };
}
