import { deepEqual, equal, ok } from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import pg from "pg";
import type { Cluster, Lease } from "#src/cluster/cluster.js";
import { NotSent, type PostgresClient } from "#src/postgres/client.js";
import type { PostgresClusterOptions } from "#src/postgres/postgres-cluster.js";
import { failureOf, until, wait } from "../../contract/world.js";
import { startPostgres } from "../../support/engines/postgres.js";
import { libraries, PostgresWorld } from "../../support/engines/postgres-world.js";

const engine = await startPostgres();
after(() => engine.close());

const admin = new pg.Pool({ connectionString: engine.url, max: 2 });
admin.on("error", () => {});
after(() => admin.end());

const names = Object.keys(libraries) as (keyof typeof libraries)[];

function worldOf(t: TestContext, library: keyof typeof libraries, options: Partial<PostgresClusterOptions> = {}) {
  const world = new PostgresWorld(t, engine.url, library, options);
  return async () => {
    const node = await world.node();
    t.after(() => world.close(node));
    return node;
  };
}

function gapsOf({ bus }: Cluster): { count: number } {
  const gaps = { count: 0 };
  bus.onGap(() => gaps.count++);
  return gaps;
}

/** Ends connections of the server by the text of their last statement. */
const terminate = (like: string) =>
  admin.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where query ilike $1 and pid <> pg_backend_pid()",
    [like],
  );

for (const library of names) {
  test(`${library}: a lost listening connection is one gap, and messages arrive again`, async (t) => {
    const node = worldOf(t, library);
    const [a, b] = [await node(), await node()];
    const gaps = gapsOf(b);
    const heard: string[] = [];
    await b.bus.subscribe("t", (text) => heard.push(text));
    await terminate("listen %");
    await until(() => gaps.count > 0, "the gap is told");
    await until(async () => (await failureOf(() => a.bus.publish("t", "again"))) === undefined, "the bus is back");
    await until(() => heard.includes("again"), "messages arrive again");
    equal(gaps.count, 1);
    equal(b.available, true);
  });

  test(`${library}: messages arrive after a crash of the server, which begins to number them anew`, async (t) => {
    const node = worldOf(t, library);
    const [a, b] = [await node(), await node()];
    for (let sent = 0; sent < 100; sent++) await a.bus.publish("t", "before");
    const heard: string[] = [];
    await b.bus.subscribe("t", (text) => heard.push(text));
    await engine.kill();
    await engine.start();
    // A message that comes before the connection listens again is lost, and a gap is told.
    const arrives = async () => (await failureOf(() => a.bus.publish("t", "after"))) === undefined && heard.length > 0;
    await until(arrives, "a message arrives");
    deepEqual([...new Set(heard)], ["after"]);
  });

  test(`${library}: lost connections of statements are replaced, and no gap is told`, async (t) => {
    const node = await worldOf(t, library, { heartbeatMs: 60_000 })();
    const gaps = gapsOf(node);
    await node.records.put("k", "v");
    await terminate("%put_1%");
    await until(async () => (await failureOf(() => node.records.get("k"))) === undefined, "statements work again");
    equal((await node.records.get("k"))?.value, "v");
    await until(() => node.available, "the server counts as available");
    equal(gaps.count, 0);
  });

  test(`${library}: a server that hangs fails operations within the time limit, and is back by itself`, async (t) => {
    const node = await worldOf(t, library, { timeoutMs: 700 })();
    const gaps = gapsOf(node);
    await node.records.put("k", "v");
    engine.signal("SIGSTOP");
    try {
      const start = performance.now();
      equal(await failureOf(() => node.records.put("k", "w")), "unknown_outcome");
      ok(performance.now() - start < 10_000, `${performance.now() - start} ms`);
      equal(node.available, false);
      const next = performance.now();
      equal(await failureOf(() => node.records.get("k")), "unavailable");
      ok(performance.now() - next < 700, "a further operation does not wait for the time limit");
      // Longer than the attempts to hear a notification.
      await wait(3_000);
    } finally {
      engine.signal("SIGCONT");
    }
    await until(async () => (await failureOf(() => node.records.get("k"))) === undefined, "the server is back");
    await until(() => gaps.count > 0, "the gap is told");
  });
}

