import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { StdioTransport } from "@tmcp/transport-stdio";
import { McpServer } from "tmcp";
import * as z from "zod";

const adapter = new ZodJsonSchemaAdapter();
const server = new McpServer({ name: "a", version: "1" }, { adapter, capabilities: { tools: {} } });
server.tool({ name: "echo", description: "", schema: z.object({ text: z.string() }) }, async ({ text }) => ({
  content: [{ type: "text", text }],
}));
new StdioTransport(server).listen();
