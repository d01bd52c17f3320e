import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { after, test } from "node:test";
import pg from "pg";
import { ClusterError } from "#src/cluster/error.js";
import { type PostgresClusterOptions, postgresCluster } from "#src/postgres/cluster.js";
import type { PostgresClient } from "#src/postgres/connection.js";
import { fromPg } from "#src/postgres/pg.js";
import type { Scope } from "#src/testing/contract/world.js";
import { startPostgres } from "../../support/engines/postgres.js";
import { libraries, openCluster } from "../../support/engines/postgres-world.js";

const engine = await startPostgres();
after(() => engine.close());

const admin = new pg.Pool({ connectionString: engine.url, max: 2 });
admin.on("error", () => {});
after(() => admin.end());

function poolOf(t: Scope, url = engine.url): PostgresClient {
  const { client, end } = libraries.pg(url);
  t.after(() => end());
  return client;
}

async function open(t: Scope, options: Partial<PostgresClusterOptions> & { readonly url?: string }) {
  const { url = engine.url, ...rest } = options;
  const { client, end } = libraries.pg(url);
  const cluster = postgresCluster({ client, timeoutMs: 3000, ...rest });
  // A pool ends after the connection that listens was given back.
  t.after(async () => {
    await cluster.close();
    await end();
  });
  await cluster.ready;
  return cluster;
}

/** Rejects with a ClusterError of this failure whose message matches. */
async function fails(work: Promise<unknown>, failure: string, message: RegExp): Promise<void> {
  await rejects(work, (error) => {
    ok(error instanceof ClusterError, String(error));
    equal(error.failure, failure, error.message);
    match(error.message, message);
    return true;
  });
}

/** A client whose statements give the rows of `answer`, if it gives some. */
function answering(client: PostgresClient, answer: (text: string) => Record<string, string> | undefined) {
  const query: PostgresClient["query"] = async (text, values, signal) => {
    const rows = await client.query(text, values, signal);
    const changed = answer(text);
    return changed === undefined ? rows : rows.map((row) => ({ ...row, ...changed }));
  };
  return { ...client, query };
}

test("processes that start together create the tables once", async (t) => {
  const clusters = await Promise.all(Array.from({ length: 5 }, () => open(t, { schema: "together" })));
  await clusters[0]?.records.put("k", "v");
  for (const { records } of clusters) equal((await records.get("k"))?.value, "v");
  const { rows } = await admin.query("select version, readable from together.meta");
  deepEqual(rows, [{ version: 2, readable: 2 }]);
});

