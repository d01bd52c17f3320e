import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createFolder, support } from "../support.mjs";

/** Redis with its usual persistence: a write reaches the kernel before its reply, and the disk within a second. */
const SETTINGS = ["--appendfsync", "everysec", "--maxmemory-policy", "noeviction"];
const PREFIX = "chaos";
/** Begin of all keys of the nodes, but for that of the format. */
const KEYS = `${PREFIX}:{${PREFIX}}:`;
/** Folder of the append-only file. */
const LOG = "appendonlydir";

export async function openEngine() {
  const { startRedis } = await support("engines/redis.js");
  const { url, kill, start, end, folder } = await startRedis(SETTINGS);
  const copy = await createFolder();
  const limit = (bytes) => command(url, (client) => client.configSet("maxmemory", bytes));
  return {
    address: url,
    kill,
    start,
    end,
    fill: () => limit("1"),
    free: () => limit("0"),
    /** The file is only appended to, so that a copy of it is an earlier state. */
    save: async () => cpSync(join(folder, LOG), join(copy, LOG), { recursive: true }),
    async rollBack() {
      await kill();
      rmSync(join(folder, LOG), { recursive: true });
      cpSync(join(copy, LOG), join(folder, LOG), { recursive: true });
      await start();
    },
    left: () => command(url, listLeft),
  };
}

export async function connectNode(url) {
  const { createClient } = await import("redis");
  const { fromNodeRedis, redisCluster } = await import("bowline/redis");
  const cluster = redisCluster({ client: fromNodeRedis(createClient({ url })), prefix: PREFIX });
  await cluster.ready;
  return cluster;
}

async function command(url, run) {
  const { createClient } = await import("redis");
  const client = createClient({ url });
  client.on("error", () => {});
  await client.connect();
  try {
    return await run(client);
  } finally {
    client.destroy();
  }
}

/** Returns what the server has, as `history/left.mjs` reads it. */
async function listLeft(client) {
  const left = [];
  for await (const keys of client.scanIterator({ MATCH: `${KEYS.replace(/[{}]/g, "?")}*`, COUNT: 1_000 }))
    for (const key of keys) left.push(...(await itemsOf(client, key)));
  return left;
}

const KINDS = { l: "log", s: "streams", e: "entries", o: "entries", b: "bucket" };

async function itemsOf(client, key) {
  const ms = await client.pTTL(key);
  const leftMs = ms < 0 ? undefined : ms;
  const [kind, ...rest] = key.slice(KEYS.length).split(":");
  const name = rest.join(":");
  if (kind === "r") return [{ kind: "record", name, leftMs }];
  if (kind === "i") return (await client.zRange(key, 0, -1)).map((of) => ({ kind: "index entry", name, of }));
  if (kind === "n")
    return (await client.zRange(key, 0, -1)).map((of) => ({ kind: "open stream", name: of.split("\0")[0] }));
  // The names of the indexes of each record, and its end.
  if (name === "" && (kind === "e" || kind === "x")) {
    const keys = kind === "e" ? await client.hKeys(key) : await client.zRange(key, 0, -1);
    return keys.map((of) => ({ kind: "index entry", name: "of a record", of }));
  }
  const isDropped = kind === "l" && (await client.hExists(key, "d"));
  return [{ kind: isDropped ? "dropped log" : (KINDS[kind] ?? "key"), name: KINDS[kind] ? name : key, leftMs }];
}
