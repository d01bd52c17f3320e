import { deepEqual, equal, ok } from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { systemClock } from "#src/call/clock.js";
import { Engine } from "#src/nats/engine.js";
import { Names } from "#src/nats/names.js";
import { type NatsClusterOptions, natsCluster } from "#src/nats/nats-cluster.js";
import { Sweep } from "#src/nats/sweep.js";
import { dataOf, LOG, write } from "../../contract/logs.js";
import { until, wait } from "../../contract/world.js";
import { type NatsServer, startNats } from "../../support/engines/nats.js";
import { clientOf, newPrefix } from "./world.js";

let server: NatsServer;
let admin: NatsConnection;
before(async () => {
  server = await startNats();
  admin = await connect({ servers: server.url });
});
after(async () => {
  await admin.close();
  await server.end();
});

async function start(t: TestContext, prefix: string, options: Partial<NatsClusterOptions> = {}) {
  const node = natsCluster({ client: clientOf(server.url), prefix, ...options });
  t.after(() => node.close());
  await node.ready;
  return node;
}

/** Returns the number of messages of each subject of a stream. */
async function subjectsOf(stream: string): Promise<Record<string, number>> {
  const reply = await admin.request(`$JS.API.STREAM.INFO.${stream}`, JSON.stringify({ subjects_filter: ">" }));
  return reply.json<{ state: { subjects?: Record<string, number> } }>().state.subjects ?? {};
}

/** Returns a sweep that deletes what is over at once. */
async function sweepOf(t: TestContext, prefix: string): Promise<Sweep> {
  const client = clientOf(server.url);
  const prepare = async () => {};
  const engine = new Engine({
    client,
    names: new Names(prefix),
    clock: systemClock,
    timeoutMs: 2_000,
    prepare,
    onUp: () => {},
  });
  t.after(() => engine.close());
  await engine.tried("start");
  return new Sweep(engine, 0);
}

test("a record is gone at its end although the server keeps it, until a sweep deletes it", async (t) => {
  const prefix = newPrefix();
  const { records, leases } = await start(t, prefix);
  await records.put("short", "1", { ttlMs: 50 });
  await records.put("deleted", "1");
  await records.delete("deleted");
  await records.put("long", "1", { ttlMs: 60_000, index: [{ index: "all", score: 1 }] });
  const lease = await leases.acquire("l", 60_000);
  await until(async () => (await records.get("short")) === undefined, "the life is over");
  const kinds = async (): Promise<string[]> => {
    const subjects = Object.keys(await subjectsOf(`${prefix}_documents`));
    return subjects.map((subject) => subject.split(".").at(-2) ?? "").sort();
  };
  deepEqual(await kinds(), ["clock", "lease", "record", "record", "record"]);
  const sweep = await sweepOf(t, prefix);
  await sweep.run(0, 60_000);
  deepEqual(await kinds(), ["clock", "lease", "record", "sweep"]);
  equal((await records.get("long"))?.value, "1");
  equal(lease?.lost.aborted, false);
});

test("a sweep deletes the entries of a log that are not kept, and what is left of dropped logs", async (t) => {
  const prefix = newPrefix();
  const { logs } = await start(t, prefix);
  await logs.create("short", { ...LOG, keepMs: 50 });
  await logs.create("long", LOG);
  for (const log of ["short", "long"]) await write(await logs.claim(log, "s"), ["1", "2"]);
  await wait(100);
  const counts = async () => Object.values(await subjectsOf(`${prefix}_entries`)).sort();
  deepEqual(await counts(), [3, 3]);
  const sweep = await sweepOf(t, prefix);
  await sweep.run(0, 60_000);
  deepEqual(await counts(), [1, 3]);
  await logs.drop("short");
  deepEqual(await counts(), [3]);
  await wait(100);
  await sweep.run(0, 60_000);
  const left = Object.keys(await subjectsOf(`${prefix}_documents`)).filter((subject) => subject.includes(".log."));
  equal(left.length, 1);
});

