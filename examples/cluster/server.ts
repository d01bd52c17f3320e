import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Cluster } from "bowline/cluster";
import { serveHttp } from "bowline/node";
import { fromPg, postgresCluster } from "bowline/postgres";
import { fromNodeRedis, redisCluster } from "bowline/redis";
import { McpServer } from "bowline/server";
import { sqliteCluster } from "bowline/sqlite";
import pg from "pg";
import { createClient } from "redis";
import * as z from "zod";

/**
 * One node of a server that runs in several processes. The environment has the address of the engine (CLUSTER_URL), the
 * keys of sealed states (STATE_KEYS, such as `2026-11:secret,2026-08:secret`: the first seals, each opens), the names by which
 * clients reach the server (ALLOWED_HOSTS), and the name of the node (NODE_NAME).
 */
const {
  CLUSTER_URL = "",
  STATE_KEYS = "",
  ALLOWED_HOSTS = "localhost",
  NODE_NAME = "node",
  NODE_LEASE_MS = "10000",
  HOST = "0.0.0.0",
  PORT = "3000",
} = process.env;

function openCluster(url: string): Cluster {
  if (url.startsWith("file:")) return sqliteCluster({ path: fileURLToPath(url) });
  if (url.startsWith("postgres")) return postgresCluster({ client: fromPg(new pg.Pool({ connectionString: url })) });
  return redisCluster({ client: fromNodeRedis(createClient({ url })), logger: console });
}

function toKey(text: string) {
  const [id = "", secret = ""] = text.split(":");
  return { id, secret: new Uint8Array(Buffer.from(secret, "base64")) };
}

const cluster = openCluster(CLUSTER_URL);
/** Hints of tools that change something, which a client must not repeat by itself. */
const CHANGES = { destructiveHint: false, idempotentHint: false };

const server = new McpServer(
  { name: "harbour", version: "1.0.0" },
  {
    cluster,
    stateKeys: STATE_KEYS.split(",").map(toKey),
    http: { allowedHosts: ALLOWED_HOSTS.split(","), resumable: true },
    limits: { nodeLeaseMs: Number(NODE_LEASE_MS) },
    logger: console,
  },
);
server
  .tool(
    "node",
    { description: "Tells which node serves the call", annotations: { readOnlyHint: true } },
    () => NODE_NAME,
  )
  .tool("tow", { description: "Tows a ship, and reports progress", annotations: CHANGES }, async (_args, ctx) => {
    for (let step = 1; step <= 3; step++) {
      ctx.progress(step, 3);
      await sleep(100, undefined, { signal: ctx.signal });
    }
    return `towed by ${NODE_NAME}`;
  })
  .tool(
    "cast-off",
    { description: "Lets a ship go, after asking the user", annotations: CHANGES },
    async (_args, ctx) => {
      const answer = await ctx.elicit("Let the ship go?", z.object({ sure: z.boolean() }));
      return answer.action === "accept" && answer.content.sure ? "it is off" : "it stays";
    },
  )
  .tool("raise", { description: "Changes the signal", annotations: CHANGES }, () =>
    server.changes.resourceUpdated("signal://mast"),
  )
  .resource("signal://mast", { name: "signal" }, () => "raised");

const running = await serveHttp(server, { host: HOST, port: Number(PORT) });
console.log(`${NODE_NAME} listens at ${running.url}`);
setInterval(() => process.send?.(server.stats()), 250).unref(); // for play.ts

process.once("SIGTERM", async () => {
  await running.drain(20_000);
  await cluster.close();
  process.exit();
});
