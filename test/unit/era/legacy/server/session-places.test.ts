import { deepEqual, equal, match } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { HttpGate } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { legacyServer } from "#src/era/legacy/server/era.js";
import { SseEndpoint } from "#src/era/legacy/server/sse.js";
import { KeepAlive } from "#src/http/sse/keep-alive.js";
import { createArrayExchange } from "#src/testing/array-exchange.js";
import { FakeServerHost } from "../../../../support/fake-server-host.js";
import {
  type LegacyClient,
  LegacyEndpoint,
  messages,
  settle,
  status,
  until,
} from "../../../../support/legacy-endpoint.js";
import { proves } from "../../../../support/verifies.js";

const SETUP_MS = 30_000;
const IDLE_MS = 1_800_000;

function createWorld(t: TestContext, limits: object = {}, gate?: HttpGate) {
  const clock = new FakeClock();
  const ended: string[] = [];
  const endpoint = new LegacyEndpoint(
    { sse: true, sessions: { onEnd: (id) => void ended.push(id) }, gate },
    { clock, limits },
  );
  endpoint.server.tool(
    "hold",
    {},
    (_args, ctx) =>
      new Promise((_resolve, reject) => {
        ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason));
      }),
  );
  t.after(() => endpoint.server.close());
  const by = (principal?: string) => ({ principal });
  const alive = async (client: LegacyClient) => {
    const pinged = client.request("p", "ping");
    await pinged.done;
    return pinged.status === 200;
  };
  const sse = async (principal?: string) => {
    const exchange = createArrayExchange({ method: "GET", url: "/sse", principal });
    endpoint.server.handle(exchange);
    await until(() => exchange.status !== undefined);
    return exchange;
  };
  return {
    clock,
    ended,
    endpoint,
    by,
    alive,
    sse,
    open: (principal?: string) => endpoint.open("2025-11-25", {}, by(principal)),
  };
}

/** A session whose client says nothing after the handshake. */
async function shakeHands(endpoint: LegacyEndpoint, from = {}): Promise<string> {
  const exchange = await status(endpoint.initialize("2025-11-25", from), 200);
  return exchange.headers["mcp-session-id"] ?? "";
}

test("a session whose client says nothing after the handshake lives for a short time", async (t) => {
  const { clock, ended, endpoint, open, alive } = createWorld(t);
  const silent = await shakeHands(endpoint);
  const used = await open();
  clock.advance(SETUP_MS - 1);
  equal(endpoint.stats.sessions, 2);
  clock.advance(1);
  deepEqual(ended, [silent]);
  equal(await alive(used), true);
  clock.advance(IDLE_MS - 1);
  equal(endpoint.stats.sessions, 1);
  clock.advance(1);
  deepEqual(ended, [silent, used.id]);
});

test("a first call that takes longer than that keeps its session", async (t) => {
  const { clock, endpoint } = createWorld(t);
  const session = await shakeHands(endpoint);
  const params = { name: "hold" };
  endpoint.post({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, { session });
  await until(() => endpoint.stats.running === 1);
  clock.advance(SETUP_MS);
  deepEqual([endpoint.stats.sessions, endpoint.stats.running], [1, 1]);
});

test("where all places are taken the longest unused idle session goes, silent ones first", async (t) => {
  const { ended, endpoint, open, alive } = createWorld(t, { maxSessions: 4 });
  const [calling, listening, idle] = [await open(), await open(), await open()];
  calling.call(1, "hold");
  const stream = listening.get();
  await until(() => endpoint.stats.running === 1 && stream.status === 200);
  const silent = await shakeHands(endpoint);
  const recent = await open();
  deepEqual(ended, [silent], "whoever said nothing goes before whoever is idle");
  const newest = await open();
  deepEqual(ended, [silent, idle.id]);
  equal(await alive(recent), true);
  await open();
  deepEqual(ended, [silent, idle.id, newest.id], "it was unused for longer");
  for (const client of [calling, listening, recent]) equal(await alive(client), true);
});

test("a session is refused only where all others are at work", async (t) => {
  const { endpoint, open, alive } = createWorld(t, { maxSessions: 2, sessionIdleMs: Number.POSITIVE_INFINITY });
  const [calling, listening] = [await open(), await open()];
  calling.call(1, "hold");
  const stream = listening.get();
  await until(() => endpoint.stats.running === 1 && stream.status === 200);
  const refused = await status(endpoint.initialize(), 503);
  equal(refused.headers["retry-after"], "30");
  match(messages(refused)[0]?.error?.message ?? "", /limits\.maxSessions\)/);
  stream.disconnect();
  await settle();
  await open();
  equal(await alive(listening), false);
  equal(await alive(calling), true);
});

