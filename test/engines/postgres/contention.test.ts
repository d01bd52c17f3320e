import { deepEqual, equal } from "node:assert/strict";
import { after, test } from "node:test";
import pg from "pg";
import { until } from "../../contract/world.js";
import { findOrStartPostgres } from "../../support/engines/postgres.js";
import { libraries, openCluster, PostgresWorld } from "../../support/engines/postgres-world.js";

const server = await findOrStartPostgres();
after(() => server.close());

test("entries of one log that nodes append at once have numbers of their own, and are counted", async (t) => {
  const client = libraries.pg(server.url);
  const others = [libraries.pg(server.url), libraries.postgres(server.url)];
  const clients = [client, ...others];
  const schema = `contention_${process.pid}`;
  const nodes = await Promise.all(clients.map((one) => openCluster({ client: one.client, schema })));
  const admin = new pg.Client(server.url);
  await admin.connect();
  t.after(async () => {
    for (const node of nodes) await node.close();
    for (const { end } of clients) await end();
    await admin.query(`drop schema ${schema} cascade`);
    await admin.end();
  });
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

test("a message that was published before the subscription is not delivered", async (t) => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  let isBlocked = false;
  const { client, end } = libraries.pg(server.url);
  const slow: typeof client = {
    ...client,
    async query(text, values, signal) {
      if (text.includes("m.sender")) {
        isBlocked = true;
        await gate;
      }
      return client.query(text, values, signal);
    },
  };
  const world = new PostgresWorld(t, server.url, "pg", { client: slow });
  const node = await world.node();
  t.after(async () => {
    await world.close(node);
    await end();
  });
  await node.bus.publish("other", "starts a read, which waits");
  await until(() => isBlocked, "the read has begun");
  await node.bus.publish("t", "before");
  const heard: string[] = [];
  await node.bus.subscribe("t", (text) => heard.push(text));
  await node.bus.publish("t", "after");
  open();
  await until(() => heard.includes("after"), "the later message");
  deepEqual(heard, ["after"]);
});
