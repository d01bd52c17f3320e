import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { McpServer, StreamableHttpTransport } from "mcp-lite";
import * as z from "zod";

const server = new McpServer({ name: "a", version: "1", schemaAdapter: (schema) => z.toJSONSchema(schema) });
server.tool("echo", {
  inputSchema: z.object({ text: z.string() }),
  handler: async ({ text }) => ({ content: [{ type: "text", text }] }),
});
createServer(getRequestListener(new StreamableHttpTransport().bind(server))).listen(0, "127.0.0.1");
