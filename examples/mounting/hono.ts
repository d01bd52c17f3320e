import type { Server } from "bowline/server";
import { Hono } from "hono";

/** Mounts an MCP server as a route of Hono, on any runtime. */
export function createHonoApp(server: Server): Hono {
  const app = new Hono();
  app.all("/api/mcp", (c) => server.fetch(c.req.raw));
  return app;
}
