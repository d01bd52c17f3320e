import { after, before } from "node:test";
import { createClient } from "redis";
import { contract } from "../../contract/contract.js";
import { type RedisServer, startRedis } from "../../support/engines/redis.js";
import { libraries, openOn } from "./world.js";

/** A server in the mode of a Redis Cluster refuses scripts whose keys are in different slots. */
let server: RedisServer;
before(async () => {
  server = await startRedis(["--cluster-enabled", "yes"]);
  const client = createClient({ url: server.url });
  await client.connect();
  await client.sendCommand(["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
  while (!String(await client.sendCommand(["CLUSTER", "INFO"])).includes("cluster_state:ok"));
  client.destroy();
});
after(() => server.end());

contract(
  "Redis with slots",
  openOn(() => server, libraries.redis),
);
