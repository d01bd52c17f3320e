import { ClusterError, unavailable } from "../cluster/error.js";
import type { RedisConnection } from "./connection.js";
import { refusalOf } from "./failure.js";
import { namesOf } from "./scripts.js";

const LEAST_VERSION = [6, 2] as const;
/** Version of the keys and values. It changes when an earlier release cannot read them. */
const FORMAT = "2";

/**
 * Commands that the scripts use. They are tried on keys that are deleted at once. The first one needs no room, so that a
 * full server refuses none.
 */
const RIGHTS = `
local a, b, c = KEYS[1] .. 'probe a', KEYS[1] .. 'probe b', KEYS[1] .. 'probe c'
local problem
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err and not problem then problem = ({...})[1] .. ': ' .. reply.err end
end
try('UNLINK', a, b, c)
try('TIME')
try('SET', a, '1', 'PX', 1000)
try('GET', a)
try('PERSIST', a)
try('PEXPIREAT', a, 1)
try('PTTL', a)
try('EXISTS', a)
try('HSET', b, 'f', '1')
try('HINCRBY', b, 'f', 1)
try('HGET', b, 'f')
try('HMGET', b, 'f')
try('HEXISTS', b, 'f')
try('HGETALL', b)
try('HLEN', b)
try('HDEL', b, 'f')
try('ZADD', c, 0, 'm')
try('ZCARD', c)
try('ZCOUNT', c, 0, 1)
try('ZRANGE', c, 0, 0)
try('ZRANGEBYSCORE', c, 0, 1)
try('ZRANGEBYLEX', c, '-', '+')
try('ZREVRANGEBYLEX', c, '+', '-')
try('ZREM', c, 'm')
try('PUBLISH', KEYS[1] .. 'probe', '')
try('DEL', a, b, c)
return problem or ''
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
  if (!isRecent(version)) throw refused(`the server has version ${version}; use Redis version 6.2 or newer`);
  if (info.get("loading") === "1") throw unavailable("redisCluster: the server loads its data; it is tried again");
  if (info.get("role") === "slave")
    throw unavailable("redisCluster: the server is a replica, which cannot be written; connect to the primary");
  if (info.get("cluster_enabled") === "1") await examineCluster(command);
  const problem = String(await command(["EVAL", RIGHTS, "1", namesOf(prefix).keys]));
  if (problem !== "") throw refusalOf(problem, "redisCluster: examine the server");
  await examineFormat(command, prefix);
  for (const warning of warningsOf(info)) warn(warning);
}

/** Compares the format of the state with the format of this release, or writes it if there is no state. */
async function examineFormat(command: RedisConnection["command"], prefix: string): Promise<void> {
  const key = `${prefix}:format`;
  // A full server can be used for what needs no room.
  if ((await command(["GET", key])) === null) await command(["SET", key, FORMAT, "NX"]);
  const found = String(await command(["GET", key]));
  if (found !== FORMAT)
    throw refused(
      `the state with the prefix ${JSON.stringify(prefix)} has the format ${found}, and this release reads the format ` +
        `${FORMAT}; set another prefix, or update all processes`,
    );
}

/** A Redis Cluster can be used if one server has all slots, since the keys of a cluster are in one. */
async function examineCluster(command: RedisConnection["command"]): Promise<void> {
  const size = fieldsOf(String(await command(["CLUSTER", "INFO"]))).get("cluster_size");
  if (Number(size) > 1)
    throw refused(`the server is one of ${size} shards of a Redis Cluster; use a server, or a cluster of one shard`);
}

function warningsOf(info: ReadonlyMap<string, string>): readonly string[] {
  const warnings: string[] = [];
  const policy = info.get("maxmemory_policy") ?? "noeviction";
  if (policy !== "noeviction" && info.get("maxmemory") !== "0")
    warnings.push(
      `redisCluster: the server evicts keys when its memory is full (maxmemory-policy ${policy}), and so loses sessions and ` +
        "leases of the cluster; set maxmemory-policy to noeviction, or use a server of its own",
    );
  if (info.get("aof_enabled") === "0")
    warnings.push(
      "redisCluster: the server writes no append-only file, so a restart loses what changed since its last snapshot; " +
        "set appendonly to yes",
    );
  return warnings;
}

function refused(problem: string): ClusterError {
  return new ClusterError("refused", `redisCluster: ${problem}`);
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
