import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import { type Buckets, type BucketVerdict, DefinitionError, McpServer, memoryBuckets, RpcError } from "bowline/server";
import { createArrayExchange, createMemoryState } from "bowline/testing";
import { MemoryBuckets } from "#src/call/buckets.js";
import { channelWires } from "../../../support/each-wire.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { gate } from "../../../support/gate.js";
import { LegacyEndpoint, settle, status, until } from "../../../support/legacy-endpoint.js";
import { modernRequest } from "../../../support/modern-request.js";
import { proves } from "../../../support/verifies.js";

const me = { name: "rate", version: "1.0.0" };
const limit = { burst: 3, refillMs: 100 };

test("a bucket holds its burst, and one token comes back after each refillMs", () => {
  const clock = new FakeClock();
  const buckets = new MemoryBuckets({ clock });
  const take = () => buckets.take("a", limit);
  for (let n = 0; n < 3; n++) deepEqual(take(), { ok: true, retryInMs: 0 });
  deepEqual(take(), { ok: false, retryInMs: 100 });
  clock.advance(99);
  deepEqual(take(), { ok: false, retryInMs: 1 });
  clock.advance(1);
  equal(take().ok, true);
  deepEqual(take(), { ok: false, retryInMs: 100 });
  equal(buckets.take("b", limit).ok, true);
  clock.advance(10_000);
  for (let n = 0; n < 3; n++) equal(take().ok, true);
  equal(take().ok, false);
});

test("no more keys are remembered than allowed, and full buckets are forgotten first", () => {
  const clock = new FakeClock();
  const buckets = new MemoryBuckets({ clock, maxKeys: 20 });
  for (let n = 0; n < 3; n++) buckets.take("empty", limit);
  for (let n = 0; n < 19; n++) buckets.take(`other${n}`, limit);
  equal(buckets.size, 20);
  clock.advance(100);
  // All others are full by now: each makes room for a new key, and the empty one keeps its debt.
  for (let n = 0; n < 19; n++) buckets.take(`new${n}`, limit);
  equal(buckets.size, 20);
  equal(buckets.take("empty", limit).ok, true);
  equal(buckets.take("empty", limit).ok, false);
  // Where none is full, the one goes that would be full first.
  for (let n = 0; n < 1000; n++) buckets.take(`flood${n}`, limit);
  equal(buckets.size, 20);
});

function post(server: McpServer, principal: string | undefined, method = "server/discover") {
  const exchange = createArrayExchange({ ...modernRequest(method), principal });
  server.handle(exchange);
  return exchange;
}

test("a principal beyond its rate is refused with 429 until a token is there", async (t) => {
  const clock = new FakeClock();
  let ran = 0;
  const server = new McpServer(me, {
    clock,
    rateLimit: { burst: 3, refillMs: 1500 },
    interceptors: [
      (call, next) => {
        ran++;
        return next(call);
      },
    ],
  });
  t.after(() => server.close());
  for (let n = 0; n < 3; n++) await status(post(server, "ann"), 200);
  for (let n = 0; n < 30; n++) {
    const refused = await status(post(server, "ann"), 429);
    equal(refused.headers["retry-after"], "2");
    const { error } = JSON.parse(refused.body());
    deepEqual([error.code, error.data], [-32005, { limit: "rateLimit", retryAfterMs: 1500, refused: true }]);
    match(error.message, /try again in 1500 ms \(rateLimit\)/);
  }
  await status(post(server, "bob"), 200);
  for (let n = 0; n < 10; n++) await status(post(server, undefined), 200);
  equal(ran, 14);
  clock.advance(1500);
  await status(post(server, "ann"), 200);
  await status(post(server, "ann"), 429);
  deepEqual([server.stats().running, server.stats().refused], [0, 31]);
});

proves(
  "hosting:http:anonymous-rate",
  { wire: "http" },
  "callers without a name have a rate by their addresses, and where there is none, the log says so",
  async (t) => {
    const warnings: string[] = [];
    const endpoint = new LegacyEndpoint(
      {},
      { rateLimit: limit, clock: new FakeClock(), logger: { warn: (text) => warnings.push(text) } },
    );
    t.after(() => endpoint.server.close());
    const discover = (remote?: string, principal?: string) => {
      const { body, headers } = modernRequest("server/discover");
      return endpoint.send("POST", body, { headers, remote, principal });
    };
    for (const expected of [200, 200, 200, 429]) await status(discover("192.0.2.1"), expected);
    await status(endpoint.initialize("2025-11-25", { remote: "192.0.2.1" }), 429);
    await status(discover("192.0.2.1", "ada"), 200);
    const other = await endpoint.open("2025-11-25", {}, { remote: "192.0.2.2" });
    for (const [id, expected] of [200, 200, 429].entries()) await status(other.request(id, "ping"), expected);
    deepEqual(
      warnings.filter((text) => text.includes("remoteOf")),
      [],
    );
    for (let n = 0; n < 10; n++) await status(discover(), 200);
    deepEqual(warnings.filter((text) => text.includes("remoteOf")).length, 1);
  },
);

test("a channel has no address, and no rate of its own", async (t) => {
  const warnings: string[] = [];
  const [wire] = channelWires;
  const { connect } = await (wire as (typeof channelWires)[number]).open(t);
  const logger = { warn: (text: string) => void warnings.push(text) };
  const client = await connect(new McpServer(me, { rateLimit: limit, logger }).tool("t", {}, () => "done"));
  for (let n = 0; n < 10; n++) equal((await client.callTool("t")).text, "done");
  deepEqual(warnings, []);
});

