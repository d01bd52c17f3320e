import { equal, match } from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { fromNodeRedis, redisCluster } from "bowline/redis";
import { createClient } from "redis";

test("the rejection of ready does not promise a retry, since the process ends by it; later errors do", async (t) => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  const cluster = redisCluster({ client: fromNodeRedis(createClient({ url: `redis://127.0.0.1:${port}` })) });
  t.after(() => cluster.close());
  const failure = (work: Promise<unknown>) => work.then(String, (error: Error) => error.message);
  const first = await failure(cluster.ready);
  match(first, /^start: Redis cannot be reached: /);
  equal(first.includes("tried again"), false);
  match(await failure(Promise.resolve(cluster.records.get("a"))), /Redis cannot be reached; it is tried again: /);
});
