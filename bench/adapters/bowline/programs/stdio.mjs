import { serveStdio } from "bowline/node";
import { McpServer } from "bowline/server";
import * as z from "zod";

const server = new McpServer({ name: "a", version: "1" });
server.tool("echo", { input: z.object({ text: z.string() }) }, ({ text }) => text);
await serveStdio(server);