test("a principal has a share: its own sessions go for its new ones", async (t) => {
  const { ended, endpoint, open, alive, by } = createWorld(t, { maxSessions: 10, maxSessionsPerPrincipal: 2 });
  const bob = await open("bob");
  const [first, second] = [await open("ada"), await open("ada")];
  await open("ada");
  deepEqual(ended, [first.id]);
  equal(await alive(bob), true);
  equal(await alive(second), true);
  for (const client of [second]) client.call(1, "hold");
  await open("ada");
  const streams = [second].map((client) => client.get());
  await until(() => streams.every((stream) => stream.status === 200));
  const last = await open("ada");
  last.call(1, "hold");
  await until(() => endpoint.stats.running === 2);
  const refused = await status(endpoint.initialize("2025-11-25", by("ada")), 503);
  match(messages(refused)[0]?.error?.message ?? "", /limits\.maxSessionsPerPrincipal/);
  await open("bob");
});

test("where all places are taken a handshake in progress goes after idle sessions, unless there are many", async (t) => {
  const { ended, endpoint, open } = createWorld(t, { maxSessions: 20 });
  const used = [];
  for (let n = 0; n < 18; n++) used.push((await open()).id);
  const first = await shakeHands(endpoint);
  const second = await shakeHands(endpoint);
  await shakeHands(endpoint);
  deepEqual(ended, used.slice(0, 1), "two of twenty places are in a handshake");
  const completing = endpoint.post({ jsonrpc: "2.0", method: "notifications/initialized" }, { session: second });
  await status(completing, 202);
  await shakeHands(endpoint);
  deepEqual(ended, used.slice(0, 2));
  await shakeHands(endpoint);
  deepEqual(ended, [...used.slice(0, 2), first], "three are many");
});

test("a client that does not complete its handshake in time makes room", async (t) => {
  const { clock, ended, endpoint, open } = createWorld(t, { maxSessions: 20 });
  for (let n = 0; n < 19; n++) await open();
  const silent = await shakeHands(endpoint);
  clock.advance(5_000);
  await open();
  deepEqual(ended, [silent]);
});

test("10,000 handshakes lock nobody out", async (t) => {
  const { endpoint, open, alive } = createWorld(t, { maxSessions: 100 });
  const honest = await open();
  for (let n = 0; n < 1_000; n++) await shakeHands(endpoint);
  equal(await alive(honest), true);
  equal(await alive(await open()), true);
  equal(endpoint.stats.sessions, 100);
});

test("sessions of HTTP+SSE have their places in the same table", async (t) => {
  const { clock, ended, endpoint, open, sse, by } = createWorld(t, { maxSessions: 3, maxSessionsPerPrincipal: 2 });
  const idle = await open();
  const [first, second] = [await sse("ada"), await sse("ada")];
  deepEqual([first.status, second.status, endpoint.stats.sessions], [200, 200, 3]);
  const refused = await sse("ada");
  equal(refused.status, 503);
  match(refused.body(), /limits\.maxSessionsPerPrincipal/);
  const bobs = await sse("bob");
  equal(bobs.status, 200);
  deepEqual(ended, [idle.id], "an idle session goes for one that is not");
  equal((await sse("eve")).status, 503);
  equal((await status(endpoint.initialize("2025-11-25", by("eve")), 503)).headers["retry-after"], "30");
  first.disconnect();
  await open("eve");
  clock.advance(SETUP_MS);
  await Promise.all([second.done, bobs.done]);
  equal(endpoint.stats.sessions, 1, "a stream whose client posts nothing is closed");
});

test("no more than one body waits for a session of HTTP+SSE that is being opened", async () => {
  const runtime = new FakeServerHost();
  runtime.limits = { ...runtime.limits, maxBodyBytes: 200 };
  const endpoint = new SseEndpoint({
    era: legacyServer,
    runtime,
    options: { sessions: { enabled: true }, keepAliveMs: 0 },
    accept: () => new Promise(() => {}),
    keepAlive: new KeepAlive(runtime.clock, 0),
    paths: { stream: "/sse", messages: "/messages" },
    table: { reserve: () => undefined, free: () => {} },
  });
  const stream = createArrayExchange({ method: "GET", url: "/sse" });
  endpoint.serve(stream);
  const url = /data: (\S+)/.exec(stream.body())?.[1] ?? "";
  const post = async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }).padEnd(150);
    const exchange = createArrayExchange({ url, headers: { "content-type": "application/json" }, body });
    endpoint.serve(exchange);
    await exchange.done;
    return exchange;
  };
  equal((await post()).status, 202);
  const refused = await post();
  deepEqual([refused.status, refused.headers["retry-after"]], [503, "1"]);
  stream.disconnect();
});

test("a session of HTTP+SSE whose authorization is over when it opens gives its place back", async () => {
  const endpoint = new LegacyEndpoint({ sse: true, gate: () => ({ principal: "ada", lifeMs: 0 }) });
  for (let n = 0; n < 3; n++) {
    const stream = createArrayExchange({ method: "GET", url: "/sse" });
    endpoint.server.handle(stream);
    await stream.done;
  }
  equal(endpoint.stats.sessions, 0);
  await endpoint.server.close();
});

test("a handshake that is under way keeps its place, whenever another comes", async (t) => {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  for (let microtasks = 0; microtasks < 60; microtasks++) {
    const { endpoint } = createWorld(t, { maxSessions: 1 });
    const shake = async () =>
      (await endpoint.server.fetch(new Request("http://localhost/mcp", { method: "POST", headers, body }))).status;
    const first = shake();
    for (let n = 0; n < microtasks; n++) await undefined;
    const second = shake();
    // The second is refused, or takes the place of the first, whose client has its answer by then.
    match(`${await first} ${await second}`, /^200 (?:200|503)$|^503 200$/);
  }
});

