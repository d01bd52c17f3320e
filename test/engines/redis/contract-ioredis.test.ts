import { after, before } from "node:test";
import { contract, engineContract, lostReplyContract } from "../../contract/contract.js";
import { anyRedis, type RedisServer } from "../../support/engines/redis.js";
import { libraries, openOn } from "./world.js";

let server: RedisServer;
before(async () => {
  server = await anyRedis();
});
after(() => server.end());

const open = openOn(() => server, libraries.ioredis);

contract("Redis by ioredis", open);
lostReplyContract("Redis by ioredis", open);
if (process.env.REDIS_URL === undefined) engineContract("Redis by ioredis", open);
