import { deepEqual, equal, ok } from "node:assert/strict";
import { statSync } from "node:fs";
import { type TestContext, test } from "node:test";
import type { Database } from "#src/sqlite/database.js";
import type { News } from "#src/sqlite/messages.js";
import { operationsOf } from "#src/sqlite/operations.js";
import { createSqliteCluster } from "#src/sqlite/sqlite-cluster.js";
import { prepareTables } from "#src/sqlite/tables.js";
import { Watcher } from "#src/sqlite/watcher.js";
import { failureOf, until, wait } from "../../contract/world.js";
import { cuttable, SqliteWorld } from "../../support/engines/sqlite-world.js";
import { FakeClock } from "../../support/fake-clock.js";

const { DatabaseSync } = (await import("node:sqlite" as string)) as { DatabaseSync: new (path: string) => Database };

/** Opens the file by a connection of the test, as another process does. */
function connect(t: TestContext, world: SqliteWorld): Database {
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
  equal(await failureOf(() => node.records.put("k", "w")), "unavailable");
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
  const node = createSqliteCluster({ path: world.path, timeoutMs: 100 }, threads.start);
  t.after(() => node.close());
  await node.records.put("k", "before");
  const { goOn, deliver } = threads.hold();
  const [put, get] = [node.records.put("k", "doubtful"), node.records.get("k")];
  equal(await failureOf(() => put), "unknown_outcome");
  equal(await failureOf(() => get), "unavailable");
  equal(node.available, false);
  goOn();
  deliver();
  await until(() => node.available, "another thread is used");
  equal((await node.records.get("k"))?.value, "doubtful");
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

test("messages that were deleted before they were read are a gap", async (t) => {
  const world = new SqliteWorld(t, { pollMs: 200 });
  const node = await world.node();
  t.after(() => node.close());
  const heard: string[] = [];
  let gaps = 0;
  node.bus.onGap(() => gaps++);
  await node.bus.subscribe("t", (text) => heard.push(text));
  const other = connect(t, world);
  other.exec(`update counters set value = value + 2 where name = 'message';
    insert into messages select value, 'another', 't', 'second', 0 from counters where name = 'message'`);
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
  const tables = ["records", "indexed", "entries", "streams", "buckets"];
  const rows = () => tables.map((name) => other.prepare(`select count(*) as n from ${name}`).get()?.n);
  await until(() => rows().every((count) => count === 0), "expired rows are gone");
  equal(other.prepare("select count(*) as n from logs").get()?.n, 1);
});

test("one sweep deletes all rows whose life is over", async (t) => {
  const world = new SqliteWorld(t);
  const clock = new FakeClock();
  const node = createSqliteCluster({ path: world.path, clock }, cuttable().start);
  t.after(() => node.close());
  await node.ready;
  const other = connect(t, world);
  other.exec(`with recursive n(x) as (select 1 union all select x + 1 from n where x < 5000)
    insert into records select 'k' || x, '', 1, 1.0 from n;
    insert into indexed select 'i', 1.0, key from records;
    insert into messages select rowid, 'another', 't', '', 0 from records;
    insert into leases select key, 't', 1.0 from records`);
  const tables = ["records", "indexed", "messages", "leases"];
  const rows = () => tables.map((name) => other.prepare(`select count(*) as n from ${name}`).get()?.n);
  clock.advance(30_000);
  await until(() => rows().every((count) => count === 0), "the rows are gone");
});

test("a journal that a reader let grow is cut by the next heartbeat", async (t) => {
  const world = new SqliteWorld(t);
  const clock = new FakeClock();
  const node = createSqliteCluster({ path: world.path, clock }, cuttable().start);
  t.after(() => node.close());
  await node.records.put("k", "v");
  const other = connect(t, world);
  other.exec("begin; select count(*) from records");
  for (let at = 0; at < 20; at++) await node.records.put(`k${at}`, "v".repeat(1_000_000));
  const bytes = () => statSync(`${world.path}-wal`).size;
  ok(bytes() > 16 * 1024 * 1024, `${bytes()} bytes`);
  clock.advance(3_000);
  equal((await node.records.get("k"))?.value, "v");
  ok(bytes() > 16 * 1024 * 1024, "a reader needs the journal");
  other.exec("commit");
  clock.advance(3_000);
  await until(() => bytes() <= 16 * 1024 * 1024, "the journal is cut");
  equal((await node.records.get("k19"))?.value.length, 1_000_000);
});

test("the file is looked at only while something waits", (t) => {
  const clock = new FakeClock();
  const session = prepareTables(connect(t, new SqliteWorld(t)), "");
  const operations = operationsOf(session);
  const told: News[] = [];
  const watcher = new Watcher({ session, clock, pollMs: 5, tell: (news) => told.push(news) });
  equal(clock.pending, 0);
  watcher.watch({ topics: ["t"], logs: false, jobs: false });
  equal(clock.pending, 1);
  operations.publish("a", "t", "1");
  operations.publish("a", "another", "2");
  watcher.look();
  deepEqual(
    told.map(({ messages }) => messages.map(({ text }) => text)),
    [["1"]],
  );
  watcher.watch({ topics: [], logs: false, jobs: false });
  equal(clock.pending, 0);
  watcher.look();
  equal(told.length, 1);
});

test("a quiet file is looked at less often, until something happens", (t) => {
  const clock = new FakeClock();
  const world = new SqliteWorld(t);
  const session = prepareTables(connect(t, world), "");
  const told: News[] = [];
  const watcher = new Watcher({ session, clock, pollMs: 5, tell: (news) => told.push(news) });
  t.after(() => watcher.close());
  watcher.watch({ topics: ["t"], logs: false, jobs: false });
  clock.advance(200 * 5);
  const { publish } = operationsOf({ ...session, database: connect(t, world) });
  publish("a", "t", "1");
  clock.advance(39);
  equal(told.length, 0);
  clock.advance(1);
  equal(told.length, 1);
  publish("a", "t", "2");
  clock.advance(5);
  equal(told.length, 2);
  clock.advance(200 * 5);
  watcher.stir();
  publish("a", "t", "3");
  clock.advance(5);
  equal(told.length, 3);
});
