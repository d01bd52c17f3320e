import { FastMCP } from "fastmcp";
import * as z from "zod";

const server = new FastMCP({ name: "a", version: "1.0.0" });
server.addTool({ name: "echo", parameters: z.object({ text: z.string() }), execute: async ({ text }) => text });
await server.start({ transportType: "httpStream", httpStream: { port: 0, host: "127.0.0.1" } });
