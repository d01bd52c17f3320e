import { startRedis } from "../../support/engines/redis.js";
import { roundTripTests } from "../../support/round-trips.js";

roundTripTests("redis", "Redis", () => startRedis());
