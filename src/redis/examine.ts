import { ClusterError } from "../cluster/error.js";
import type { RedisConnection } from "./client.js";
import { away } from "./failure.js";

const LEAST_VERSION = [6, 2] as const;

/** Commands that the scripts use, tried on keys that are deleted at once. */
const RIGHTS = `
local a, b, c, d = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
redis.call('TIME')
redis.call('SET', a, '1', 'PX', 1000)
redis.call('INCR', a)
redis.call('GET', a)
redis.call('PEXPIRE', a, 1000)
redis.call('PTTL', a)
redis.call('PERSIST', a)
redis.call('EXISTS', a)
redis.call('HSET', b, 'f', '1')
redis.call('HSETNX', b, 'g', '1')
redis.call('HINCRBY', b, 'f', 1)
redis.call('HGET', b, 'f')
redis.call('HMGET', b, 'f')
redis.call('HGETALL', b)
redis.call('HLEN', b)
redis.call('HDEL', b, 'g')
redis.call('ZADD', c, 0, 'm')
redis.call('ZSCORE', c, 'm')
redis.call('ZRANK', c, 'm')
redis.call('ZCARD', c)
redis.call('ZRANGE', c, 0, 0)
redis.call('ZRANGEBYSCORE', c, 0, 1)
redis.call('ZRANGEBYLEX', c, '-', '+')
redis.call('ZREVRANGEBYLEX', c, '+', '-')
redis.call('ZRANDMEMBER', c, 1)
redis.call('ZREM', c, 'm')
redis.call('PUBLISH', ARGV[1], '')
redis.call('DEL', a, b, c, d)
return 1
`;

/**
 * Examines the server of a new connection: its version, its role, the rights of its user, and settings that lose state.
 * Rejects if the server cannot be used. `warn` is told of settings that can lose state.
 */
export async function examine(
  command: RedisConnection["command"],
  { prefix, warn }: { readonly prefix: string; readonly warn: (message: string) => void },
): Promise<void> {
  const info = fieldsOf(String(await command(["INFO"])));
  const version = info.get("redis_version") ?? "";
  if (!isRecent(version))
    throw new ClusterError("refused", `the Redis server has version ${version}; version 6.2 or newer is required`);
  if (info.get("loading") === "1") throw away("the Redis server loads its data");
  if (info.get("role") === "slave")
    throw away("the Redis server is a replica, which cannot be written; connect to the primary");
  if (info.get("cluster_enabled") === "1")
    throw new ClusterError("refused", "the Redis server is part of a Redis Cluster, which is not supported yet");
  const keys = ["a", "b", "c", "d"].map((part) => `${prefix}:probe${part}:{probe}`);
  await command(["EVAL", RIGHTS, "4", ...keys, `${prefix}:probe`]);
  for (const warning of warningsOf(info)) warn(warning);
}

function warningsOf(info: ReadonlyMap<string, string>): readonly string[] {
  const warnings: string[] = [];
  const policy = info.get("maxmemory_policy") ?? "noeviction";
  if (policy !== "noeviction" && info.get("maxmemory") !== "0")
    warnings.push(
      `the Redis server evicts keys when its memory is full (maxmemory-policy ${policy}), and so loses sessions and ` +
        "leases of the cluster; set maxmemory-policy to noeviction, or use a server of its own",
    );
  if (info.get("aof_enabled") === "0")
    warnings.push(
      "the Redis server writes no append-only file, so a restart loses what changed since its last snapshot; " +
        "set appendonly to yes",
    );
  return warnings;
}

function isRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > LEAST_VERSION[0] || (major === LEAST_VERSION[0] && minor >= LEAST_VERSION[1]);
}

function fieldsOf(info: string): ReadonlyMap<string, string> {
  return new Map(
    info.split(/\r?\n/).flatMap((line) => {
      const at = line.indexOf(":");
      return at > 0 ? [[line.slice(0, at), line.slice(at + 1)] as const] : [];
    }),
  );
}
