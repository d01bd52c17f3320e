import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { createClient } from "redis";
import type { Cluster } from "#src/cluster/cluster.js";
import { type RedisClusterOptions, redisCluster } from "#src/redis/cluster.js";
import type { RedisClient } from "#src/redis/connection.js";
import { fromIoredis } from "#src/redis/ioredis.js";
import { fromNodeRedis } from "#src/redis/node-redis.js";
import { TAKE_DUE } from "#src/redis/record-scripts.js";
import { type Scope, until } from "#src/testing/contract/world.js";
import type { Open } from "../../contract/contract.js";
import { cuttable, type RedisServer, type Tampering, tampered } from "../../support/engines/redis.js";

/** Each client library, as a function that gives a client for an address. */
export const libraries = {
  redis: (url: string) => fromNodeRedis(createClient({ url })),
  ioredis: (url: string) => fromIoredis(new Redis(url, { lazyConnect: true })),
} satisfies Record<string, (url: string) => RedisClient>;

/** Creates worlds of the contract on one server. Each has a prefix of its own. */
export function openOn(
  server: () => RedisServer,
  library: (url: string) => RedisClient,
  options: Partial<RedisClusterOptions> = {},
): Open {
  return async () => {
    await server().start();
    const prefix = `test-${randomUUID()}`;
    const cuts = new Map<Cluster, () => void>();
    const losing = new Map<Cluster, () => void>();
    return {
      async node() {
        const client = cuttable(library(server().url));
        let losesTake = false;
        const losesReply = (lua: string) => {
          const isLost = losesTake && lua === TAKE_DUE.lua;
          if (isLost) losesTake = false;
          return isLost;
        };
        const node = redisCluster({ client: tampered(client, { losesReply }), prefix, ...options });
        losing.set(node, () => {
          losesTake = true;
        });
        cuts.set(node, () => client.cut());
        // A busy machine may need more than one attempt.
        await until(() => node.available, "a node starts").catch(async (error: unknown) => {
          await node.close();
          throw error;
        });
        return node;
      },
      loseTake: (node) => losing.get(node)?.(),
      crash: (node) => cuts.get(node)?.(),
      engine: {
        kill: () => server().kill(),
        start: () => server().start(),
        fill: () => configure(server().url, "1"),
        free: () => configure(server().url, "0"),
      },
    };
  };
}

/** State of one test on a server. Its nodes are closed after the test. */
export function stateOf(t: Scope, server: RedisServer, library: keyof typeof libraries = "redis") {
  const prefix = `test-${randomUUID()}`;
  const command = (...args: readonly string[]) => run(server.url, args);
  return {
    prefix,
    async node(tampering: Tampering = {}, options: Partial<RedisClusterOptions> = {}) {
      const client = tampered(libraries[library](server.url), tampering);
      const node = redisCluster({ client, prefix, ...options });
      t.after(() => node.close());
      await node.ready;
      return node;
    },
    /** Runs a command beside the nodes. */
    command,
    /** Returns the keys whose names contain a text. */
    async keys(part = ""): Promise<readonly string[]> {
      return ((await command("KEYS", `${prefix}*`)) as string[]).filter((key) => key.includes(part)).sort();
    },
  };
}

/** Sets the memory that a server may use. It is full at once with 1 byte, and never with 0. */
async function configure(url: string, maxmemory: string): Promise<void> {
  await run(url, ["CONFIG", "SET", "maxmemory", maxmemory]);
}

async function run(url: string, args: readonly string[]): Promise<unknown> {
  const client = createClient({ url });
  await client.connect();
  try {
    return await client.sendCommand(args);
  } finally {
    client.destroy();
  }
}
