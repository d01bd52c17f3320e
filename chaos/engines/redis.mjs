import { support } from "../support.mjs";

/** Redis with its usual persistence: a write reaches the kernel before its reply, and the disk within a second. */
const SETTINGS = ["--appendfsync", "everysec"];

export async function openEngine() {
  const { startRedis } = await support("engines/redis.js");
  const server = await startRedis(SETTINGS);
  return { address: server.url, kill: server.kill, start: server.start, end: server.end };
}

export async function connectNode(url) {
  const { createClient } = await import("redis");
  const { fromNodeRedis, redisCluster } = await import("bowline/redis");
  const cluster = redisCluster({ client: fromNodeRedis(createClient({ url })), prefix: "chaos" });
  await cluster.ready;
  return cluster;
}
