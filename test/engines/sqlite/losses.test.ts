import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { statSync } from "node:fs";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createSqliteCluster } from "#src/sqlite/cluster.js";
import type { News } from "#src/sqlite/messages.js";
import type { Database } from "#src/sqlite/session.js";
import { openFile } from "#src/sqlite/start.js";
import { Watcher } from "#src/sqlite/watcher.js";
import { failureOf, type Scope, until, wait } from "#src/testing/contract/world.js";
import { FileProcess } from "../../support/engines/file-process.js";
import { cuttable, SqliteWorld } from "../../support/engines/sqlite-world.js";
import { FakeClock } from "../../support/fake-clock.js";

const { DatabaseSync } = (await import("node:sqlite" as string)) as { DatabaseSync: new (path: string) => Database };

/** Opens the file by a connection of the test, as another process does. */
function connect(t: Scope, world: SqliteWorld): Database {
  const database = new DatabaseSync(world.path);
  t.after(() => database.close());
  return database;
}

test("a writer that does not end fails operations within the time limit, and the event loop goes on", async (t) => {
  const world = new SqliteWorld(t, { timeoutMs: 700 });
  const node = await world.node();
  t.after(() => node.close());
  let gaps = 0;
  node.bus.onGap(() => gaps++);
  await node.records.put("k", "v");
  const other = connect(t, world);
  other.exec("begin immediate");
  const begin = performance.now();
  let turns = 0;
  const timer = setInterval(() => turns++, 10);
  t.after(() => clearInterval(timer));
  await rejects(async () => node.records.put("k", "w"), {
    failure: "unavailable",
    message:
      /^put record "k": SQLite: database is locked; another process writes, or was stopped while it wrote; nothing/,
  });
  const took = performance.now() - begin;
  ok(took > 500 && took < 10_000, `${took} ms`);
  ok(turns > 10, `the event loop had ${turns} turns`);
  equal(node.available, false);
  const next = performance.now();
  equal(await failureOf(() => node.records.get("k")), "unavailable");
  ok(performance.now() - next < 700, "a further operation does not wait for the time limit");
  other.exec("rollback");
  await until(() => gaps > 0 && node.available, "the file is back");
  equal((await node.records.get("k"))?.value, "v");
});

test("a thread that does not answer is replaced, and its late answer is ignored", async (t) => {
  const world = new SqliteWorld(t);
  const threads = cuttable();
  const clock = new FakeClock();
  const node = createSqliteCluster({ path: world.path, timeoutMs: 100, clock }, threads.start);
  t.after(() => node.close());
  await node.records.put("k", "before");
  const { goOn, deliver } = threads.hold();
  const [put, get] = [node.records.put("k", "doubtful"), node.records.get("k")];
  await setImmediate();
  clock.advance(1);
  const unsent = node.records.put("unsent", "v");
  await setImmediate();
  clock.advance(1_099);
  equal(await failureOf(() => put), "unknown_outcome");
  equal(await failureOf(() => get), "unavailable");
  equal(await failureOf(() => unsent), "unavailable");
  equal(node.available, false);
  goOn();
  deliver();
  const isBack = () => {
    clock.advance(5);
    return node.available;
  };
  await until(isBack, "another thread is used");
  equal((await node.records.get("k"))?.value, "doubtful");
  equal(await node.records.get("unsent"), undefined);
});

test("texts that SQLite cannot store are stored all the same", async (t) => {
  const world = new SqliteWorld(t);
  const node = await world.node();
  t.after(() => node.close());
  for (const text of ["a\0b", "\ud800", "\u0001", '\u0001"x"', "pair \ud83d\ude00"]) {
    await node.records.put(`k${text}`, text, { index: [{ index: "all", score: 1 }] });
    const { key, value } = (await node.records.get(`k${text}`)) ?? {};
    deepEqual([key, value], [`k${text}`, text]);
    const heard: string[] = [];
    await node.bus.subscribe(text, (message) => heard.push(message));
    await node.bus.publish(text, text);
    await until(() => heard.length > 0, "the message arrives");
    deepEqual(heard, [text]);
  }
  equal(await node.records.count("all"), 5);
});

test("a writer that ends in time delays operations only", async (t) => {
  const world = new SqliteWorld(t);
  const node = await world.node();
  t.after(() => node.close());
  const other = connect(t, world);
  other.exec("begin immediate");
  const puts = Array.from({ length: 50 }, (_, at) => node.records.put(`k${at}`, "v"));
  await wait(300);
  other.exec("commit");
  equal(new Set(await Promise.all(puts)).size, 50);
  equal(node.available, true);
});

test("a call that fails does not fail those that came with it", async (t) => {
  const world = new SqliteWorld(t);
  const node = await world.node();
  t.after(() => node.close());
  connect(t, world).exec(
    "create trigger no before insert on records when new.key = 'bad' begin select raise(abort, 'not this one'); end",
  );
  const outcomes = await Promise.all(
    ["1", "bad", "2"].map(async (key) => failureOf(async () => node.records.put(key, "v"))),
  );
  deepEqual(outcomes, [undefined, "refused", undefined]);
  equal((await node.records.get("2"))?.value, "v");
  equal(await node.records.get("bad"), undefined);
  equal(node.available, true);
});

test("texts that were deleted before they were read are a gap", async (t) => {
  const world = new SqliteWorld(t, { pollMs: 200 });
  const node = await world.node();
  t.after(() => node.close());
  const heard: string[] = [];
  let gaps = 0;
  node.bus.onGap(() => gaps++);
  await node.bus.subscribe("t", (text) => heard.push(text));
  const text = 'm another 1 "t"\nsecond';
  connect(t, world).prepare("insert into texts select max(id) + 2, 0, ? from texts").run(text);
  await until(() => heard.length > 0, "the message after the hole");
  deepEqual([heard, gaps], [["second"], 1]);
});

