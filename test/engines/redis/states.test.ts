import { after, before } from "node:test";
import { type RedisServer, startRedis } from "../../support/engines/redis.js";
import { stateRounds } from "../../support/engines/state-rounds.js";
import { libraries, openOn } from "./world.js";

let server: RedisServer;
before(async () => {
  server = await startRedis();
});
after(() => server.end());

stateRounds(
  "Redis",
  openOn(() => server, libraries.redis, { heartbeatMs: 500 }),
);
