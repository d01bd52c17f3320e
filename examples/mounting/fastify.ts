import { serveNodeRequest } from "bowline/node";
import type { Server } from "bowline/server";
import { type FastifyInstance, fastify } from "fastify";

/** Mounts an MCP server as a route of Fastify, which parses the body and leaves the reply to the server. */
export function createFastifyApp(server: Server): FastifyInstance {
  // Closing the app does not wait for connections and streams that clients keep open.
  const app = fastify({ bodyLimit: 4 * 1024 * 1024, forceCloseConnections: true });
  app.all("/api/mcp", (request, reply) => {
    reply.hijack();
    serveNodeRequest(server, request.raw, reply.raw, { body: request.body });
  });
  return app;
}
