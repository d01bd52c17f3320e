import { fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const input = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
serveStdio(() => {
  const server = new McpServer({ name: "a", version: "1" });
  server.registerTool("echo", { inputSchema: fromJsonSchema(input) }, async ({ text }) => ({
    content: [{ type: "text", text }],
  }));
  return server;
});
