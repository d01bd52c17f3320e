import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { HttpTransport } from "@tmcp/transport-http";
import { McpServer } from "tmcp";
import * as z from "zod";

const adapter = new ZodJsonSchemaAdapter();
const server = new McpServer({ name: "a", version: "1" }, { adapter, capabilities: { tools: {} } });
server.tool({ name: "echo", description: "", schema: z.object({ text: z.string() }) }, async ({ text }) => ({
  content: [{ type: "text", text }],
}));
const transport = new HttpTransport(server, { path: "/mcp" });
createServer(getRequestListener((request) => transport.respond(request))).listen(0, "127.0.0.1");
