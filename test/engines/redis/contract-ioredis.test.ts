import { after, before } from "node:test";
import { contract, engineContract } from "../../contract/contract.js";
import { type RedisServer, startRedis } from "../../support/engines/redis.js";
import { libraries, openOn } from "./world.js";

let server: RedisServer;
before(async () => {
  server = await startRedis();
});
after(() => server.end());

const open = openOn(() => server, libraries.ioredis);

contract("Redis by ioredis", open);
engineContract("Redis by ioredis", open);
