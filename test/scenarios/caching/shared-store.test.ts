import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { runInNewContext } from "node:vm";
import { type CacheStore, type ClientCacheOptions, connect, memoryCache } from "bowline/client";
import { McpServer, type ServerOptions } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { eachWire, legacyHttp, modernHttp, modernWires, type World } from "../../support/each-wire.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const [, modernFetch] = modernHttp;
const [, legacyFetch] = legacyHttp;
const modern = modernFetch === undefined ? [] : [modernFetch];
const legacy = legacyFetch === undefined ? [] : [legacyFetch];

/** A server that keeps count of its listings. */
function counting(options: ServerOptions = { cache: { ttlMs: 60_000 } }, info = me) {
  const server = new McpServer(info, options);
  const seen = { lists: 0, reads: 0 };
  server.method("tools/list", {}, () => {
    seen.lists++;
    return { tools: [{ name: `tool-${seen.lists}`, inputSchema: { type: "object" } }] };
  });
  server.resource("r://1", { name: "r" }, () => String(++seen.reads));
  return { server, seen };
}

function sharing(world: World, store: CacheStore, more: Partial<ClientCacheOptions> = {}) {
  return (server: McpServer, partition: ClientCacheOptions["partition"]) =>
    world.connect(server, { cache: { store, partition: partition as string, ...more } });
}

verifies("caching:client:private-partition", modern, async (world) => {
  const { server, seen } = counting();
  const dial = sharing(world, memoryCache());
  const ada = await dial(server, "ada");
  const ada2 = await dial(server, "ada");
  const bob = await dial(server, "bob");
  await ada.listTools();
  await ada2.listTools();
  equal(seen.lists, 1);
  await bob.listTools();
  equal(seen.lists, 2);
  let user = "carol";
  const changing = await dial(server, () => user);
  await changing.listTools();
  await changing.listTools();
  equal(seen.lists, 3);
  user = "dave";
  await changing.listTools();
  equal(seen.lists, 4);
  user = "carol";
  await changing.listTools();
  equal(seen.lists, 4);
});

proves("caching:client:shared-store-needs-partition", {}, "refused before anything is opened", async () => {
  const cache = { store: memoryCache() };
  await rejects(connect(new McpServer(me), { cache }), { code: "definition_error", message: /partition/ });
});

verifies("caching:client:public-shared", modern, async (world) => {
  for (const sharePublic of [false, true]) {
    for (const scope of ["public", "private"] as const) {
      const { server, seen } = counting({ cache: { ttlMs: 60_000, scope } });
      const dial = sharing(world, memoryCache(), { sharePublic });
      await (await dial(server, "ada")).listTools();
      await (await dial(server, "bob")).listTools();
      equal(seen.lists, sharePublic && scope === "public" ? 1 : 2, `${sharePublic} ${scope}`);
    }
  }
});

verifies("caching:client:scope-flip", modern, async (world) => {
  let scope = "public";
  const server = new McpServer(me).method("tools/list", {}, () => ({ tools: [], ttlMs: 60_000, cacheScope: scope }));
  const dial = sharing(world, memoryCache(), { sharePublic: true });
  const [ada, bob] = [await dial(server as McpServer, "ada"), await dial(server as McpServer, "bob")];
  await ada.listTools();
  await bob.listTools();
  equal(bob.wire.requests("tools/list").length, 0);
  scope = "private";
  await ada.listTools(undefined, { cache: "refresh" });
  await bob.listTools();
  equal(bob.wire.requests("tools/list").length, 1);
});

verifies("caching:client:key", "other servers are other results", modern, async (world) => {
  const store = memoryCache();
  const one = counting();
  const other = counting({ cache: { ttlMs: 60_000 } }, { ...me, name: "another" });
  const dial = sharing(world, store);
  await (await dial(one.server, "p")).listTools();
  await (await dial(other.server, "p")).listTools();
  deepEqual([one.seen.lists, other.seen.lists], [1, 1]);
});

for (const [name, wires] of [
  ["modern", modern],
  ["legacy", legacy],
] as const) {
  verifies("caching:client:version-scoped", `seen from ${name}`, wires, async (world) => {
    const { server, seen } = counting();
    const cache = { store: memoryCache(), partition: "p", defaultTtlMs: 60_000 };
    const eras = world.era === "modern" ? (["modern", "legacy"] as const) : (["legacy", "modern"] as const);
    for (const era of eras) {
      const client = await world.connect(server, { era, cache });
      for (let n = 0; n < 2; n++) await client.listTools();
    }
    equal(seen.lists, 2);
    const older = await world.connect(server, { era: "legacy", versions: ["2025-06-18"], cache });
    await older.listTools();
    equal(seen.lists, 3);
  });
}

