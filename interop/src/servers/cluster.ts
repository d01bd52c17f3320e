import { basename } from "node:path";
import type { Cluster } from "bowline/cluster";

/** Keys of the states, the same in every node. The folder of the run makes them different from those of other runs. */
const place = basename(process.argv[3] ?? "")
  .replace(/\W/g, "_")
  .toLowerCase();
export const stateKeys = [{ id: "interop", secret: new TextEncoder().encode(place.padEnd(32, ".").slice(-32)) }];

/** Connects a node to the engine at REDIS_URL or DATABASE_URL. The nodes of a run have a place of their own there. */
export async function openCluster(engine: "redis" | "postgres"): Promise<Cluster> {
  const cluster = engine === "redis" ? await openRedis() : await openPostgres();
  await cluster.ready;
  return cluster;
}

async function openRedis() {
  const { createClient } = await import("redis");
  const { fromNodeRedis, redisCluster } = await import("bowline/redis");
  return redisCluster({ client: fromNodeRedis(createClient({ url: process.env.REDIS_URL ?? "" })), prefix: place });
}

async function openPostgres() {
  const { default: pg } = await import("pg");
  const { fromPg, postgresCluster } = await import("bowline/postgres");
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL ?? "", allowExitOnIdle: true });
  return postgresCluster({ client: fromPg(pool), schema: place });
}
