import { serveNodeRequest } from "bowline/node";
import type { Server } from "bowline/server";
import { type FastifyInstance, fastify } from "fastify";

/** An MCP server as a route of Fastify, which parses the body and then keeps its hands off the reply. */
export function createFastifyApp(server: Server): FastifyInstance {
  // Clients hold connections and streams open: closing the app does not wait for them.
  const app = fastify({ bodyLimit: 4 * 1024 * 1024, forceCloseConnections: true });
  app.all("/api/mcp", (request, reply) => {
    reply.hijack();
    serveNodeRequest(server, request.raw, reply.raw, { body: request.body });
  });
  return app;
}