test("one sweep deletes all rows whose life is over", async (t) => {
  const world = new PostgresWorld(t, engine.url, "pg", { heartbeatMs: 200 });
  /** Number of heartbeats since the first sweep. */
  let beats = Number.NaN;
  const node = await world.node((client) => ({
    ...client,
    query(text, values, signal) {
      if (/^select \S*sweep_1/.test(text) && Number.isNaN(beats)) beats = 0;
      if (/^select \S*publish_1/.test(text)) beats++;
      return client.query(text, values, signal);
    },
  }));
  t.after(() => world.close(node));
  const { schema } = world;
  await admin.query(`
    insert into ${schema}.records select 'k' || x, '', 1, now() - interval '1 day' from generate_series(1, 5000) x;
    insert into ${schema}.indexed select 'i', 1, key from ${schema}.records;
    insert into ${schema}.messages (sender, seq, topic, text, at)
      select 'another', x, 't', '', now() - interval '1 day' from generate_series(1, 5000) x;`);
  const left = async () => {
    const counts = `(select count(*) from ${schema}.records) + (select count(*) from ${schema}.messages)`;
    return Number((await admin.query(`select ${counts} as n`)).rows[0].n);
  };
  await until(async () => (await left()) === 0, "the rows are gone");
  ok(beats < 10, `${beats} heartbeats after the first sweep`);
});

/** Loses the reply of the first acquisition of a lease. */
function losesAcquisition(client: PostgresClient): PostgresClient {
  let isLost = false;
  return {
    ...client,
    async query(text, values, signal) {
      const rows = await client.query(text, values, signal);
      if (isLost || !/^insert into \S*leases/.test(text)) return rows;
      isLost = true;
      throw new Error("the reply was lost");
    },
  };
}

function doubtful(t: TestContext) {
  const world = new PostgresWorld(t, engine.url, "pg");
  return async (change?: typeof losesAcquisition) => {
    const node = await world.node(change);
    t.after(() => world.close(node));
    return node;
  };
}

test("a lease whose acquisition has an unknown outcome is taken by the next attempt of its node", async (t) => {
  const node = doubtful(t);
  const [a, b] = [await node(losesAcquisition), await node()];
  equal(await failureOf(() => a.leases.acquire("l", 600_000)), "unknown_outcome");
  let lease: Lease | undefined;
  await until(async () => {
    const failure = await failureOf(async () => {
      lease = await a.leases.acquire("l", 600_000);
    });
    return failure === undefined;
  }, "the node is connected again");
  ok(lease);
  await wait(1_000);
  equal(await b.leases.acquire("l", 600_000), undefined);
  equal(lease.lost.aborted, false);
});

test("a lease whose acquisition has an unknown outcome does not stay blocked", async (t) => {
  const node = doubtful(t);
  const [a, b] = [await node(losesAcquisition), await node()];
  equal(await failureOf(() => a.leases.acquire("l", 600_000)), "unknown_outcome");
  await until(async () => (await b.leases.acquire("l", 600_000)) !== undefined, "another node has the lease");
  equal(await a.leases.acquire("l", 600_000), undefined);
});

test("a process that was busy for several heartbeats tells no gap", async (t) => {
  const node = await worldOf(t, "pg", { heartbeatMs: 100 })();
  const gaps = gapsOf(node);
  const heard: string[] = [];
  await node.bus.subscribe("t", (text) => heard.push(text));
  for (const text of ["1", "2"]) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    await node.bus.publish("t", text);
    await until(() => heard.includes(text), `message ${text}`);
  }
  equal(gaps.count, 0);
});

test("a statement that fails while the connection is reopened does not leave the server away", async (t) => {
  const { client, end } = libraries.pg(engine.url);
  const held: (() => void)[] = [];
  let lose = () => {};
  let isHolding = false;
  let opened = 0;
  const refuse = () => new NotSent(new Error("the connection was lost"));
  const unsteady: typeof client = {
    ...client,
    async query(text, values, signal) {
      if (isHolding) return new Promise((_, reject) => held.push(() => reject(refuse())));
      return client.query(text, values, signal);
    },
    listen(channel, heard, lost) {
      lose = lost;
      opened++;
      isHolding = false;
      return client.listen(channel, heard, lost);
    },
  };
  const node = await worldOf(t, "pg", { client: unsteady, heartbeatMs: 60_000 })();
  t.after(() => end());
  isHolding = true;
  const reading = failureOf(() => node.records.get("k"));
  await until(() => held.length === 1, "the statement is sent");
  held.shift()?.();
  equal(await reading, "unavailable");
  await until(() => held.length === 1, "the cluster looks if the server answers");
  lose();
  await until(() => opened === 2 && node.available, "the connection is reopened");
  held.shift()?.();
  await wait(50);
  await until(async () => (await failureOf(() => node.records.get("k"))) === undefined, "statements work again");
});

