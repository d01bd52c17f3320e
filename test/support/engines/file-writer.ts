import { sqliteCluster } from "#src/entry/sqlite.js";

/** Program of a process that writes to a file until it is told to stop. Its arguments are the path and its name. */
const [path = "", name = ""] = process.argv.slice(2);

/** Message of the process to the test, sent after the operation was acknowledged. */
export type Ack =
  | { readonly kind: "ready" | "stopped" }
  | { readonly kind: "appended"; readonly seq: number }
  | { readonly kind: "counted" };

const ack = (message: Ack) => process.send?.(message);

async function write(isStopped: () => boolean): Promise<void> {
  const cluster = sqliteCluster({ path, synchronous: name === "steady" ? "full" : "normal" });
  await cluster.ready;
  await cluster.logs.create("log", { keepMs: 600_000, maxEntries: 1_000_000, maxBytes: 1e9 });
  const writer = await cluster.logs.claim("log", name);
  await cluster.leases.acquire(`lease of ${name}`, 1_000);
  ack({ kind: "ready" });
  for (let seq = 0; !isStopped(); seq++) {
    await writer.append(seq, `${name} ${seq}`);
    ack({ kind: "appended", seq });
    for (let isCounted = false; !isCounted; ) {
      const found = await cluster.records.get("counter");
      const next = String(Number(found?.value ?? 0) + 1);
      isCounted = (await cluster.records.put("counter", next, { ifVersion: found?.version ?? null })) !== undefined;
    }
    ack({ kind: "counted" });
  }
  await cluster.close();
  ack({ kind: "stopped" });
}

// A test that imports the types of this file starts nothing.
if (process.send !== undefined && name !== "") {
  let isStopped = false;
  process.on("message", () => {
    isStopped = true;
  });
  await write(() => isStopped);
  process.disconnect?.();
}
