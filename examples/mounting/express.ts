import { toNodeListener } from "bowline/node";
import type { Server } from "bowline/server";
import express, { type Express, Router } from "express";

/**
 * An MCP server inside an Express app, below a router. A body parser in front does no harm: what it leaves in `req.body`
 * is used. The server itself refuses requests of foreign hosts and origins.
 */
export function createExpressApp(server: Server, options: { readonly parseBodies?: boolean } = {}): Express {
  const app = express();
  if (options.parseBodies ?? true) app.use(express.json({ limit: "4mb" }));
  const router = Router();
  // The last two are for clients of 2024-11-05, where the server has `http: { sse: true }`.
  router.all(["/mcp", "/sse", "/messages"], toNodeListener(server));
  app.use("/api", router);
  return app;
}
