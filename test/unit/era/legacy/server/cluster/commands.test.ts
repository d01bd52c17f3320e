import { deepEqual } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { MemoryEngine, MemoryStore } from "#src/cluster/memory/store.js";
import type { Store, StoreLogs } from "#src/cluster/store.js";
import { StoreCluster } from "#src/cluster/store-cluster.js";
import { FakeClock } from "../../../../../support/fake-clock.js";
import { blocks, LegacyClient, LegacyEndpoint, settle, status, until } from "../../../../../support/legacy-endpoint.js";

const stateKeys = [{ id: "k", secret: new Uint8Array(32) }];

/** Lets a proxy note the name of each method that is called. */
function noted<T extends object>(target: T, names: string[], own: Partial<T> = {}): T {
  return new Proxy(target, {
    get(_, name) {
      const member = (own[name as keyof T] ?? target[name as keyof T]) as unknown;
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        if (name !== "connect" && name !== "close") names.push(String(name));
        return member.apply(target, args);
      };
    },
  });
}

/** Two nodes that have served sessions, and the operations of their stores. Time stands still, so that none is repeated. */
async function nodes(t: TestContext, resumable: boolean) {
  const clock = new FakeClock();
  const engine = new MemoryEngine({ clock });
  const operations: string[] = [];
  const open = async () => {
    const store = new MemoryStore(engine);
    const counted = noted<Store>(store, operations, { logs: noted<StoreLogs>(store.logs, operations) });
    const cluster = new StoreCluster(counted, { clock, heartbeatMs: Number.POSITIVE_INFINITY });
    const endpoint = new LegacyEndpoint({ resumable }, { cluster, stateKeys, clock });
    endpoint.server.resource("x:y", { name: "x" }, () => "x").tool("echo", () => "echo");
    t.after(async () => {
      await endpoint.server.close();
      await cluster.close();
    });
    await (await endpoint.open()).request(1, "tools/list").done;
    return endpoint;
  };
  const [one, other] = [await open(), await open()] as const;
  await settle();
  const during = async (work: () => unknown) => {
    operations.length = 0;
    await work();
    await settle();
    return [...operations];
  };
  return { one, other, during };
}

test("a session of one process costs three operations to open and two to end", async (t) => {
  const { one, during } = await nodes(t, false);
  let client: LegacyClient | undefined;
  const opened = await during(async () => {
    client = await one.open();
  });
  deepEqual(opened, ["count", "put", "put"]);
  deepEqual(await during(() => client?.call(1, "echo").done), []);
  deepEqual(await during(() => status(client?.delete() as never, 200)), ["put", "delete"]);
});

test("a session with a subscription and a stream, used by two processes, costs at most eight operations to open and to end", async (t) => {
  const { one, other, during } = await nodes(t, false);
  let client: LegacyClient | undefined;
  const opened = await during(async () => {
    client = await one.open();
  });
  const there = new LegacyClient(other, { session: client?.id ?? "" });
  deepEqual(await during(() => status(there.request(1, "ping"), 200)), ["get", "put"]);
  const subscribe = (id: number, uri: string) => status(there.request(id, "resources/subscribe", { uri }), 200);
  deepEqual(await during(() => subscribe(2, "x:y")), ["put", "get", "put", "send"]);
  const stream = there.get();
  await until(() => stream.status === 200, "the stream");
  const ended = await during(() => status(there.delete(), 200));
  deepEqual(ended, ["put", "send", "list", "delete", "delete"]);
  deepEqual(opened.length + ended.length, 8);
});

test("a session with a log costs eight operations to open, three of which store the response, and three to end", async (t) => {
  const { one, during } = await nodes(t, true);
  let client: LegacyClient | undefined;
  const opened = await during(async () => {
    client = await one.open();
  });
  deepEqual(opened, ["count", "put", "create", "claim", "claim", "append", "append", "put"]);
  const stream = client?.get();
  await until(() => blocks(stream as never).length > 0, "the stream");
  deepEqual(await during(() => status(client?.delete() as never, 200)), ["put", "drop", "delete"]);
});

test("a stream costs one operation in the process that has the session, and three where it is taken over", async (t) => {
  const { one, other, during } = await nodes(t, false);
  const client = await one.open();
  const listened = await during(async () => {
    const stream = client.get();
    await until(() => stream.status === 200, "the stream");
  });
  deepEqual(listened, ["put"]);
  const there = new LegacyClient(other, { session: client.id });
  await status(there.request(1, "ping"), 200);
  const taken = await during(async () => {
    const stream = there.get();
    await until(() => stream.status === 200, "the stream");
  });
  deepEqual(taken, ["put", "send", "send"]);
});
