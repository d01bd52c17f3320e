export { type RedisCluster, type RedisClusterOptions, redisCluster } from "../redis/cluster.js";
export type { RedisClient, RedisConnection, RedisEvents } from "../redis/connection.js";
export { fromIoredis, type IoredisClient } from "../redis/ioredis.js";
export { fromNodeRedis, type NodeRedisClient } from "../redis/node-redis.js";
