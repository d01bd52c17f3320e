import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { type AuthStore, oauth } from "bowline/auth/client";
import { createIssuer, type IssuerStore } from "bowline/auth/issuer";
import type { ProtectOptions } from "bowline/auth/server";
import { type CacheStore, connect } from "bowline/client";
import { acceptProof, acceptState, authStore, cacheStore, issuerStore } from "bowline/cluster";
import { McpServer } from "bowline/server";
import { createMemoryState, FakeClock } from "bowline/testing";
import { gate } from "../../support/gate.js";

test("a store of an issuer keeps values until they expire, and adds one of several at once", async () => {
  const clock = new FakeClock();
  const state = createMemoryState({ clock });
  const [one, other] = [issuerStore(state.node(), clock), issuerStore(state.node(), clock)];
  const inAMinute = (clock.timeOfDay?.() ?? Date.now()) + 60_000;
  const added = await Promise.all([one.add("code:a", { n: 1 }, inAMinute), other.add("code:a", { n: 2 }, inAMinute)]);
  deepEqual(added, [true, false]);
  deepEqual(await other.get("code:a"), { n: 1 });
  await other.put("code:a", { n: 3 }, inAMinute);
  deepEqual(await one.get("code:a"), { n: 3 });
  clock.advance(60_000);
  equal(await one.get("code:a"), undefined);
  equal(await one.add("code:a", 4, inAMinute + 60_000), true);
  await other.delete("code:a");
  equal(await one.get("code:a"), undefined);
});

test("a mark of a single use outlives what was used on a clock that is a minute behind", async () => {
  const clock = new FakeClock();
  const ahead = Object.assign(new FakeClock(), { timeOfDay: () => clock.timeOfDay() + 60_000 });
  const state = createMemoryState({ clock });
  const [one, other] = [state.node(), state.node()];
  const untilMs = clock.timeOfDay() + 60_000;
  equal(await issuerStore(one, ahead).add("spent:a", true, untilMs), true);
  equal(await acceptProof(one, ahead)("p", untilMs), true);
  equal(await acceptState(one, ahead)("s", untilMs), true);
  clock.advance(59_999);
  equal(await issuerStore(other, clock).add("spent:a", true, untilMs), false);
  clock.advance(1);
  equal(await acceptProof(other, clock)("p", untilMs), false);
  equal(await acceptState(other, clock)("s", untilMs), false);
  clock.advance(1);
  equal(await acceptProof(other, clock)("p", untilMs), true, "and no longer than that");
});

test("a store of tokens is shared, and one process at a time holds a lock", async () => {
  const state = createMemoryState();
  const [one, other] = [authStore(state.node(), { user: "ann" }), authStore(state.node(), { user: "ann" })];
  await one.set("tokens:x", { access_token: "a" });
  deepEqual(await other.get("tokens:x"), { access_token: "a" });
  const { signal } = new AbortController();
  const [inside, leave] = [gate(), gate()];
  const order: string[] = [];
  const first = one.lock(
    "refresh",
    async () => {
      inside.open();
      await leave.opened;
      order.push("first");
    },
    signal,
  );
  await inside.opened;
  const second = other.lock("refresh", async () => void order.push("second"), signal);
  await rejects(
    other.lock("refresh", async () => "never", AbortSignal.abort(new Error("stop"))),
    /stop/,
  );
  leave.open();
  await Promise.all([first, second]);
  deepEqual(order, ["first", "second"]);
  await one.delete("tokens:x");
  equal(await other.get("tokens:x"), undefined);
});

test("a lock is free again after work that fails", async () => {
  const store = authStore(createMemoryState().node(), { user: "ann" });
  const { signal } = new AbortController();
  await rejects(
    store.lock("a", () => Promise.reject(new Error("no")), signal),
    /no/,
  );
  equal(await store.lock("a", async () => "yes", signal), "yes");
});

test("states and proofs are accepted once by all processes, until they expire", async () => {
  const clock = new FakeClock();
  const state = createMemoryState({ clock });
  const [one, other] = [state.node(), state.node()];
  const until = (clock.timeOfDay?.() ?? Date.now()) + 1000;
  deepEqual([await acceptState(one, clock)("s", until), await acceptState(other, clock)("s", until)], [true, false]);
  equal(await acceptProof(other, clock)("s", until), true, "a proof is no state");
  clock.advance(1000);
  equal(await acceptState(one, clock)("s", until), false, "another clock may be behind");
  clock.advance(60_001);
  equal(await acceptState(one, clock)("s", until + 62_000), true);
});

test("a cache is shared and forgets", async () => {
  const clock = new FakeClock();
  const state = createMemoryState({ clock });
  const [one, other] = [cacheStore(state.node(), { keepMs: 500 }), cacheStore(state.node())];
  await one.set("k", [["", { result: {}, storedAt: 0, ttlMs: 1 }]]);
  deepEqual(await other.get("k"), [["", { result: {}, storedAt: 0, ttlMs: 1 }]]);
  clock.advance(500);
  equal(await other.get("k"), undefined);
  await other.set("k", []);
  await one.delete("k");
  equal(await other.get("k"), undefined);
});

test("the stores are values of the options that they are for", async (t) => {
  const cluster = createMemoryState().node();
  const store: IssuerStore = issuerStore(cluster);
  const tokens: AuthStore = authStore(cluster, { user: "ann" });
  const results: CacheStore = cacheStore(cluster);
  const dpop: ProtectOptions["dpop"] = { acceptProof: acceptProof(cluster) };
  equal(typeof dpop, "object");
  createIssuer({ issuer: "https://a.example", resources: ["https://b.example"], user: () => ({ id: "c" }), store });
  oauth({ redirectUrl: "http://127.0.0.1/callback", authorize: () => undefined, store: tokens });
  let lists = 0;
  const options = { acceptState: acceptState(cluster), cache: { ttlMs: 60_000 } };
  const server = new McpServer({ name: "s", version: "1" }, options)
    .tool("a", {}, () => "a")
    .use((call, next) => {
      if (call.method === "tools/list") lists++;
      return next(call);
    });
  t.after(() => server.close());
  for (const _ of [1, 2]) {
    const client = await connect("http://localhost/mcp", {
      fetch: (url, init) => server.fetch(new Request(url, init)),
      cache: { store: results, partition: "me" },
    });
    t.after(() => client.close());
    equal((await client.tools().all()).length, 1);
  }
  equal(lists, 1, "the second client finds the list of the first in the cluster");
});
