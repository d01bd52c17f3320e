import { after, before } from "node:test";
import { clientRounds } from "../../support/engines/client-rounds.js";
import { type RedisServer, startRedis } from "../../support/engines/redis.js";
import { libraries, openOn } from "./world.js";

let server: RedisServer;
before(async () => {
  server = await startRedis();
});
after(() => server.end());

clientRounds(
  "Redis",
  openOn(() => server, libraries.redis, { heartbeatMs: 500 }),
);
