import { deepEqual, equal, ok } from "node:assert/strict";
import { after, test } from "node:test";
import { systemClock } from "#src/call/clock.js";
import { type StoreEvents, takenBy } from "#src/cluster/store.js";
import type { PostgresClient } from "#src/postgres/connection.js";
import { PostgresStore } from "#src/postgres/store.js";
import { type Scope, until } from "#src/testing/contract/world.js";
import { findOrStartPostgres } from "../../support/engines/postgres.js";
import { libraries } from "../../support/engines/postgres-world.js";

const server = await findOrStartPostgres();
after(() => server.close());

const OPTIONS = { prefix: "", timeoutMs: 5_000, sweepMs: 60_000, clock: systemClock };

let stores = 0;

/** Starts a store in a schema of its own. `sent` has the statements that it has sent. */
async function open(t: Scope, events: Partial<StoreEvents> = {}) {
  const { client, end } = libraries.pg(server.url);
  const sent: string[] = [];
  const counted: PostgresClient = {
    ...client,
    query(text, values, signal) {
      sent.push(text);
      return client.query(text, values, signal);
    },
  };
  const schema = `store_${process.pid}_${++stores}`;
  const store = new PostgresStore({ ...OPTIONS, client: counted, listener: counted, schema });
  t.after(async () => {
    await store.close();
    await client.query(
      `set client_min_messages = error; drop schema ${schema} cascade`,
      [],
      new AbortController().signal,
    );
    await end();
  });
  await store.connect({ onText() {}, onMissed() {}, onShort() {}, ...events });
  return { store, sent };
}

const LIMITS = { keepMs: 60_000, maxEntries: 100, maxBytes: 10_000, maxStreams: 10 };

test("each operation is one round trip", async (t) => {
  const heard: string[] = [];
  const { store, sent } = await open(t, { onText: (text) => heard.push(text) });
  const index = ["a", "b", "c"].map((name, score) => ({ index: name, score }));
  const { logs } = store;
  await logs.create("l", LIMITS);
  const id = await logs.claim("l", "s", "node", "aaaaaaaaaaaa");
  ok(id);
  const claimed = { log: "l", stream: "s", id, claim: "aaaaaaaaaaaa" };
  const entries = ["1", "2", "3"].map((data) => ({ data, last: false }));
  const operations = {
    "put with three entries": () => store.put("k", "v", { version: "1", index }),
    "put by version": () => store.put("k", "v", { version: "2", ifVersion: "1", index: index.slice(1) }),
    get: () => store.get("k"),
    list: () => store.list("b", { limit: 10 }),
    count: () => store.count("b"),
    "lease, acquire": () => store.put("lease", "n", { version: "3", ifVersion: null, ttlMs: 10_000 }),
    "lease, renew": () => store.touch("lease", 10_000, "3"),
    "lease, release": () => store.delete("lease", "3"),
    "job, none": () => store.takeDue("jobs", { most: 8, leaseMs: 1_000, token: "none" }),
    "job, add": () =>
      store.put("j", "", { version: "4", ifVersion: null, index: [{ index: "jobs", inMs: 0 }], notice: "job" }),
    "job, take": () => store.takeDue("jobs", { most: 8, leaseMs: 60_000, token: "5" }),
    "job, not yet": () => store.takeDue("jobs", { most: 8, leaseMs: 1_000, token: "6" }),
    "job, done": () => store.delete("j", "5"),
    "take tokens": () => store.takeTokens("k", 10, 100, 1),
    "log, create": () => logs.create("m", LIMITS),
    "log, claim": () => logs.claim("m", "s", "node", "bbbbbbbbbbbb"),
    "log, append": () => logs.append(claimed, 0, entries, "log"),
    "log, find": () => logs.find("l", { id, n: "1", claim: claimed.claim }),
    "log, read": () => logs.read("l", "s", undefined, 10),
    "log, open": () => logs.open("node", undefined),
    "log, drop": () => logs.drop("l", "drop"),
    "send three texts": () => store.send(["x", "y", "z"]),
  };
  const outcomes: Record<string, unknown> = {};
  for (const [name, operation] of Object.entries(operations)) {
    sent.length = 0;
    outcomes[name] = await operation();
    equal(sent.length, 1, name);
  }
  deepEqual(outcomes["job, take"], [{ key: "j", value: "", version: "5", takes: 1 }]);
  ok(Number(outcomes["job, not yet"]) > 50_000);
  deepEqual(outcomes["log, append"], ["1", "2", "3"]);
  await until(() => heard.includes("z"), "the texts");
  deepEqual(heard, ["job", "log", "drop", "x", "y", "z"]);
});

test("equal texts that are sent together all arrive", async (t) => {
  const heard: string[] = [];
  const { store } = await open(t, { onText: (text) => heard.push(text) });
  const long = "x".repeat(10_000);
  await store.send(["a", "a", long, long, "a"]);
  deepEqual(heard, ["a", "a", long, long, "a"]);
});

test("a put that was carried out can be repeated, with its notice", async (t) => {
  const heard: string[] = [];
  const { store } = await open(t, { onText: (text) => heard.push(text) });
  const index = [{ index: "i", score: 1 }];
  const first = { version: "1", ifVersion: null, index, notice: "first" };
  const second = { version: "2", ifVersion: "1", index, notice: "second" };
  for (const put of [first, first, second, second]) equal(await store.put("k", "v", put), true);
  const other = [{ index: "j", score: 1 }];
  equal(await store.put("k", "other", { ...first, index: other }), false);
  await store.send(["end"]);
  deepEqual(heard, ["first", "first", "second", "second", "end"]);
  equal((await store.get("k"))?.value, "v");
  deepEqual([await store.count("i"), await store.count("j")], [1, 0]);
});

test("what a take without a reply has taken is in an index, and a record is taken once at a time", async (t) => {
  const { store } = await open(t);
  const index = [
    { index: "jobs", inMs: 0 },
    { index: "other", score: 1 },
  ];
  for (const key of ["a", "b", "c"]) await store.put(key, "v", { version: key, index });
  const take = (token: string, leaseMs = 60_000) => store.takeDue("jobs", { most: 2, leaseMs, token });
  const taken = await Promise.all(["1", "2", "3", "4"].map((token) => take(token)));
  const keys = taken.flatMap((found) => (typeof found === "object" ? found.map(({ key }) => key) : []));
  deepEqual(keys.sort(), ["a", "b", "c"]);
  const [token = ""] = ["1", "2", "3", "4"].filter((_, at) => typeof taken[at] === "object");
  const listed = await store.list(takenBy(token), { limit: 10 });
  deepEqual(
    listed.map(({ version, score }) => [version, score]),
    listed.map(() => [token, 0]),
  );
  ok(listed.length > 0);
  deepEqual([await store.count("jobs"), await store.count("other")], [3, 0]);
  equal((await take("5").then(Number)) > 50_000, true);
});
