import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "bowline/cluster";
import { serveHttp } from "bowline/node";
import { fromPg, postgresCluster } from "bowline/postgres";
import { fromNodeRedis, redisCluster } from "bowline/redis";
import { McpServer } from "bowline/server";
import pg from "pg";
import { createClient } from "redis";
import * as z from "zod";

/**
 * One node of a server that runs in several processes. The environment has the address of the engine (CLUSTER_URL), the
 * key of sealed states (STATE_KEY), the names by which clients reach the server (ALLOWED_HOSTS), and the name of the
 * node (NODE_NAME).
 */
const { CLUSTER_URL = "", STATE_KEY = "", ALLOWED_HOSTS = "localhost", NODE_NAME = "node", HOST, PORT } = process.env;

function openCluster(url: string): Cluster {
  if (url.startsWith("postgres")) return postgresCluster({ client: fromPg(new pg.Pool({ connectionString: url })) });
  return redisCluster({ client: fromNodeRedis(createClient({ url })), logger: console });
}

const cluster = openCluster(CLUSTER_URL);
const server = new McpServer(
  { name: "harbour", version: "1.0.0" },
  {
    cluster,
    stateKeys: [{ id: "1", secret: new Uint8Array(Buffer.from(STATE_KEY, "base64")) }],
    http: { allowedHosts: ALLOWED_HOSTS.split(","), resumable: true },
    logger: console,
  },
);
server
  .tool("node", { description: "Tells which node serves the call" }, () => NODE_NAME)
  .tool("tow", { description: "Tows a ship, and reports progress" }, async (_args, ctx) => {
    for (let step = 1; step <= 3; step++) {
      ctx.progress(step, 3);
      await sleep(100, undefined, { signal: ctx.signal });
    }
    return `towed by ${NODE_NAME}`;
  })
  .tool("cast-off", { description: "Lets a ship go, after asking the user" }, async (_args, ctx) => {
    const answer = await ctx.elicit("Let the ship go?", z.object({ sure: z.boolean() }));
    return answer.action === "accept" && answer.content.sure ? "it is off" : "it stays";
  })
  .tool("raise", { description: "Changes the signal" }, () => server.changes.resourceUpdated("signal://mast"))
  .resource("signal://mast", { name: "signal" }, () => "raised");

const running = await serveHttp(server, { host: HOST ?? "0.0.0.0", port: Number(PORT ?? 3000) });
console.log(`${NODE_NAME} listens at ${running.url}`);

process.once("SIGTERM", async () => {
  await running.drain(20_000);
  await cluster.close();
  process.exit();
});
