import { after, before } from "node:test";
import { contract, engineContract, lostReplyContract } from "../../contract/contract.js";
import { anyRedis, type RedisServer } from "../../support/engines/redis.js";
import { libraries, openOn } from "./world.js";

let server: RedisServer;
before(async () => {
  server = await anyRedis();
});
after(() => server.end());

const open = openOn(() => server, libraries.redis);

contract("Redis by redis", open);
lostReplyContract("Redis by redis", open);
if (process.env.REDIS_URL === undefined) engineContract("Redis by redis", open);
