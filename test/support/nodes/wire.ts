import { mkdirSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { after, type TestContext } from "node:test";
import type { Server } from "bowline/server";
import type { HttpExchange } from "#src/http/exchange.js";
import { createNodeExchange } from "#src/node/http/exchange.js";
import { disconnectAll } from "./engine.js";
import { balance, endPlaces, served } from "./places.js";
import { McpServer } from "./server.js";

/** Serves both nodes behind nginx, on the paths that `serveHttp` serves. Returns the origin. */
export async function serveNodes(
  t: TestContext,
  server: Server,
  through: (exchange: HttpExchange) => HttpExchange = (exchange) => exchange,
): Promise<string> {
  if (!(server instanceof McpServer)) throw new Error("the server has one node: it is no McpServer of bowline/server");
  await server.start();
  const nodes: readonly Server[] = [server, server.second];
  const paths = new Set(["/mcp", ...server.onListening("127.0.0.1")]);
  const listenerOf =
    (node: Server): RequestListener =>
    (req, res) => {
      if (paths.has(new URL(req.url ?? "", "http://localhost").pathname))
        node.handle(through(createNodeExchange(req, res)));
      else res.writeHead(404).end();
    };
  const { origin, release } = await balance(nodes.map(listenerOf));
  t.after(release);
  return origin;
}

after(async () => {
  await disconnectAll();
  await endPlaces();
  const folder = process.env.BOWLINE_SERVED;
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${process.pid}.json`), JSON.stringify(served));
});
