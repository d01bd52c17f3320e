import { deepEqual, equal } from "node:assert/strict";
import { after, test } from "node:test";
import pg from "pg";
import type { Cluster } from "#src/cluster/cluster.js";
import { type Scope, until } from "#src/testing/contract/world.js";
import { findOrStartPostgres } from "../../support/engines/postgres.js";
import { libraries, openCluster, PostgresWorld } from "../../support/engines/postgres-world.js";

const server = await findOrStartPostgres();
after(() => server.close());

const admin = new pg.Pool({ connectionString: server.url, max: 2 });
admin.on("error", () => {});
after(() => admin.end());

/** Opens a node of each library, and a second one of pg, with several connections each. */
async function openNodes(t: Scope, schema: string): Promise<readonly Cluster[]> {
  const clients = [libraries.pg(server.url), libraries.pg(server.url), libraries.postgres(server.url)];
  const nodes = await Promise.all(clients.map((one) => openCluster({ client: one.client, schema })));
  t.after(async () => {
    for (const node of nodes) await node.close();
    for (const { end } of clients) await end();
    await admin.query(`drop schema ${schema} cascade`);
  });
  return nodes;
}

test("entries of one log that nodes append at once have numbers of their own, and are counted", async (t) => {
  const schema = `contention_${process.pid}`;
  const nodes = await openNodes(t, schema);
  await nodes[0]?.logs.create("l", { keepMs: 60_000, maxEntries: 40, maxBytes: 1_000_000 });
  const ids = await Promise.all(
    nodes.map(async ({ logs, node }) => {
      const writer = await logs.claim("l", node);
      return Promise.all(Array.from({ length: 50 }, (_, seq) => writer.append(seq, `${node} ${seq}`)));
    }),
  );
  equal(new Set(ids.flat()).size, 150);
  const { rows } = await admin.query(
    `select l.top::int, l.entries::int, l.bytes::int, count(*)::int, sum(octet_length(e.data))::int as size
     from ${schema}.logs l join ${schema}.entries e on e.log = l.id group by l.id`,
  );
  const [{ top, entries, bytes, count, size }] = rows;
  deepEqual({ top, entries, bytes }, { top: 150, entries: 40, bytes: size });
  equal(count, 40);
});

test("counts of indexes stay right while nodes change the same records at once", async (t) => {
  const schema = `counts_${process.pid}`;
  const nodes = await openNodes(t, schema);
  const indexes = ["a", "b", "c"];
  const entriesOf = (round: number) =>
    indexes.filter((_, at) => (round >> at) % 2 === 0).map((index) => ({ index, score: round }));
  await Promise.all(
    nodes.flatMap(({ records }, node) =>
      [0, 1, 2, 3].map(async (lane) => {
        for (let round = 0; round < 40; round++) {
          const key = `k${(round * 7 + lane + node) % 12}`;
          if (round % 5 === 4) await records.delete(key);
          else await records.put(key, "", { index: entriesOf(round + lane), ...(round % 3 === 0 && { ttlMs: 1 }) });
        }
      }),
    ),
  );
  const { rows } = await admin.query(
    `select name, sum(n)::int as counted, (select count(*)::int from ${schema}.indexed i where i.name = c.name) as found
     from ${schema}.counts c group by name`,
  );
  for (const { name, counted, found } of rows) equal(counted, found, name);
  equal((await admin.query(`select from ${schema}.counts where n < 1`)).rowCount, 0);
  for (const index of indexes) {
    const listed = await nodes[0]?.records.list(index, { limit: 100 });
    equal(await nodes[1]?.records.count(index), listed?.length, index);
  }
});

test("a count reads no entries", async (t) => {
  let statement = "";
  const world = new PostgresWorld(t, server.url, "pg");
  const node = await world.node((client) => ({
    ...client,
    query(text, values, signal) {
      if (text.includes("count(*)")) statement = text;
      return client.query(text, values, signal);
    },
  }));
  t.after(() => world.close(node));
  const { schema } = world;
  await admin.query(`
    insert into ${schema}.records select 'k' || x, '', '1', 0, true, now() + interval '1 day' from generate_series(1, 2000) x;
    insert into ${schema}.indexed select key, 'i', 1 from ${schema}.records;
    insert into ${schema}.counts select 'i', hashtext(key) & 15, count(*) from ${schema}.indexed group by 2;
    update ${schema}.records set expires = now() - interval '1 day' where key in ('k1', 'k2', 'k3');`);
  equal(await node.records.count("i"), 1997);
  const client = await admin.connect();
  t.after(() => client.release());
  const explain = `explain (analyze, format json) ${statement.replaceAll("$1::text", "'i'::text")}`;
  const [{ "QUERY PLAN": plan }] = (await client.query(explain)).rows;
  const read: Record<string, number> = {};
  const visit = (part: Record<string, unknown>) => {
    const { "Relation Name": name, "Actual Rows": rows, "Actual Loops": loops, "Rows Removed by Filter": left } = part;
    if (typeof name === "string") read[name] = (read[name] ?? 0) + (Number(rows) + Number(left ?? 0)) * Number(loops);
    for (const inner of (part.Plans ?? []) as Record<string, unknown>[]) visit(inner);
  };
  visit(plan[0].Plan);
  deepEqual(read, { counts: 16, records: 3, indexed: 3 });
});

test("a message that was published before the subscription is not delivered", async (t) => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  let isBlocked = false;
  const world = new PostgresWorld(t, server.url, "pg");
  const sender = await world.node();
  const node = await world.node((client) => ({
    ...client,
    async query(text, values, signal) {
      if (/^select text from \S*messages/.test(text)) {
        isBlocked = true;
        await gate;
      }
      return client.query(text, values, signal);
    },
  }));
  for (const one of [sender, node]) t.after(() => world.close(one));
  await sender.bus.publish("other", "starts a read, which waits".repeat(1_000));
  await until(() => isBlocked, "the read has begun");
  await sender.bus.publish("t", "before");
  const heard: string[] = [];
  const subscribing = node.bus.subscribe("t", (text) => heard.push(text));
  open();
  await subscribing;
  await sender.bus.publish("t", "after");
  await until(() => heard.includes("after"), "the later message");
  deepEqual(heard, ["after"]);
});