test("a sweep deletes thousands of records that are over, also behind those that live", async (t) => {
  const prefix = newPrefix();
  const { records } = await start(t, prefix);
  const put = (kind: string, count: number, ttlMs: number) =>
    Promise.all(Array.from({ length: count }, (_, at) => records.put(`${kind} ${at}`, "v", { ttlMs })));
  await put("long", 1_000, 600_000);
  for (let part = 0; part < 5; part++) await put(`short ${part}`, 1_000, 1);
  const sweep = await sweepOf(t, prefix);
  const count = async () =>
    Object.keys(await subjectsOf(`${prefix}_documents`)).filter((subject) => subject.includes(".record.")).length;
  equal(await count(), 6_000);
  await sweep.run(0, 60_000);
  equal(await count(), 1_000);
});

test("a sweep ends after its time, and the next one goes on from there, also in another process", async (t) => {
  const prefix = newPrefix();
  const { records } = await start(t, prefix);
  await Promise.all(Array.from({ length: 900 }, (_, at) => records.put(`long ${at}`, "v")));
  await records.put("short", "v", { ttlMs: 1 });
  const count = async () => Object.keys(await subjectsOf(`${prefix}_documents`)).length;
  const before = await count();
  for (const isOver of [false, true]) {
    const sweep = await sweepOf(t, prefix);
    await sweep.run(0, 0);
    // The first one has stored its own document.
    equal(await count(), isOver ? before : before + 1);
  }
});

test("a sweep deletes hundreds of entries that are not kept, and never the last of a log", async (t) => {
  const prefix = newPrefix();
  const node = await start(t, prefix);
  const { logs } = node;
  const texts = Array.from({ length: 300 }, (_, at) => String(at));
  for (const log of ["one", "two", "three"]) {
    await logs.create(log, { ...LOG, maxEntries: 1_000, keepMs: log === "three" ? 600_000 : 50 });
    await write(await logs.claim(log, "s"), texts);
  }
  await wait(100);
  const sweep = await sweepOf(t, prefix);
  await sweep.run(0, 60_000);
  deepEqual(Object.values(await subjectsOf(`${prefix}_entries`)).sort(), [1, 1, 301]);
  deepEqual(await dataOf(node, "three", "s"), texts);
  await write(await logs.claim("one", "s"), ["next"]);
  deepEqual(await dataOf(node, "one", "s"), ["next"]);
});

test("a log that is written stays small on the server", async (t) => {
  const prefix = newPrefix();
  const { logs } = await start(t, prefix);
  await logs.create("l", { ...LOG, maxEntries: 20 });
  const writer = await logs.claim("l", "s");
  await write(
    writer,
    Array.from({ length: 200 }, (_, at) => String(at)),
  );
  await until(async () => Object.values(await subjectsOf(`${prefix}_entries`)).every((count) => count <= 40), "a trim");
  equal((await logs.readAfter("l", "s"))?.length, 20);
});

test("lives are judged by the clock of the server, whatever the clocks of the processes tell", async (t) => {
  const prefix = newPrefix();
  const a = await start(t, prefix);
  const ahead = { ...systemClock, now: () => performance.now() + 1e9, timeOfDay: () => Date.now() + 1e9 };
  const b = await start(t, prefix, { clock: ahead });
  await a.records.put("k", "v", { ttlMs: 60_000, index: [{ index: "all", score: 1 }] });
  equal((await b.records.get("k"))?.value, "v");
  const [listed] = await b.records.list("all", { limit: 1 });
  ok((listed?.leftMs ?? 0) > 50_000 && (listed?.leftMs ?? 0) <= 60_000);
  const lease = await a.leases.acquire("l", 60_000);
  equal(await b.leases.acquire("l", 60_000), undefined);
  await lease?.release();
  await b.records.put("short", "v", { ttlMs: 100 });
  await until(async () => (await a.records.get("short")) === undefined, "the life is over", 2_000);
});

test("a node reads what another one stored with names and texts of its own", async (t) => {
  const prefix = newPrefix();
  const [a, b] = [await start(t, prefix), await start(t, prefix)];
  for (const name of ["", " ", ".", "*", ">", "\ud800", "\u0000", "_"]) {
    await a.records.put(name, name, { index: [{ index: name, score: 1 }] });
    equal((await b.records.get(name))?.value, name);
    deepEqual(
      (await b.records.list(name, { limit: 2 })).map(({ key }) => key),
      [name],
    );
    await a.logs.create(name, LOG);
    await write(await a.logs.claim(name, name), [name]);
    deepEqual(await dataOf(b, name, name), [name]);
  }
});
