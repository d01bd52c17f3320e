import { randomUUID } from "node:crypto";
import { after } from "node:test";
import { redisCluster } from "#src/redis/cluster.js";
import { pauseContract } from "../../contract/pause.js";
import { startRedis } from "../../support/engines/redis.js";
import { libraries } from "./world.js";

const server = await startRedis();
after(() => server.end());

pauseContract("Redis", async (t) => {
  const prefix = `test-${randomUUID()}`;
  const node = redisCluster({ client: libraries.redis(server.url), prefix });
  t.after(() => node.close());
  await node.ready;
  return { node, args: ["redis", server.url, prefix] };
});
