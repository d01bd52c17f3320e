import { serveStdio } from "bowline/node";
import { McpServer } from "bowline/server";

const input = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const server = new McpServer({ name: "a", version: "1" });
server.tool("echo", { input }, ({ text }) => text);
await serveStdio(server);