for (const preferJson of [true, false]) {
  test(`a session of a principal beyond its rate is refused too, json ${preferJson}`, async () => {
    const endpoint = new LegacyEndpoint(
      { responseMode: preferJson ? "prefer-json" : "auto" },
      { rateLimit: limit, clock: new FakeClock() },
    );
    const client = await endpoint.open("2025-11-25", {}, { principal: "ann" });
    await status(client.request(1, "ping"), 200);
    await status(client.request(2, "ping"), 200);
    equal((await status(client.request(3, "ping"), 429)).headers["retry-after"], "1");
    await status(endpoint.initialize("2025-11-25", { principal: "ann" }), 429);
    deepEqual(endpoint.stats, { sessions: 1, streams: 0, running: 0 });
  });
}

for (const wire of channelWires) {
  test(`on a channel the refusal is an error with the same code [${wire.name}]`, async (t) => {
    const { connect } = await wire.open(t);
    const key = ({ method }: { readonly method: string }) => (method === "tools/call" ? "all" : undefined);
    const server = new McpServer(me, { rateLimit: { ...limit, key }, clock: new FakeClock() }).tool("t", {}, () => "");
    const client = await connect(server);
    for (let n = 0; n < 3; n++) await client.callTool("t");
    const error = await client.callTool("t").catch((error: unknown) => error);
    ok(error instanceof RpcError);
    deepEqual([error.rpcCode, error.data], [-32005, { limit: "rateLimit", retryAfterMs: 100, refused: true }]);
  });
}

test("buckets elsewhere are waited for; a call that is cancelled meanwhile does not begin", async (t) => {
  const answered = gate<BucketVerdict>();
  const asked: [string, object][] = [];
  const buckets: Buckets = {
    take: (key, given) => {
      asked.push([key, given]);
      return answered.opened;
    },
  };
  let ran = 0;
  const server = new McpServer(me, { rateLimit: { ...limit, buckets } }).tool("t", {}, () => {
    ran++;
    return "";
  });
  t.after(() => server.close());
  const request = modernRequest("tools/call", { params: { name: "t" } });
  const [stays, leaves] = [1, 2].map(() => {
    const exchange = createArrayExchange({ ...request, principal: "ann" });
    server.handle(exchange);
    return exchange;
  });
  await until(() => asked.length === 2);
  deepEqual([asked[0], server.stats().running], [["ann", limit], 2]);
  leaves?.disconnect();
  answered.open({ ok: true, retryInMs: 0 });
  ok(stays !== undefined);
  await status(stays, 200);
  await settle();
  deepEqual([ran, server.stats().running], [1, 0]);
});

test("buckets that fail hold nobody up, and the failure is reported", async (t) => {
  const reports: string[] = [];
  const failures = [
    () => {
      throw new Error("away");
    },
    () => Promise.reject(new Error("away")),
  ];
  for (const take of failures) {
    const onError = (error: unknown, { where }: { where: string }) =>
      reports.push(`${where} ${(error as Error).message}`);
    const server = new McpServer(me, { rateLimit: { ...limit, buckets: { take } }, onError });
    t.after(() => server.close());
    await status(post(server, "ann"), 200);
  }
  deepEqual(reports, ["rateLimit away", "rateLimit away"]);
});

test("a rate that makes no sense is refused where it is written", () => {
  const define = (rateLimit: unknown) => () => new McpServer(me, { rateLimit: rateLimit as never });
  const bad = [
    { burst: 0, refillMs: 1 },
    { burst: 1, refillMs: 0 },
    { burst: "1", refillMs: "a" },
    { burst: 1 },
    { burst: Number.POSITIVE_INFINITY, refillMs: 1 },
    { ...limit, buckets: {} },
    { ...limit, key: "ip" },
    { ...limit, per: 1 },
    7,
  ];
  for (const rateLimit of bad)
    throws(define(rateLimit), (error) => error instanceof DefinitionError && /rateLimit/.test(error.message));
});

proves(
  "cluster:rate:all-nodes",
  {},
  "the servers of a cluster share its buckets, unless the limit has its own",
  async (t) => {
    const clock = new FakeClock();
    const state = createMemoryState({ clock });
    const stateKeys = [{ id: "k", secret: new Uint8Array(32) }];
    const serve = (buckets?: Buckets) => {
      const cluster = state.node();
      const rateLimit = { burst: 2, refillMs: 1_000, ...(buckets && { buckets }) };
      const server = new McpServer(me, { clock, cluster, stateKeys, rateLimit });
      t.after(() => server.close().then(() => cluster.close()));
      return server;
    };
    const [one, other, apart] = [serve(), serve(), serve(memoryBuckets({ clock }))];
    const ask = async (server: McpServer, principal: string) => {
      const exchange = post(server, principal);
      await exchange.done;
      return exchange.status;
    };
    const statuses = [];
    for (const server of [one, other, one, other, apart]) statuses.push(await ask(server, "alice"));
    deepEqual(statuses, [200, 200, 429, 429, 200]);
    equal(await ask(other, "bob"), 200);
    clock.advance(1_000);
    deepEqual([await ask(other, "alice"), await ask(one, "alice")], [200, 429]);
  },
);