test("clusters with different prefixes share nothing", async (t) => {
  const [a, b] = [await open(t, { schema: "shared", prefix: "a_" }), await open(t, { schema: "shared", prefix: "b_" })];
  await a.records.put("k", "v");
  equal(await b.records.get("k"), undefined);
  const heard: string[] = [];
  await b.bus.subscribe("t", (text) => heard.push(text));
  await a.bus.publish("t", "of a");
  await b.bus.publish("t", "of b");
  while (heard.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  deepEqual(heard, ["of b"]);
});

test("names that could be part of a statement are refused", async (t) => {
  const client = poolOf(t);
  throws(() => postgresCluster({ client, schema: 'a"; drop' }), /schema .* lower-case letters/);
  throws(() => postgresCluster({ client, prefix: "A" }), /prefix "A"/);
});

test("a pool with one connection is refused, since one connection listens", () => {
  throws(() => fromPg(new pg.Pool({ max: 1 })), /max to 2 or more/);
});

test("a server that cannot be reached is told at the start", async (t) => {
  const url = "postgres://postgres@127.0.0.1:1/postgres";
  await fails(open(t, { url }), "unavailable", /ECONNREFUSED/);
  const { client, end } = libraries.postgres(url);
  t.after(() => end());
  await fails(openCluster({ client }), "unavailable", /ECONNREFUSED/);
});

test("operations wait for the start, and a start that failed is tried again", async (t) => {
  const own = await startPostgres();
  t.after(() => own.close());
  const soon = postgresCluster({ client: poolOf(t, own.url) });
  t.after(() => soon.close());
  const early = [soon.records.put("k", "v"), soon.bus.subscribe("t", () => {})];
  equal(soon.available, false);
  await Promise.all(early);
  equal(soon.available, true);
  await own.kill();
  const late = postgresCluster({ client: poolOf(t, own.url) });
  t.after(() => late.close());
  await fails(late.ready, "unavailable", /ECONNREFUSED/);
  await fails(Promise.resolve(late.records.get("k")), "unavailable", /ECONNREFUSED/);
  equal(late.available, false);
  await own.start();
  while (!late.available) await new Promise((resolve) => setTimeout(resolve, 10));
  equal((await late.records.get("k"))?.value, "v");
});

test("an old version, a standby, an encoding and an isolation level are refused with a remedy", async (t) => {
  const client = poolOf(t);
  const cases: [Record<string, string>, RegExp][] = [
    [{ number: "120022", version: "12.22" }, /PostgreSQL 12\.22 is too old; use PostgreSQL 13 or newer/],
    [{ standby: "true" }, /standby.*connect to the primary/],
    [{ encoding: "LATIN1" }, /LATIN1.*UTF8/],
  ];
  for (const [row, message] of cases) {
    const changed = answering(client, (text) => (text.includes("server_version_num") ? row : undefined));
    await fails(openCluster({ client: changed }), "refused", message);
  }
  await admin.query("create role serial login");
  await admin.query("alter role serial set default_transaction_isolation = 'serializable'");
  const url = engine.url.replace("postgres@", "serial@");
  await fails(open(t, { url }), "refused", /serializable.*default_transaction_isolation/);
});

test("a role without the right to create the schema is refused with a remedy", async (t) => {
  await admin.query("create role poor login");
  const url = engine.url.replace("postgres@", "poor@");
  await fails(
    open(t, { url, schema: "forbidden" }),
    "refused",
    /create the tables in the schema forbidden.*\(42501\); grant the right/,
  );
});

test("a role that may only use the tables of another role works, after the grants that the error names", async (t) => {
  await open(t, { schema: "owned" });
  await admin.query("create role user1 login");
  const url = engine.url.replace("postgres@", "user1@");
  let message = "";
  await rejects(open(t, { url, schema: "owned" }), (error: Error) => {
    message = error.message;
    return true;
  });
  match(message, /the role user1 may not use the schema/);
  await admin.query("grant usage on schema owned to user1; grant select on owned.meta to user1");
  await fails(open(t, { url, schema: "owned" }), "refused", /may not use "owned"\."records"/);
  const [, remedy = ""] = /run: (.*)$/.exec(message) ?? [];
  await admin.query(remedy);
  const cluster = await open(t, { url, schema: "owned" });
  await cluster.records.put("k", "v");
  await cluster.logs.create("l", { keepMs: 1000, maxEntries: 10, maxBytes: 1000 });
  await (await cluster.logs.claim("l", "s")).append(0, "1");
  await cluster.bus.publish("t", "x".repeat(10_000));
  equal(await cluster.queue.add("j", ""), true);
});

test("tables of a newer release are refused, unless that release lets older ones use them", async (t) => {
  await open(t, { schema: "newer" });
  await admin.query("update newer.meta set version = 3");
  await open(t, { schema: "newer" });
  await admin.query("update newer.meta set readable = 3");
  await fails(open(t, { schema: "newer" }), "refused", /version 3, and this release works with 2; upgrade it/);
});

test("tables of an older release are refused", async (t) => {
  await open(t, { schema: "older" });
  await admin.query("update older.meta set version = 1, readable = 1");
  await fails(open(t, { schema: "older" }), "refused", /version 1, and this release works with 2; delete them/);
});

/** A proxy that drops notifications, as a pooler in transaction mode does. */
async function hidingProxy(t: Scope): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(engine.port, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => [client, upstream].map((one) => one.destroy()));
    }
    client.pipe(upstream);
    let rest = Buffer.alloc(0);
    upstream.on("data", (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
        const frame = rest.subarray(0, rest.readUInt32BE(1) + 1);
        rest = rest.subarray(frame.length);
        if (frame[0] !== "A".charCodeAt(0)) client.write(frame);
      }
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return engine.url.replace(String(engine.port), String(port));
}

test("a pooler that hides LISTEN is found at the start, and a direct listener is the remedy", async (t) => {
  const url = await hidingProxy(t);
  for (const library of ["pg", "postgres"] as const) {
    const { client, end } = libraries[library](url);
    t.after(() => end());
    const opening = openCluster({ client, timeoutMs: 2_000 });
    await fails(opening, "refused", /did not arrive within 2000 ms.*pooler.*option listener/);
    const cluster = await openCluster({ client, listener: poolOf(t) });
    t.after(() => cluster.close());
    const heard = new Promise((resolve) => cluster.bus.subscribe("t", resolve));
    await cluster.records.put("k", "v");
    await new Promise((resolve) => setTimeout(resolve, 50));
    await cluster.bus.publish("t", "arrives");
    equal(await heard, "arrives");
  }
});

test("texts that PostgreSQL cannot store are stored all the same", async (t) => {
  const cluster = await open(t, { schema: "texts" });
  for (const text of ["a\0b", "\ud800", "\u0001", '\u0001"x"', "pair \ud83d\ude00"]) {
    await cluster.records.put(`k${text}`, text, { index: [{ index: "all", score: 1 }] });
    const { key, value } = (await cluster.records.get(`k${text}`)) ?? {};
    deepEqual([key, value], [`k${text}`, text]);
    const heard = new Promise((resolve) => cluster.bus.subscribe(text, resolve));
    await cluster.records.count("all");
    await new Promise((resolve) => setTimeout(resolve, 20));
    await cluster.bus.publish(text, text);
    equal(await heard, text);
  }
  equal(await cluster.records.count("all"), 5);
});

test("messages around the maximum size of a payload arrive", async (t) => {
  const cluster = await open(t, { schema: "sizes" });
  const heard: string[] = [];
  await cluster.bus.subscribe("t", (text) => heard.push(text));
  const sizes = [7_700, 7_800, 7_850, 7_900, 7_950, 8_000, 8_050];
  const texts = sizes.flatMap((size) => ["x".repeat(size), "\u00fc".repeat(size / 2), "\u20ac".repeat(size / 3)]);
  await Promise.all(texts.map((text) => cluster.bus.publish("t", text)));
  equal(heard.length, texts.length);
  for (const [at, text] of texts.entries()) equal(heard[at] === text, true, `message ${at}`);
});