verifies("caching:client:store-failure", modernWires, async (world) => {
  const broken = () => Promise.reject(new Error("the store is down"));
  const throwing = () => {
    throw new Error("the store is down");
  };
  const hanging = () => new Promise<never>(() => {});
  for (const failing of [broken, throwing, hanging]) {
    const clock = new FakeClock();
    const problems: Error[] = [];
    const store = { get: failing, set: failing, delete: failing } as CacheStore;
    const { server, seen } = counting();
    const client = await world.connect(server, {
      clock,
      cache: { store, partition: "p" },
      onError: (problem) => problems.push(problem),
    });
    for (let n = 1; n <= 3; n++) {
      const call = client.listTools();
      if (failing === hanging) await patiently(clock, call);
      else await call;
      equal(seen.lists, n);
    }
    equal(problems.length, 1);
    ok(problems[0]?.message.includes("cache store"));
  }
});

verifies("caching:client:store-malformed", eachWire, async ({ connect }) => {
  const kept = (result: unknown, more: object = {}) => [["", { result, storedAt: Date.now(), ttlMs: 60_000, ...more }]];
  const tools = [{ name: "stored", inputSchema: { type: "object" } }];
  // One server, since each has connections of its own to an engine.
  const { server, seen } = counting();
  for (const record of [
    "text",
    7,
    {},
    [null],
    [["", null]],
    [[1, { result: { tools }, storedAt: 0, ttlMs: 1 }]],
    kept("text"),
    kept([]),
    kept({ tools }, { storedAt: "now" }),
    kept({ tools }, { ttlMs: null }),
    kept({ tools: "none" }),
    kept({ tools: [{ name: 7, inputSchema: { type: "object" } }] }),
    kept({ tools, nextCursor: 5 }),
    kept({ tools, resultType: "input_required" }),
  ]) {
    for (const isAsync of [false, true]) {
      const problems: string[] = [];
      const get = () => (isAsync ? Promise.resolve(record) : record);
      const store = { get, set: () => {}, delete: () => {} } as unknown as CacheStore;
      const before = seen.lists;
      const cache = { store, partition: "p", defaultTtlMs: 1_000 };
      const client = await connect(server, { cache, onError: ({ message }) => problems.push(message) });
      for (let n = 1; n <= 2; n++) {
        ok((await client.listTools()).tools.every(({ name }) => name !== "stored"));
        equal(seen.lists, before + n, JSON.stringify(record));
      }
      equal(problems.length, 1);
      match(problems[0] ?? "", /cache store returned an invalid record/);
    }
  }
  const absent = { get: () => null, set: () => {}, delete: () => {} } as unknown as CacheStore;
  const problems: Error[] = [];
  const options = { cache: { store: absent, partition: "p" }, onError: (error: Error) => problems.push(error) };
  await (await connect(server, options)).listTools();
  deepEqual(problems, []);
});

verifies("caching:client:store-malformed", modern, async (world) => {
  const inner = memoryCache();
  // Promises of another realm, as some test runners have them, are no instances of Promise.
  const toForeign = runInNewContext("(value) => Promise.resolve(value)") as <T>(value: T) => Promise<T>;
  const get = (key: string) => toForeign(inner.get(key));
  const store = { get, set: inner.set.bind(inner), delete: inner.delete.bind(inner) } as unknown as CacheStore;
  const { server, seen } = counting();
  const problems: Error[] = [];
  const client = await world.connect(server, {
    cache: { store, partition: "p" },
    onError: (error) => problems.push(error),
  });
  await client.listTools();
  await client.listTools();
  deepEqual([seen.lists, problems], [1, []]);
});

/** Lets time pass, as long as it takes, whenever something waits for the store. */
async function patiently(clock: FakeClock, call: Promise<unknown>): Promise<void> {
  let done = false;
  let seen = 0;
  void call.finally(() => {
    done = true;
  });
  while (!done) {
    await new Promise((resolve) => setImmediate(resolve));
    if (done || clock.delays.length === seen) continue;
    seen = clock.delays.length;
    if (clock.delays.at(-1) === 1000) clock.advance(1000);
  }
}

verifies("caching:client:fresh-served", "over every wire", modernWires, async ({ connect: dial }) => {
  const { server, seen } = counting();
  const client = await dial(server);
  const first = await client.readResource("r://1");
  deepEqual(await client.readResource("r://1"), first);
  equal(seen.reads, 1);
  equal(client.cacheStats?.hits, 1);
});

verifies(
  "caching:client:invalidate-list-changed",
  "what is watched is never out of date",
  eachWire,
  async ({ connect: dial }) => {
    const server = new McpServer(me, { cache: { ttlMs: 60_000 } }).tool("one", {}, () => "");
    const client = await dial(server, { cache: { defaultTtlMs: 60_000 } });
    const watch = await client.watch({ toolsListChanged: true });
    equal((await client.listTools()).tools.length, 1);
    server.tool("two", {}, () => "");
    for await (const change of watch) {
      equal(change.kind, "tools");
      equal((await client.listTools()).tools.length, 2);
      break;
    }
  },
);