test("rows whose life is over are deleted", async (t) => {
  const world = new SqliteWorld(t, { heartbeatMs: 20 });
  const node = await world.node();
  t.after(() => node.close());
  await node.records.put("k", "v", { ttlMs: 50, index: [{ index: "i", score: 1 }] });
  await node.logs.create("l", { keepMs: 50, maxEntries: 10, maxBytes: 1000 });
  await (await node.logs.claim("l", "s")).append(0, "1", { last: true });
  await node.logs.create("dropped", { keepMs: 50, maxEntries: 10, maxBytes: 1000 });
  await node.logs.drop("dropped");
  await node.buckets.take("b", { burst: 1, refillMs: 1 });
  const other = connect(t, world);
  const tables = ["records", "indexed", "counts", "entries", "streams", "buckets"];
  const rows = () => tables.map((name) => other.prepare(`select count(*) as n from ${name}`).get()?.n);
  await until(() => rows().every((count) => count === 0), "expired rows are gone");
  equal(other.prepare("select count(*) as n from logs").get()?.n, 1);
});

test("one sweep deletes all rows whose life is over, in parts", (t) => {
  const { path } = new SqliteWorld(t);
  const clock = new FakeClock();
  const other = new DatabaseSync(path);
  t.after(() => other.close());
  const tables = ["records", "indexed", "buckets", "texts", "entries"];
  const rows = () => tables.map((name) => Number(other.prepare(`select count(*) as n from ${name}`).get()?.n));
  const deleted: number[][] = [];
  let before: number[] = [];
  const open = (): Database => {
    const database = new DatabaseSync(path);
    const exec = (text: string) => {
      database.exec(text);
      if (text !== "commit" || before.length === 0) return;
      const after = rows();
      deleted.push(after.map((count, at) => Number(before[at]) - count));
      before = after;
    };
    return { exec, prepare: (text) => database.prepare(text), close: () => database.close() };
  };
  const process = new FileProcess(t, path, open, clock);
  process.run("create", "l", { keepMs: 1, maxEntries: 10_000, maxBytes: 1e6, maxStreams: 10 });
  other.exec(`with recursive n(x) as (select 1 union all select x + 1 from n where x < 3500)
    insert into records (key, version, expires, takes, value) select 'k' || x, '', 1.0, 0, '' from n;
    insert into indexed select 'i', 1.0, key from records;
    insert into texts (at, text) select 1.0, '' from records;
    insert into buckets select key, 1.0 from records;
    insert into streams (log, name, claim, node) values (1, 's', '', '');
    insert into entries select 1, rowid, 's', '', rowid, 1, 0, 1.0, '' from records;
    update logs set entries = 3500, bytes = 3500, streams = 1, expires = 2.0`);
  before = rows();
  clock.advance(30_000);
  deepEqual(rows(), [0, 0, 0, 1, 0]);
  deepEqual(deleted, [...Array(3).fill([1_000, 1_000, 1_000, 1_000, 1_000]), [500, 500, 500, 499, 500]]);
  equal(process.run("count", "i"), 0);
});

test("a text that is sent after all others were deleted has a new number", (t) => {
  const { path } = new SqliteWorld(t);
  const clock = new FakeClock();
  const [a, b] = [0, 1].map(() => new FileProcess(t, path, () => new DatabaseSync(path), clock)) as [
    FileProcess,
    FileProcess,
  ];
  a.run("send", ["1", "2"]);
  clock.advance(100_000);
  a.run("send", ["3"]);
  clock.advance(5);
  deepEqual(
    [a.heard(), b.heard()],
    [
      ["1", "2", "3"],
      ["1", "2", "3"],
    ],
  );
});

test("a journal that a reader let grow is cut by the next heartbeat", (t) => {
  const world = new SqliteWorld(t);
  const clock = new FakeClock();
  const process = new FileProcess(t, world.path, () => new DatabaseSync(world.path), clock);
  const other = connect(t, world);
  other.exec("begin; select count(*) from records");
  for (let at = 0; at < 20; at++) process.run("put", `k${at}`, "v".repeat(1_000_000), { version: "1" });
  const bytes = () => statSync(`${world.path}-wal`).size;
  ok(bytes() > 16 * 1024 * 1024, `${bytes()} bytes`);
  clock.advance(3_000);
  ok(bytes() > 16 * 1024 * 1024, "a reader needs the journal");
  equal(process.run("get", "k0")?.value.length, 1_000_000);
  other.exec("commit");
  clock.advance(3_000);
  ok(bytes() <= 16 * 1024 * 1024, `${bytes()} bytes`);
  equal(process.run("get", "k19")?.value.length, 1_000_000);
});

test("a quiet file is looked at less often, until something happens", (t) => {
  const clock = new FakeClock();
  const world = new SqliteWorld(t);
  const open = () => openFile(() => connect(t, world), { prefix: "", synchronous: "normal", timeoutMs: 1_000 });
  const told: News[] = [];
  const watcher = new Watcher({ session: open(), clock, pollMs: 5, tell: (news) => told.push(news) });
  t.after(() => watcher.close());
  clock.advance(200 * 5);
  const other = open();
  const send = (text: string) => other.exec(`insert into texts (at, text) values (0, '${text}')`);
  send("1");
  clock.advance(39);
  equal(told.length, 0);
  clock.advance(1);
  deepEqual(told, [{ texts: ["1"], isMissed: false }]);
  send("2");
  clock.advance(5);
  equal(told.length, 2);
  clock.advance(200 * 5);
  watcher.stir();
  send("3");
  clock.advance(5);
  equal(told.length, 3);
});
