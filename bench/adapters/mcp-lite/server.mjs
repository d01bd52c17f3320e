import { InMemorySessionAdapter, McpServer, StreamableHttpTransport } from "mcp-lite";
import * as z from "zod";
import { descriptions, extraTools, handlers, hasProgress, hasSlow, info, resources } from "../../workload/app.mjs";
import { Echo, Extra, Slow } from "../../workload/schemas.mjs";
import { listen } from "../listen.mjs";

export function createServer() {
  const server = new McpServer({ ...info, schemaAdapter: (schema) => z.toJSONSchema(schema) });
  const add = (name, description, inputSchema, handler) => server.tool(name, { description, inputSchema, handler });
  add("echo", descriptions.echo, Echo, async (args) => handlers.echo(args));
  for (const { name, description } of extraTools) add(name, description, Extra, async (args) => handlers.extra(args));
  if (hasProgress) {
    add("progress", descriptions.progress, undefined, (_, ctx) =>
      handlers.progress((progress, total) => ctx.progress?.({ progress, total })),
    );
  }
  if (hasSlow) add("slow", descriptions.slow, Slow, ({ tag }) => handlers.slow(tag, undefined));
  for (const { name, uri, mimeType, text } of resources) {
    server.resource(uri, { name, mimeType }, async () => ({ contents: [{ uri, type: "text", text, mimeType }] }));
  }
  return server;
}

export async function serveHttp() {
  const { getRequestListener } = await import("@hono/node-server");
  const sessionAdapter = new InMemorySessionAdapter({ maxEventBufferSize: 1024 });
  return listen(getRequestListener(new StreamableHttpTransport({ sessionAdapter }).bind(createServer())));
}
