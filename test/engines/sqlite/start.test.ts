import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { sqliteCluster } from "#src/entry/sqlite.js";
import { DefinitionError } from "#src/protocol/errors.js";
import type { Database } from "#src/sqlite/session.js";
import { openFile } from "#src/sqlite/start.js";
import { failureOf, until } from "#src/testing/contract/world.js";
import { SqliteWorld } from "../../support/engines/sqlite-world.js";

test("processes that start together create the file once", async (t) => {
  for (let round = 0; round < 10; round++) {
    const world = new SqliteWorld(t);
    const nodes = await Promise.all(Array.from({ length: 6 }, () => world.node()));
    const made = await Promise.all(nodes.map(({ records }) => records.put("k", "v", { ifVersion: null })));
    equal(made.filter((version) => version !== undefined).length, 1);
    await Promise.all(nodes.map((node) => node.close()));
  }
});

test("a start that meets the start of another process is tried again", async (t) => {
  const { path } = new SqliteWorld(t);
  const { DatabaseSync } = (await import("node:sqlite" as string)) as { DatabaseSync: new (path: string) => Database };
  const opened: Database[] = [];
  let closed = 0;
  // While another connection changes the journal mode, SQLite fails at once, whatever time it may wait.
  const open = (): Database => {
    const database = new DatabaseSync(path);
    opened.push(database);
    const prepare = (text: string) => {
      if (opened.length === 1) throw Object.assign(new Error("database is locked"), { errcode: 5 });
      return database.prepare(text);
    };
    const close = () => {
      closed++;
      database.close();
    };
    return { exec: (text) => database.exec(text), prepare, close };
  };
  const session = openFile(open, { prefix: "", synchronous: "normal", timeoutMs: 5_000 });
  deepEqual([opened.length, closed], [2, 1]);
  session.database.close();
});

test("the state outlives all processes", async (t) => {
  const world = new SqliteWorld(t);
  const first = await world.node();
  await first.records.put("k", "v", { index: [{ index: "i", score: 1 }] });
  await first.logs.create("l", { keepMs: 60_000, maxEntries: 10, maxBytes: 1000 });
  const writer = await first.logs.claim("l", "s");
  const id = await writer.append(0, "1");
  await first.queue.add("j", "job");
  await first.close();
  const second = await world.node();
  t.after(() => second.close());
  deepEqual(
    (await second.records.list("i", { limit: 5 })).map(({ key, value }) => [key, value]),
    [["k", "v"]],
  );
  deepEqual(await second.logs.readAfter("l", "s"), [{ id, data: "1", last: false }]);
  equal(await second.queue.add("j", "job"), false);
});

test("a path that is no file on a disk is refused", () => {
  for (const path of ["", ":memory:", "file:state.db"])
    throws(() => sqliteCluster({ path }), { name: "DefinitionError", message: /pass the path of a file/ });
  throws(() => sqliteCluster({ path: "x.db", prefix: "a-b" }), DefinitionError);
});

test("a start that fails names the remedy, and is tried again", async (t) => {
  const world = new SqliteWorld(t);
  const folder = join(world.folder, "later");
  const node = sqliteCluster({ path: join(folder, "state.db") });
  t.after(() => node.close());
  await rejects(node.ready, /^ClusterError: open the file: .*unable to open database file .*; create the folder/);
  equal(node.available, false);
  await rejects(async () => node.records.get("k"), /^ClusterError: get record "k": .* create the folder/);
  mkdirSync(folder);
  await until(async () => (await failureOf(() => node.records.put("k", "v"))) === undefined, "the file is opened");
  equal(node.available, true);
});

test("a file that is no database is refused", async (t) => {
  const world = new SqliteWorld(t);
  writeFileSync(world.path, "this is a text of more than sixteen characters\n".repeat(100));
  await rejects(world.node(), { failure: "refused", message: /file is not a database; use another path/ });
});

for (const [version, remedy] of [
  [1, "use another file or prefix"],
  [7, "upgrade bowline, or use another file or prefix"],
] as const)
  test(`tables of version ${version} are refused`, async (t) => {
    const world = new SqliteWorld(t);
    await (await world.node()).close();
    const { DatabaseSync } = await import("node:sqlite" as string);
    const database = new DatabaseSync(world.path);
    database.exec(`update meta set version = ${version}`);
    database.close();
    const message = new RegExp(`have version ${version}, and this release uses version 2; ${remedy}$`);
    await rejects(world.node(), { failure: "refused", message });
  });

test("clusters with different prefixes share nothing", async (t) => {
  const world = new SqliteWorld(t);
  const [one, two] = ["", "two_"].map((prefix) => sqliteCluster({ path: world.path, prefix }));
  t.after(() => Promise.all([one?.close(), two?.close()]));
  await one?.records.put("k", "one");
  equal(await two?.records.get("k"), undefined);
});

test("a file that is deleted while it is open is created again, and told as a gap", async (t) => {
  const world = new SqliteWorld(t, { heartbeatMs: 50 });
  const node = await world.node();
  t.after(() => node.close());
  let gaps = 0;
  node.bus.onGap(() => gaps++);
  await node.records.put("k", "v");
  for (const text of ["1", "2", "3"]) await node.bus.publish("t", text);
  const heard: string[] = [];
  await node.bus.subscribe("t", (text) => heard.push(text));
  for (const end of ["", "-wal", "-shm"]) rmSync(`${world.path}${end}`, { force: true });
  await until(() => gaps > 0, "the gap is told");
  await until(async () => (await failureOf(() => node.records.put("n", "w"))) === undefined, "the new file is used");
  const other = await world.node();
  t.after(() => other.close());
  equal((await other.records.get("n"))?.value, "w");
  equal(await other.records.get("k"), undefined);
  await other.bus.publish("t", "again");
  await until(() => heard.length > 0, "messages arrive again");
  deepEqual(heard, ["again"]);
});
