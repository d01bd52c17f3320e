import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { type AuthStore, memoryStore } from "bowline/auth/client";
import { AuthWorld } from "../support/auth-world.js";
import { takeCensus } from "../support/census.js";
import { gate } from "../support/gate.js";

const WARM_UP = 60;
const ROUNDS = 120;

/** A store that can be counted. */
function countable(): AuthStore & { readonly size: () => number } {
  const keys = new Set<string>();
  const memory = memoryStore();
  const set = (key: string, value: unknown) => {
    keys.add(key);
    return memory.set(key, value);
  };
  const drop = (key: string) => {
    keys.delete(key);
    return memory.delete(key);
  };
  return { get: memory.get, set, delete: drop, size: () => keys.size };
}

test("authorizations that nobody waits for any more leave nothing behind", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const store = countable();
  let asked = gate<AbortSignal>();
  const authorize = (_url: URL, { signal }: { signal: AbortSignal }) => {
    asked.open(signal);
    return new Promise<undefined>(() => {});
  };
  const auth = world.oauth({ store, authorize });
  const round = async () => {
    asked = gate();
    world.arrivals.length = 0;
    const abort = new AbortController();
    const call = world.call(auth, { signal: abort.signal });
    const signal = await asked.opened;
    abort.abort("enough");
    await rejects(call, (reason) => reason === "enough");
    equal(signal.aborted, true);
    equal(getEventListeners(abort.signal, "abort").length, 0);
  };
  for (let n = 0; n < WARM_UP; n++) await round();
  const [before, kept] = [await takeCensus(), store.size()];
  for (let n = 0; n < ROUNDS; n++) await round();
  const after = await takeCensus();
  equal(after.resources.Timeout, before.resources.Timeout);
  deepEqual([store.size() <= 35, kept <= 35], [true, true]);
  ok(after.heap - before.heap < 1_000_000, `${after.heap - before.heap} bytes more`);
});

test("refreshes, one after the other, leave nothing behind", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  world.as.refreshes = true;
  const store = countable();
  const auth = world.oauth({ store });
  const round = async () => {
    world.as.live.clear();
    world.as.issued.length = 0;
    world.arrivals.length = 0;
    await (await world.call(auth)).text();
  };
  for (let n = 0; n < WARM_UP; n++) await round();
  const [before, kept] = [await takeCensus(), store.size()];
  for (let n = 0; n < ROUNDS; n++) await round();
  const after = await takeCensus();
  equal(store.size(), kept);
  equal(after.resources.Timeout, before.resources.Timeout);
  ok(after.heap - before.heap < 1_000_000, `${after.heap - before.heap} bytes more`);
});

test("addresses that need no token leave nothing behind", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const auth = world.oauth({ fetch: async () => new Response("fine") });
  const ask = async (from: number, count: number) => {
    for (let n = from; n < from + count; n++) await auth.fetch(`https://files.example/${n}`);
  };
  await ask(0, 1000);
  const before = await takeCensus();
  await ask(1000, 5000);
  const after = await takeCensus();
  ok(after.heap - before.heap < 1_000_000, `${after.heap - before.heap} bytes more`);
});
