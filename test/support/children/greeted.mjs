// A server with nothing to do.
import { serveStdio } from "bowline/node";
import { McpServer } from "bowline/server";

await serveStdio(new McpServer({ name: "weather", version: "1.0.0" }));
