import { deepEqual, equal, ok } from "node:assert/strict";
import { after, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import pg from "pg";
import type { Cluster, Lease } from "#src/cluster/cluster.js";
import type { PostgresClusterOptions } from "#src/postgres/cluster.js";
import type { PostgresClient } from "#src/postgres/connection.js";
import { NotSent } from "#src/postgres/failure.js";
import { collect, failureOf, type Scope, until, wait } from "#src/testing/contract/world.js";
import { startPostgres } from "../../support/engines/postgres.js";
import { libraries, PostgresWorld } from "../../support/engines/postgres-world.js";

const engine = await startPostgres();
after(() => engine.close());

const admin = new pg.Pool({ connectionString: engine.url, max: 2 });
admin.on("error", () => {});
after(() => admin.end());

const names = Object.keys(libraries) as (keyof typeof libraries)[];

function worldOf(t: Scope, library: keyof typeof libraries, options: Partial<PostgresClusterOptions> = {}) {
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
    await terminate("%put_2%");
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
      if (/^select \S*sweep_2/.test(text) && Number.isNaN(beats)) beats = 0;
      if (/^select \S*notify_2/.test(text)) beats++;
      return client.query(text, values, signal);
    },
  }));
  t.after(() => world.close(node));
  const { schema } = world;
  const past = "now() - interval '1 day'";
  await admin.query(`
    insert into ${schema}.records select 'plain' || x, '', '1', 0, false, ${past} from generate_series(1, 3000) x;
    insert into ${schema}.records select 'k' || x, '', '1', 0, true, ${past} from generate_series(1, 3000) x;
    insert into ${schema}.indexed select key, 'i', 1 from ${schema}.records where indexed;
    insert into ${schema}.counts select 'i', hashtext(key) & 15, count(*) from ${schema}.indexed group by 2;
    insert into ${schema}.messages (text, at) select '', ${past} from generate_series(1, 5000) x;
    insert into ${schema}.buckets select 'b' || x, ${past}, 0 from generate_series(1, 5000) x;`);
  const left = async () => {
    const counts = ["records", "indexed", "counts", "messages", "buckets"];
    const sum = counts.map((name) => `(select count(*) from ${schema}.${name})`).join("+");
    return Number((await admin.query(`select ${sum} as n`)).rows[0].n);
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
      if (isLost || !String(values[0]).startsWith("lease/")) return rows;
      isLost = true;
      throw new Error("the reply was lost");
    },
  };
}

function doubtful(t: Scope) {
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
      if (/^update .*records/.test(text) && failures < 3) {
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
  const world = new PostgresWorld(t, engine.url, "pg");
  const [a, b] = [await world.node(), await world.node()];
  for (const node of [a, b]) t.after(() => world.close(node));
  const heard: string[] = [];
  const gaps = gapsOf(b);
  await b.bus.subscribe("t", (text) => heard.push(text));
  await a.bus.publish("t", "1");
  await until(() => heard.length === 1, "the first message");
  // A long message is stored. The table refuses it, as if the connection had been lost.
  await admin.query(`alter table ${world.schema}.messages add constraint no2 check (text not like '%222%') not valid`);
  equal(await failureOf(() => a.bus.publish("t", "2".repeat(10_000))), "refused");
  await until(() => gaps.count > 0, "the heartbeat shows the hole");
  await a.bus.publish("t", "3");
  await until(() => heard.includes("3"), "the message after the hole");
  deepEqual(heard, ["1", "3"]);
  equal(gaps.count, 1);
});

test("a message that is deleted before it was read is a gap", async (t) => {
  const world = new PostgresWorld(t, engine.url, "pg");
  let isDeleted = false;
  const sender = await world.node();
  const node = await world.node((client) => ({
    ...client,
    async query(text, values, signal) {
      if (/^select text from \S*messages/.test(text) && !isDeleted) {
        isDeleted = true;
        await admin.query(`delete from ${world.schema}.messages`);
      }
      return client.query(text, values, signal);
    },
  }));
  for (const one of [sender, node]) t.after(() => world.close(one));
  const gaps = gapsOf(node);
  const heard: string[] = [];
  await node.bus.subscribe("t", (text) => heard.push(text));
  await sender.bus.publish("t", "x".repeat(10_000));
  await until(() => gaps.count > 0, "the gap is told");
  await sender.bus.publish("t", "after");
  await until(() => heard.includes("after"), "the message after it");
  deepEqual(heard, ["after"]);
});

for (const [finder, options] of [
  ["a message", { timeoutMs: 500, heartbeatMs: 60_000 }],
  ["its heartbeats", { timeoutMs: 60_000, heartbeatMs: 100 }],
] as const)
  test(`a connection that hears nothing is opened again, as found by ${finder}`, async (t) => {
    const world = new PostgresWorld(t, engine.url, "pg", options);
    let isDeaf = false;
    let opened = 0;
    const node = await world.node((client) => ({
      ...client,
      listen(channel, heard, lost) {
        opened++;
        isDeaf = false;
        return client.listen(channel, (payload) => isDeaf || heard(payload), lost);
      },
    }));
    t.after(() => world.close(node));
    const gaps = gapsOf(node);
    isDeaf = true;
    await node.bus.publish("t", "1");
    await until(() => gaps.count > 0, "the gap is told");
    equal(opened, 2);
    const heard: string[] = [];
    await node.bus.subscribe("t", (text) => heard.push(text));
    await node.bus.publish("t", "2");
    deepEqual(heard, ["2"]);
  });

