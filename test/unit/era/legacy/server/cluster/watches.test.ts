import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { MemoryEngine, MemoryStore } from "#src/cluster/memory/store.js";
import type { Store } from "#src/cluster/store.js";
import { StoreCluster } from "#src/cluster/store-cluster.js";
import { FakeClock } from "../../../../../support/fake-clock.js";
import { answer, LegacyEndpoint, messages, settle, status, until } from "../../../../../support/legacy-endpoint.js";
import { at, NodesWorld, replaceParts } from "../../../../../support/nodes-world.js";

const stateKeys = [{ id: "k", secret: new Uint8Array(32) }];

/** Store that counts the characters that pass through it. */
function counting(store: Store) {
  const moved = { chars: 0 };
  const count = (value: unknown) => {
    moved.chars += JSON.stringify(value)?.length ?? 0;
  };
  const counted = new Proxy(store, {
    get(target, name) {
      const member = target[name as keyof Store] as unknown;
      if (typeof member !== "function") return member;
      if (name === "connect" || name === "close") return member.bind(target);
      return async (...args: unknown[]) => {
        count(args);
        const result = (await member.apply(target, args)) as unknown;
        count(result);
        return result;
      };
    },
  });
  return { moved, counted };
}

test("what a client watches costs as much as it sends, however much it watches already", async (t) => {
  const clock = new FakeClock();
  const { moved, counted } = counting(new MemoryStore(new MemoryEngine({ clock })));
  const cluster = new StoreCluster(counted, { clock, heartbeatMs: Number.POSITIVE_INFINITY });
  const limits = { maxSubscribedChars: 10_000_000 };
  const endpoint = new LegacyEndpoint({}, { cluster, stateKeys, clock, limits, capabilities: { logging: true } });
  endpoint.server.resource("x:{+rest}", { name: "x" }, () => "");
  t.after(async () => {
    await endpoint.server.close();
    await cluster.close();
  });
  const client = await endpoint.open();
  const subscribe = async (from: number, to: number) => {
    const before = moved.chars;
    for (let number = from; number < to; number++)
      deepEqual((await answer(client.request(number, "resources/subscribe", { uri: uriOf(number) }))).result, {});
    return moved.chars - before;
  };
  const [first, last] = [await subscribe(0, 20), await subscribe(20, 40)];
  ok(last < 1.2 * first, `${last} characters after ${first}`);
  ok(first < 20 * 16_000 * 5, `${first} characters for 20 URIs of 16,000`);
  const before = moved.chars;
  deepEqual((await answer(client.request(100, "logging/setLevel", { level: "error" }))).result, {});
  ok(moved.chars - before < 5_000);
});

const uriOf = (number: number) => `x:${String(number).padStart(16_000, "0")}`;

test("a session may watch so many characters only", async (t) => {
  const world = new NodesWorld(t, {}, { limits: { maxSubscribedChars: 20 } });
  const { endpoint } = world.node(({ server }) => void server.resource("x:{rest}", { name: "x" }, () => ""));
  const client = await endpoint.open();
  const subscribe = async (id: number, uri: string) =>
    (await answer(client.request(id, "resources/subscribe", { uri }))).error;
  equal(await subscribe(1, "x:12345678"), undefined);
  equal(await subscribe(2, "x:12345678"), undefined, "the same again");
  const error = await subscribe(3, "x:123456789");
  equal(error?.code, -32602);
  ok(String(error?.message).includes("at most 20 are allowed (limits.maxSubscribedChars)"));
  await answer(client.request(4, "resources/unsubscribe", { uri: "x:12345678" }));
  equal(await subscribe(5, "x:123456789"), undefined);
});

test("what a client watches is known where it is served next, changes with it, and ends with the session", async (t) => {
  const world = new NodesWorld(t);
  const define = ({ server }: LegacyEndpoint) => {
    for (const uri of ["x:1", "x:2"]) server.resource(uri, { name: uri }, () => "");
  };
  const [one, other] = [world.node(define), world.node(define)];
  const client = await one.endpoint.open();
  await answer(client.request(1, "resources/subscribe", { uri: "x:1" }));
  const stream = at(other, client).get();
  await until(() => stream.status === 200, "the stream");
  const updated = () =>
    messages(stream)
      .filter(({ method }) => method === "notifications/resources/updated")
      .map(({ params }) => params?.uri);
  one.endpoint.server.changes.resourceUpdated("x:1");
  await until(() => updated().length === 1, "the update of a resource that another process has stored");
  await answer(client.request(2, "resources/subscribe", { uri: "x:2" }));
  await answer(client.request(3, "resources/unsubscribe", { uri: "x:1" }));
  await settle();
  for (const uri of ["x:1", "x:2"]) one.endpoint.server.changes.resourceUpdated(uri);
  await until(() => updated().length === 2, "the update of the other resource");
  deepEqual(updated(), ["x:1", "x:2"]);
  await status(client.delete(), 200);
  await settle();
  equal(await one.cluster.records.count(`watched by ${client.id}`), 0);
});

test("a subscription that the engine did not store leaves nothing to repeat", async (t) => {
  const world = new NodesWorld(t);
  let reads = 0;
  const one = world.node(
    ({ server }) => void server.resource("x:1", { name: "x" }, () => ""),
    ({ records }) => ({
      records: replaceParts(records, {
        get: (key) => {
          if (key.startsWith("session:")) reads++;
          return records.get(key);
        },
      }),
    }),
  );
  const client = await one.endpoint.open();
  await settle();
  world.state.cut(one.cluster);
  const { error } = await answer(client.request(1, "resources/subscribe", { uri: "x:1" }));
  equal(error?.code, -32005);
  for (let seconds = 0; seconds < 3; seconds++) {
    world.clock.advance(1_000);
    await settle();
  }
  equal(reads, 0);
});
