import type { Cluster, Lease, Writer } from "#src/cluster/cluster.js";
import { sqliteCluster } from "#src/entry/sqlite.js";
import { postgresCluster } from "#src/postgres/cluster.js";
import { redisCluster } from "#src/redis/cluster.js";
import { failureOf } from "#src/testing/contract/world.js";

/** Program of a process that `pauseContract` stops. Its arguments are an engine, its address or path, and a prefix or schema. */
const [engine = "", url = "", space = ""] = process.argv.slice(2);

const HEARTBEAT_MS = 200;
/** Longer than a busy machine keeps the process from renewing its lease. */
const LEASE_MS = 6_000;

/** Message of the process to the test. */
export type Report =
  | { readonly event: "ready"; readonly node: string }
  | { readonly event: "lost" | "gap" }
  | { readonly event: "heard"; readonly text: string }
  | { readonly event: "done"; readonly outcome: Outcome };

/** Results of the operations after the pause. */
export interface Outcome {
  readonly appendToClaimed: string;
  readonly appendToOwn: string;
  readonly acquiresTaken: boolean;
  readonly acquiresFree: boolean;
  readonly value: string | undefined;
}

const report = (message: Report) => process.send?.(message);

async function open(): Promise<Cluster> {
  if (engine === "sqlite") return sqliteCluster({ path: url, prefix: space, heartbeatMs: HEARTBEAT_MS });
  if (engine === "redis") {
    const { libraries } = await import("../../engines/redis/world.js");
    return redisCluster({ client: libraries.redis(url), prefix: space, heartbeatMs: HEARTBEAT_MS });
  }
  const { libraries } = await import("./postgres-world.js");
  return postgresCluster({ client: libraries.pg(url).client, schema: space, heartbeatMs: HEARTBEAT_MS });
}

async function prepare(cluster: Cluster): Promise<{ readonly claimed: Writer; readonly own: Writer }> {
  const lease = (await cluster.leases.acquire("l", LEASE_MS)) as Lease;
  lease.lost.addEventListener("abort", () => report({ event: "lost" }));
  cluster.bus.onGap(() => report({ event: "gap" }));
  await cluster.bus.subscribe("t", (text) => report({ event: "heard", text }));
  await cluster.logs.create("log", { keepMs: 60_000, maxEntries: 100, maxBytes: 10_000 });
  const [claimed, own] = [await cluster.logs.claim("log", "claimed"), await cluster.logs.claim("log", "own")];
  for (const writer of [claimed, own]) await writer.append(0, "before");
  return { claimed, own };
}

async function workOn(cluster: Cluster, claimed: Writer, own: Writer): Promise<Outcome> {
  await cluster.records.put("k", "after");
  return {
    appendToClaimed: (await failureOf(() => claimed.append(1, "late"))) ?? "ok",
    appendToOwn: (await failureOf(() => own.append(1, "after"))) ?? "ok",
    acquiresTaken: (await cluster.leases.acquire("l", LEASE_MS)) !== undefined,
    acquiresFree: (await cluster.leases.acquire("free", LEASE_MS)) !== undefined,
    value: (await cluster.records.get("k"))?.value,
  };
}

// A test that imports the types of this file starts nothing.
if (process.send !== undefined && space !== "") {
  const cluster = await open();
  const { claimed, own } = await prepare(cluster);
  process.on("message", () => {
    void workOn(cluster, claimed, own).then((outcome) => report({ event: "done", outcome }));
  });
  process.on("disconnect", () => process.exit());
  report({ event: "ready", node: cluster.node });
}