test("a lease outlives renewals that fail", async (t) => {
  const { client, end } = libraries.pg(engine.url);
  let failures = 0;
  const failing: typeof client = {
    ...client,
    async query(text, values, signal) {
      if (/^update .*leases/.test(text) && failures < 3) {
        failures++;
        throw new NotSent(new Error("the connection was lost"));
      }
      return client.query(text, values, signal);
    },
  };
  const node = await worldOf(t, "pg", { client: failing })();
  t.after(() => end());
  const lease = await node.leases.acquire("l", 3_000);
  await until(() => failures === 3 || lease?.lost.aborted === true, "renewals fail");
  await wait(3_000);
  equal(lease?.lost.aborted, false);
});

test("a message that the sender could not send is a gap for its listeners", async (t) => {
  const node = worldOf(t, "pg");
  const [a, b] = [await node(), await node()];
  const heard: string[] = [];
  const gaps = gapsOf(b);
  await b.bus.subscribe("t", (text) => heard.push(text));
  await a.bus.publish("t", "1");
  await until(() => heard.length === 1, "the first message");
  // The table refuses the message, as if the connection had been lost.
  const { rows } = await admin.query(
    "select table_schema as s from information_schema.tables where table_name = 'messages' order by table_schema",
  );
  const lock = rows.map(({ s }) => s as string);
  for (const s of lock) await admin.query(`alter table ${s}.messages add constraint no2 check (text <> '2') not valid`);
  equal(await failureOf(() => a.bus.publish("t", "2")), "refused");
  await until(() => gaps.count > 0, "the heartbeat shows the hole");
  await a.bus.publish("t", "3");
  await until(() => heard.includes("3"), "the message after the hole");
  deepEqual(heard, ["1", "3"]);
  equal(gaps.count, 1);
});

test("an entry without a notification reaches its followers by the next heartbeat", async (t) => {
  const node = await worldOf(t, "pg")();
  await node.logs.create("l", { keepMs: 60_000, maxEntries: 10, maxBytes: 1000 });
  const writer = await node.logs.claim("l", "s");
  const id = await writer.append(0, "1");
  const seen: string[] = [];
  const following = (async () => {
    for await (const { data } of node.logs.follow("l", "s", id, new AbortController().signal)) seen.push(data);
  })();
  await wait(50);
  const { rows } = await admin.query(
    "select table_schema as s from information_schema.tables where table_name = 'meta'",
  );
  for (const { s } of rows)
    await admin.query(`select ${s}.append_1(log, name, claim, seq, 'silent', true) from ${s}.streams where node = $1`, [
      node.node,
    ]);
  await following;
  deepEqual(seen, ["silent"]);
});

test("rows whose life is over are deleted", async (t) => {
  const node = await worldOf(t, "pg", { heartbeatMs: 60 })();
  await node.records.put("k", "v", { ttlMs: 50, index: [{ index: "i", score: 1 }] });
  await node.logs.create("l", { keepMs: 50, maxEntries: 10, maxBytes: 1000 });
  await (await node.logs.claim("l", "s")).append(0, "1");
  await node.buckets.take("b", { burst: 1, refillMs: 1 });
  const schemas = await admin.query(
    "select table_schema as s from information_schema.tables where table_name = 'meta'",
  );
  const counts = async () => {
    const parts = schemas.rows.flatMap(({ s }) =>
      ["records", "indexed", "entries", "buckets"].map((name) => `(select count(*) from ${s}.${name} where true)`),
    );
    const own = schemas.rows.map(
      ({ s }) => `(select count(*) from ${s}.records where key = 'k' and expires is not null)`,
    );
    const { rows } = await admin.query(`select (${own.join("+")})::int as own, (${parts.join("+")})::int as all`);
    return rows[0] as { own: number; all: number };
  };
  await until(async () => (await counts()).own === 0, "expired rows are gone");
});
