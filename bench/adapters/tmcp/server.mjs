import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { McpServer } from "tmcp";
import { descriptions, extraTools, handlers, hasProgress, hasSlow, info, resources } from "../../workload/app.mjs";
import { Echo, Extra, Slow } from "../../workload/schemas.mjs";
import { listen } from "../listen.mjs";

const capabilities = { tools: { listChanged: true }, resources: { listChanged: true } };

export function createServer() {
  const server = new McpServer(info, { adapter: new ZodJsonSchemaAdapter(), capabilities });
  server.tool({ name: "echo", description: descriptions.echo, schema: Echo }, async (args) => handlers.echo(args));
  for (const tool of extraTools) server.tool({ ...tool, schema: Extra }, async (args) => handlers.extra(args));
  if (hasProgress) {
    server.tool({ name: "progress", description: descriptions.progress }, () =>
      handlers.progress((progress, total) => server.progress(progress, total)),
    );
  }
  if (hasSlow) {
    server.tool({ name: "slow", description: descriptions.slow, schema: Slow }, ({ tag }) =>
      handlers.slow(tag, server.ctx.signal),
    );
  }
  for (const { name, uri, mimeType, text } of resources) {
    server.resource({ name, description: name, uri, mimeType }, async () => ({ contents: [{ uri, text, mimeType }] }));
  }
  return server;
}

export async function serveStdio() {
  const { StdioTransport } = await import("@tmcp/transport-stdio");
  new StdioTransport(createServer()).listen();
}

export async function serveHttp() {
  const { HttpTransport } = await import("@tmcp/transport-http");
  const { getRequestListener } = await import("@hono/node-server");
  const transport = new HttpTransport(createServer(), { path: "/mcp" });
  return listen(
    getRequestListener(async (request) => (await transport.respond(request)) ?? new Response(null, { status: 404 })),
  );
}