test("sessions of strangers end no session of a caller with a name", async (t) => {
  const { ended, endpoint, open, alive } = createWorld(t, { maxSessions: 3 });
  const ada = await open("ada");
  const strangers = [await open(), await open()];
  for (let more = 0; more < 5; more++) strangers.push(await open());
  equal(await alive(ada), true);
  deepEqual(
    ended,
    strangers.slice(0, 5).map(({ id }) => id),
  );
  await open("bob");
  await open("bob");
  equal(await alive(ada), true, "a caller with a name ends sessions of strangers first");
  const refused = endpoint.initialize();
  await status(refused, 503);
  match(messages(refused)[0]?.error?.message ?? "", /limits\.maxSessions\)/);
});

const limitIn = (exchange: ReturnType<LegacyEndpoint["initialize"]>) => messages(exchange)[0]?.error?.message ?? "";

proves(
  "hosting:session:anonymous-share",
  { wire: "legacy-http" },
  "listening sessions of strangers leave places to callers with a name",
  async (t) => {
    const { ended, endpoint, open, alive, sse } = createWorld(t, { maxSessions: 5, anonymousShare: 0.5 }, () => ({}));
    const [first, second] = [await open(), await open()];
    const streams = [first, second].map((client) => client.get());
    const third = await sse();
    deepEqual([third.status, ended], [200, []]);
    match(limitIn(await status(endpoint.initialize(), 503)), /limits\.anonymousShare\)/);
    equal((await sse()).status, 503);
    const [ada, bob] = [await open("ada"), await open("bob")];
    const listening = ada.get();
    await until(() => [...streams, listening].every((stream) => stream.status === 200));
    streams[0]?.disconnect();
    await settle();
    const later = await open();
    deepEqual(ended, [first.id], "a stranger takes the place of another");
    for (const client of [ada, bob, second, later]) equal(await alive(client), true);
  },
);

test("where nobody can have a name, strangers may have all places, until the first name", async (t) => {
  const { endpoint, open, alive } = createWorld(t, { maxSessions: 4, anonymousShare: 0.5 });
  const strangers = [await open(), await open(), await open(), await open()];
  equal(endpoint.stats.sessions, 4);
  // A framework in front of the server may name callers too.
  const ada = await open("ada");
  for (const stranger of strangers.slice(1)) stranger.get();
  await settle();
  equal(await alive(ada), true);
  await status(ada.delete(), 200);
  match(limitIn(await status(endpoint.initialize(), 503)), /limits\.anonymousShare\)/);
  await open("bob");
});

proves(
  "hosting:session:address-share",
  { wire: "legacy-http" },
  "beyond half of the places an address has a share: its own idle session goes for its new one",
  async (t) => {
    const { ended, endpoint, alive } = createWorld(t, { maxSessions: 8, maxSessionsPerPrincipal: 2 });
    const from = (remote: string) => ({ remote });
    const open = (remote: string) => endpoint.open("2025-11-25", {}, from(remote));
    const streams: ReturnType<LegacyClient["get"]>[] = [];
    // Four come before there are many. Each listens, so that it does not give way to others.
    for (let at = 0; at < 6; at++) streams.push((await open("203.0.113.7")).get());
    await until(() => streams.every((stream) => stream.status === 200));
    const refused = await status(endpoint.initialize("2025-11-25", from("203.0.113.7")), 503);
    match(limitIn(refused), /2 sessions of this address are in use \(limits\.maxSessionsPerPrincipal\)/);
    const others = [await open("198.51.100.1"), await open("198.51.100.2")];
    deepEqual(ended, []);
    streams.at(-1)?.disconnect();
    await settle();
    const next = await open("203.0.113.7");
    equal(ended.length, 1, "its own idle session gives way, not that of another");
    for (const client of [next, ...others]) equal(await alive(client), true);
  },
);

test("streams of HTTP+SSE count for their addresses, too, and callers of unknown address have no share", async (t) => {
  const { endpoint } = createWorld(t, { maxSessions: 8, maxSessionsPerPrincipal: 1 });
  const open = async (remote?: string) => {
    const exchange = createArrayExchange({ method: "GET", url: "/sse", remote });
    endpoint.server.handle(exchange);
    await until(() => exchange.status !== undefined);
    return exchange;
  };
  const streams: Awaited<ReturnType<typeof open>>[] = [];
  for (let at = 0; at < 5; at++) streams.push(await open("203.0.113.7"));
  deepEqual(
    streams.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
  equal((await open("203.0.113.7")).status, 503);
  equal((await open("198.51.100.1")).status, 200);
  equal((await open()).status, 200);
  streams.at(-1)?.disconnect();
  await until(() => endpoint.stats.sessions === 6);
  equal((await open("203.0.113.7")).status, 200, "a stream that has ended gives its place back");
});
