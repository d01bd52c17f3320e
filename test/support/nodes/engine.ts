import type { Cluster } from "#src/cluster/cluster.js";

type StartedCluster = Cluster & { readonly ready: Promise<void> };

/** Connections of two nodes to an engine, with a prefix that no other pair uses at the same time. */
export interface ConnectedNodes {
  readonly nodes: readonly [StartedCluster, StartedCluster];
  /** Closes the connections. */
  close(): Promise<void>;
}

const open = new Set<ConnectedNodes>();
const atEnd: (() => Promise<unknown>)[] = [];
const place = `nodes_${process.pid}`;
let pairs = 0;

/** A busy machine is no outage. */
const timeoutMs = 10_000;

const engines: Readonly<Record<string, () => Promise<() => ConnectedNodes>>> = {
  async redis() {
    const { createClient } = await import("redis");
    const { fromNodeRedis, redisCluster } = await import("bowline/redis");
    const url = addressOf("REDIS_URL");
    return () => {
      const prefix = `${place}_${++pairs}`;
      const node = () => redisCluster({ client: fromNodeRedis(createClient({ url })), prefix, timeoutMs });
      return closing([node(), node()]);
    };
  },
  async postgres() {
    const { default: pg } = await import("pg");
    const { fromPg, postgresCluster } = await import("bowline/postgres");
    const newPool = () => {
      const pool = new pg.Pool({ connectionString: addressOf("DATABASE_URL"), max: 24 });
      return pool.setMaxListeners(0).on("error", () => {});
    };
    const [one, other] = [newPool(), newPool()];
    atEnd.push(async () => {
      await one.query(`set client_min_messages = error; drop schema if exists ${place} cascade`);
      await Promise.all([one.end(), other.end()]);
    });
    // Creating the tables takes longer than most scenarios, so that they are used again when they are empty.
    const free: string[] = [];
    return () => {
      const prefix = free.pop() ?? `t${++pairs}_`;
      const node = (pool: typeof one) => postgresCluster({ client: fromPg(pool), schema: place, prefix, timeoutMs });
      return closing([node(one), node(other)], async () => {
        await one.query(TABLES.map((table) => `delete from ${place}.${prefix}${table}`).join(";"));
        free.push(prefix);
      });
    };
  },
};

const TABLES = ["records", "indexed", "counts", "logs", "streams", "entries", "buckets", "messages"];

/** Only the client library of this engine is loaded. */
const connect = await engines[process.env.BOWLINE_NODES ?? ""]?.();

/** Connects two nodes to the engine that BOWLINE_NODES names. */
export function connectNodes(): ConnectedNodes {
  if (connect === undefined) throw new Error("BOWLINE_NODES must be redis or postgres");
  const connected = connect();
  open.add(connected);
  // The wire waits for it. A server that no client connects to does not.
  for (const { ready } of connected.nodes) ready.catch(() => {});
  return connected;
}

/** Closes all connections that are left. */
export async function disconnectAll(): Promise<void> {
  await Promise.all([...open].map((connected) => connected.close()));
  await Promise.all(atEnd.map((end) => end()));
}

function closing(nodes: ConnectedNodes["nodes"], clean: () => Promise<void> = async () => {}): ConnectedNodes {
  const connected: ConnectedNodes = {
    nodes,
    async close() {
      open.delete(connected);
      const started = await Promise.allSettled(nodes.map(({ ready }) => ready));
      await Promise.all(nodes.map((node) => node.close()));
      if (started.every(({ status }) => status === "fulfilled")) await clean();
    },
  };
  return connected;
}

function addressOf(variable: string): string {
  const url = process.env[variable];
  if (url === undefined) throw new Error(`${variable} is missing: it is the address of the engine`);
  return url;
}
