import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
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
    server.registerTool("slow", { description: descriptions.slow, inputSchema: Slow }, ({ tag }, { signal }) =>
      handlers.slow(tag, signal),
    );
  }
  for (const { name, uri, mimeType, text } of resources) {
    server.registerResource(name, uri, { mimeType }, async ({ href }) => ({
      contents: [{ uri: href, text, mimeType }],
    }));
  }
  return server;
}

function progress({ _meta, sendNotification }) {
  const progressToken = _meta?.progressToken;
  return handlers.progress((progress, total) => {
    if (progressToken === undefined) return;
    return sendNotification({ method: "notifications/progress", params: { progressToken, progress, total } });
  });
}

export async function serveStdio() {
  await createServer().connect(new StdioServerTransport());
}

/** Serves in the documented way: a transport and a server per session. */
export function serveHttp({ json }) {
  const sessions = new Map();
  return listen(async (request, response) => {
    const session = request.headers["mcp-session-id"];
    let transport = sessions.get(session);
    if (transport === undefined) {
      if (session !== undefined) return response.writeHead(404).end();
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        enableJsonResponse: json === true,
        onsessioninitialized: (id) => void sessions.set(id, transport),
      });
      transport.onclose = () => sessions.delete(transport.sessionId);
      await createServer().connect(transport);
    }
    await transport.handleRequest(request, response);
  });
}
