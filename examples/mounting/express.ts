import { toNodeListener } from "bowline/node";
import type { Server } from "bowline/server";
import express, { type Express, Router } from "express";

/**
 * Mounts an MCP server on a router of an Express app. The server uses `req.body` if a body parser has set it. It checks
 * `Host` and `Origin` itself.
 */
export function createExpressApp(server: Server, options: { readonly parseBodies?: boolean } = {}): Express {
  const app = express();
  if (options.parseBodies ?? true) app.use(express.json({ limit: "4mb" }));
  const router = Router();
  // The last two are for clients of 2024-11-05 and need `http: { sse: true }` of the server.
  router.all(["/mcp", "/sse", "/messages"], toNodeListener(server));
  app.use("/api", router);
  return app;
}
