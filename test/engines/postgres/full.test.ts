import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import pg from "pg";
import type { ClusterError } from "#src/cluster/error.js";
import { failureOf, until } from "#src/testing/contract/world.js";
import { fullContract } from "../../contract/contract.js";
import { fullServers } from "../../support/engines/full-servers.js";
import { NOBODY, startPostgres } from "../../support/engines/postgres.js";
import { libraries, PostgresWorld } from "../../support/engines/postgres-world.js";
import { mountSmallDisk } from "../../support/engines/small-disk.js";

const server = await startPostgres();
after(() => server.close());
const admin = new pg.Pool({ connectionString: server.url, max: 1 });
admin.on("error", () => {});
after(() => admin.end());

for (const library of Object.keys(libraries) as (keyof typeof libraries)[])
  fullContract(library, (t) => fillable(new PostgresWorld(t, server.url, library)));
fullServers("PostgreSQL", (t) => fillable(new PostgresWorld(t, server.url, "pg")));

/** A world whose server can be filled: each write fails as on a full disk. */
function fillable(world: PostgresWorld) {
  const engine = { kill: () => {}, start: () => {}, fill: () => fail(world, "53100"), free: () => free(world) };
  return Object.assign(world, { engine });
}

/** Lets each write of a row fail with a SQLSTATE, in the server. */
async function fail({ schema }: PostgresWorld, state: string): Promise<void> {
  const { rows } = await admin.query("select tablename as name from pg_tables where schemaname = $1", [schema]);
  const triggers = rows.map(
    ({ name }) =>
      `create trigger fails before insert or update on ${schema}.${name} for each row execute function ${schema}.fails();`,
  );
  await admin.query(`create or replace function ${schema}.fails() returns trigger language plpgsql as
    $$ begin raise exception 'the test lets it fail' using errcode = '${state}'; end $$;
    ${triggers.join("\n")}`);
}

const free = async ({ schema }: PostgresWorld) => {
  await admin.query(`drop function if exists ${schema}.fails() cascade`);
};

test("errors of a server that passes are not final, and those of a program are", async (t) => {
  const world = new PostgresWorld(t, server.url, "pg");
  const node = await world.node();
  t.after(() => world.close(node));
  const isShort = true;
  for (const [state, failure, isFull] of [
    ["53000", "unavailable", isShort],
    ["53100", "unavailable", isShort],
    ["53200", "unavailable", isShort],
    ["53300", "unavailable"],
    ["58030", "unavailable", isShort],
    ["25006", "unavailable", isShort],
    ["57P03", "unavailable"],
    ["40001", "unavailable"],
    ["42501", "refused"],
    ["23514", "refused"],
    ["22001", "refused"],
    ["XX000", "refused"],
  ] as const) {
    await fail(world, state);
    equal(await failureOf(() => node.records.put("k", "v")), failure, state);
    await until(async () => (await failureOf(() => node.records.get("k"))) === undefined, "the server answers");
    equal(node.available, isFull !== isShort, `${state}: a full server stays unavailable`);
    await free(world);
    await until(() => node.available, `the server is back after ${state}`);
    await until(async () => (await failureOf(() => node.records.put("k", "v"))) === undefined, state);
  }
});

const disk = mountSmallDisk(NOBODY);
// Elsewhere the trigger above alone stands for a full disk.
if (disk !== undefined) {
  after(() => disk.unmount());
  test("a disk that is full in truth is away for what needs room, until there is some", async (t) => {
    const world = new PostgresWorld(t, server.url, "pg");
    const node = await world.node();
    t.after(() => world.close(node));
    await admin.query(`create tablespace small location '${disk.folder}'`);
    const { rows } = await admin.query(
      `select relname as name, case relkind when 'r' then 'table' else 'index' end as kind
       from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'i')`,
      [world.schema],
    );
    for (const { name, kind } of rows)
      await admin.query(`alter ${kind} ${world.schema}."${name}" set tablespace small`);
    await node.records.put("k", "v");
    const text = randomBytes(100_000).toString("base64");
    disk.fill();
    await rejects(
      async () => node.records.put("long", text),
      (error: ClusterError) => {
        deepEqual([error.failure, (error.cause as { code?: unknown }).code], ["unavailable", "53100"]);
        match(error.message, /the disk of the server is full/);
        return true;
      },
    );
    equal(node.available, false);
    equal((await node.records.get("k"))?.value, "v", "what it has can be read");
    disk.free();
    await until(() => node.available, "there is room");
    await node.records.put("long", text);
    equal((await node.records.get("long"))?.value, text);
  });
}

test("messages need no room, unless they are long", async (t) => {
  const world = new PostgresWorld(t, server.url, "pg");
  const nodes = [await world.node(), await world.node()] as const;
  for (const node of nodes) t.after(() => world.close(node));
  await fail(world, "53100");
  const heard: string[] = [];
  await nodes[1].bus.subscribe("t", (text) => heard.push(text));
  equal(await failureOf(() => nodes[0].bus.publish("t", "x".repeat(10_000))), "unavailable");
  await nodes[0].bus.publish("t", "short");
  await until(() => heard.length > 0, "the message arrives");
  deepEqual(heard, ["short"]);
  await free(world);
});

test("a database that is read-only for a while is not an error of the program", async (t) => {
  const world = new PostgresWorld(t, server.url, "pg");
  const node = await world.node();
  t.after(() => world.close(node));
  await node.records.put("k", "v");
  // Sessions have the setting from their start.
  const set = async (isReadOnly: boolean) => {
    await admin.query(`set session characteristics as transaction read write`);
    await admin.query(
      `begin read write; alter role postgres set default_transaction_read_only = ${isReadOnly}; commit`,
    );
    await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'",
    );
  };
  t.after(() => set(false));
  await set(true);
  await until(async () => (await failureOf(() => node.records.put("k", "w"))) !== undefined, "the setting counts");
  await until(async () => (await failureOf(() => node.records.get("k"))) === undefined, "it can be read");
  equal(await failureOf(() => node.records.put("k", "w")), "unavailable");
  equal(node.available, false);
  await set(false);
  await until(() => node.available, "it can be written");
  await until(async () => (await failureOf(() => node.records.put("k", "w"))) === undefined, "writes work");
});