test("a library that delivers each notification twice is heard once", async (t) => {
  const world = new PostgresWorld(t, engine.url, "pg");
  const twice = (client: PostgresClient): PostgresClient => ({
    ...client,
    listen(channel, heard, lost) {
      const both = (payload: string) => {
        heard(payload);
        heard(payload);
      };
      return client.listen(channel, both, lost);
    },
  });
  const [a, b] = [await world.node(), await world.node(twice)];
  for (const node of [a, b]) t.after(() => world.close(node));
  const gaps = gapsOf(b);
  const heard: string[] = [];
  await b.bus.subscribe("t", (text) => heard.push(text));
  const texts = ["same", "same", "x".repeat(10_000), "end"];
  for (const text of texts) await a.bus.publish("t", text);
  await until(() => heard.includes("end"), "all messages");
  deepEqual([heard, gaps.count], [texts, 0]);
});

/** Node whose connection that listens is lost by `lose`, and not opened again before `open`. */
async function deafNode(t: Scope, world: PostgresWorld) {
  const deaf = { lose: () => {}, open: () => {} };
  let opening: Promise<void> = Promise.resolve();
  const node = await world.node((client) => ({
    ...client,
    async listen(channel, heard, lost) {
      await opening;
      deaf.lose = () => {
        opening = new Promise((resolve) => {
          deaf.open = resolve;
        });
        lost();
      };
      return client.listen(channel, heard, lost);
    },
  }));
  t.after(() => world.close(node));
  return Object.assign(deaf, { node });
}

test("a follower gets what was appended while its node heard nothing", async (t) => {
  const world = new PostgresWorld(t, engine.url, "pg");
  const writing = await world.node();
  t.after(() => world.close(writing));
  const deaf = await deafNode(t, world);
  await writing.logs.create("l", { keepMs: 60_000, maxEntries: 10, maxBytes: 1000 });
  const writer = await writing.logs.claim("l", "s");
  await writer.append(0, "1");
  const followed = collect(deaf.node.logs.follow("l", "s", undefined, new AbortController().signal));
  await followed.reaches(1);
  deaf.lose();
  await writer.append(1, "silent", { last: true });
  equal(followed.items.length, 1);
  deaf.open();
  await followed.reaches(2);
  await followed.end;
  equal(followed.items[1]?.data, "silent");
});

test("a process that hears nothing sends, and cannot subscribe", async (t) => {
  const world = new PostgresWorld(t, engine.url, "pg");
  const other = await world.node();
  t.after(() => world.close(other));
  const deaf = await deafNode(t, world);
  const heard: string[] = [];
  await other.bus.subscribe("t", (text) => heard.push(text));
  deaf.lose();
  await deaf.node.bus.publish("t", "1");
  await until(() => heard.length > 0, "the message arrives");
  equal(deaf.node.available, false);
  equal(await failureOf(() => deaf.node.bus.subscribe("t", () => {})), "unavailable");
  await deaf.node.records.put("k", "v");
  deaf.open();
  await until(() => deaf.node.available, "the connection is opened again");
  deepEqual(heard, ["1"]);
});

test("an id of an entry that the server has lost names no other entry", async (t) => {
  const world = new PostgresWorld(t, engine.url, "pg");
  const node = await world.node();
  t.after(() => world.close(node));
  await node.logs.create("l", { keepMs: 60_000, maxEntries: 10, maxBytes: 1000 });
  const lost = await (await node.logs.claim("l", "s")).append(0, "lost");
  // The server begins anew with its state before the claim, as after a failover that lost the last writes.
  await admin.query(`delete from ${world.schema}.entries; delete from ${world.schema}.streams;
    update ${world.schema}.logs set top = 0, entries = 0, bytes = 0, streams = 0`);
  const writer = await node.logs.claim("l", "s");
  const id = await writer.append(0, "kept");
  await writer.append(1, "next");
  const numbersOf = (text: string) => text.split("-").slice(0, 2);
  deepEqual(numbersOf(lost), numbersOf(id), "the number is given twice");
  equal(await node.logs.find("l", id), "s");
  equal(await node.logs.find("l", lost), undefined);
  deepEqual(
    (await node.logs.readAfter("l", "s", id))?.map(({ data }) => data),
    ["next"],
  );
  equal(await node.logs.readAfter("l", "s", lost), undefined);
  const following = node.logs.follow("l", "s", lost, new AbortController().signal)[Symbol.asyncIterator]();
  equal(await failureOf(() => following.next()), "missed");
});

test("rows whose life is over are deleted", async (t) => {
  const world = new PostgresWorld(t, engine.url, "pg", { heartbeatMs: 60 });
  const node = await world.node();
  t.after(() => world.close(node));
  await node.records.put("k", "v", { ttlMs: 50, index: [{ index: "i", score: 1 }] });
  await node.records.put("plain", "v", { ttlMs: 50 });
  const log = { keepMs: 50, maxEntries: 10, maxBytes: 1000 };
  await node.logs.create("dropped", log);
  await node.logs.drop("dropped");
  await node.logs.create("l", log);
  await (await node.logs.claim("l", "s")).append(0, "1", { last: true });
  await node.buckets.take("b", { burst: 1, refillMs: 1 });
  const left = async () => {
    const tables = ["records", "indexed", "counts", "buckets", "logs", "streams", "entries"];
    const counts = tables.map((name) => `(select count(*)::int from ${world.schema}.${name}) as ${name}`);
    return (await admin.query(`select ${counts}`)).rows[0];
  };
  const wanted = { records: 0, indexed: 0, counts: 0, buckets: 0, logs: 1, streams: 0, entries: 0 };
  await until(async () => isDeepStrictEqual(await left(), wanted), "rows that are over are gone");
});
