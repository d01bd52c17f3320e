import assert from "node:assert/strict";
import { test } from "node:test";
import { DeadlineQueue } from "#src/call/deadline-queue.js";
import { CallLifetime } from "#src/call/lifetime.js";
import { legacyServer } from "#src/era/legacy/server/era.js";
import type { ServerWire } from "#src/era/server-era.js";
import { SseConnection } from "#src/http/sse/connection.js";
import { KeepAlive } from "#src/http/sse/keep-alive.js";
import { parseFrame } from "#src/protocol/jsonrpc/parse.js";
import { callViews } from "#src/server/call-info.js";
import { ServerCore } from "#src/server/runtime.js";
import type { MemoryChangeBus } from "#src/store/change-bus.js";
import { type EventLog, MemoryEventLog } from "#src/store/event-log.js";
import { createArrayExchange } from "#src/testing/array-exchange.js";
import { FakeClock } from "../../../../support/fake-clock.js";
import { gate } from "../../../../support/gate.js";
import { blocks, LegacyEndpoint, messages, settle, status, until } from "../../../../support/legacy-endpoint.js";

test("an idle queue tells each item when its own time is over, and keeps one timer", () => {
  const clock = new FakeClock();
  const told: string[] = [];
  const queue = new DeadlineQueue<string>(clock, 100, (item) => told.push(`${item}@${clock.now()}`));
  const a = queue.add("a");
  clock.advance(30);
  queue.add("b");
  clock.advance(30);
  queue.touch(a);
  assert.equal(clock.pending, 1);
  clock.advance(1000);
  assert.deepEqual(told, ["b@130", "a@160"]);
  assert.equal(clock.pending, 0);
  queue.touch(a);
  assert.equal(clock.pending, 0);
});

test("an item that is added again while it is told waits again, without delaying the others", () => {
  const clock = new FakeClock();
  const told: string[] = [];
  const queue: DeadlineQueue<string> = new DeadlineQueue(clock, 100, (item) => {
    told.push(`${item}@${clock.now()}`);
    if (item === "a" && told.length < 4) queue.add("a");
  });
  queue.add("a");
  clock.advance(10);
  queue.add("b");
  clock.advance(400);
  assert.deepEqual(told, ["a@100", "b@110", "a@200", "a@300"]);
  queue.remove(queue.add("c"));
  assert.equal(clock.pending, 0);
});

test("an idle queue without a usable time tells nobody", () => {
  for (const idleMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]) {
    const clock = new FakeClock();
    const queue = new DeadlineQueue<string>(clock, idleMs, () => assert.fail("told"));
    queue.touch(queue.add("a"));
    assert.equal(clock.pending, 0);
  }
});

test("a connection whose reader is too far behind is given up, once", async () => {
  const clock = new FakeClock();
  const exchange = createArrayExchange();
  let gone = 0;
  const keepAlive = new KeepAlive<SseConnection>(clock, 1000);
  const connection = new SseConnection(exchange, {
    clock,
    keepAlive,
    limits: { maxBehind: 100, stallMs: 1000 },
    onGone: () => gone++,
  });
  exchange.pause();
  connection.write({ data: "x".repeat(60) });
  assert.equal(gone, 0);
  const { drained } = connection;
  assert.ok(drained !== undefined);
  connection.write({ data: "y".repeat(60) });
  await Promise.all([exchange.done, drained]);
  connection.write({ data: "z" });
  connection.end();
  assert.equal(gone, 1);
  assert.equal(keepAlive.size, 0);
  assert.equal(exchange.body().includes("z"), false);
});

test("a question that times out is called off on the stream of its call", async () => {
  const endpoint = new LegacyEndpoint();
  const giveUp = new AbortController();
  endpoint.server.tool("ask", {}, async (_args, ctx) => {
    const failed = await ctx.listRoots({ signal: AbortSignal.abort("no time") }).catch((reason: unknown) => reason);
    return `${failed}, ${await ctx.listRoots({ signal: giveUp.signal }).catch((reason: unknown) => reason)}`;
  });
  const client = await endpoint.open("2025-11-25", { roots: {} });
  const call = client.call(1, "ask");
  await until(() => messages(call).length === 1);
  giveUp.abort("changed my mind");
  await status(call, 200);
  const [question, cancelled, response, ...rest] = messages(call);
  assert.equal(question?.method, "roots/list");
  assert.deepEqual(cancelled?.params, { requestId: question?.id, reason: "changed my mind" });
  assert.deepEqual(response?.result?.content, [{ type: "text", text: "no time, changed my mind" }]);
  assert.deepEqual(rest, []);
});

test("an answer that is none fails the question it is for", async () => {
  const endpoint = new LegacyEndpoint();
  endpoint.server.tool("ask", {}, async (_args, ctx) =>
    String(await ctx.listRoots().catch((error: { code?: string }) => error.code)),
  );
  const client = await endpoint.open("2025-11-25", { roots: {} });
  const call = client.call(1, "ask");
  await until(() => messages(call).length === 1);
  await status(client.post({ jsonrpc: "2.0", id: messages(call)[0]?.id, result: "roots" }), 400);
  await call.done;
  assert.deepEqual(messages(call)[1]?.result?.content, [{ type: "text", text: "protocol_error" }]);
});

test("a cancelled call's own question ends with it, and nothing is written for it", async () => {
  const endpoint = new LegacyEndpoint({ resumable: true });
  const reasons: unknown[] = [];
  endpoint.server.tool("ask", {}, async (_args, ctx) => {
    await ctx.listRoots().catch((reason: unknown) => reasons.push(reason));
    return "late";
  });
  const client = await endpoint.open("2025-11-25", { roots: {} });
  const call = client.call(1, "ask");
  await until(() => messages(call).length === 1);
  client.cancel(1, "enough");
  await call.done;
  await until(() => reasons.length === 1);
  assert.match(String(reasons[0]), /enough/);
  assert.deepEqual(
    messages(call).map(({ method }) => method),
    ["roots/list"],
  );
});

test("a handshake cannot be called off", async () => {
  const endpoint = new LegacyEndpoint();
  const client = await endpoint.open();
  await status(client.cancel("init"), 202);
  await status(client.request(1, "ping"), 200);
});

test("a session that ends lets go of the resources it watched and of the changes it listened to", async () => {
  const core = new ServerCore({ name: "s", version: "1" }, { limits: { sessionIdleMs: 1000 } }, [legacyServer]);
  core.registry.add("resources", "note://1", { name: "note" }, () => "text");
  const binding = await legacyServer.http(core, { responseMode: "prefer-json", keepAliveMs: 0 });
  const send = async (method: string, body?: object, session?: string) => {
    const headers = { "content-type": "application/json", "mcp-session-id": session };
    const exchange = createArrayExchange({ method, headers });
    binding.serve(exchange, body === undefined ? undefined : parseFrame(JSON.stringify({ jsonrpc: "2.0", ...body })));
    await exchange.done;
    return exchange;
  };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  const opened = await send("POST", { id: 1, method: "initialize", params });
  const session = opened.headers["mcp-session-id"];
  await send("POST", { method: "notifications/initialized" }, session);
  await send("POST", { id: 2, method: "resources/subscribe", params: { uri: "note://1" } }, session);
  const bus = core.changes as MemoryChangeBus;
  assert.deepEqual([bus.listeners, core.watched.size], [1, 1]);
  assert.equal((await send("DELETE", undefined, session)).status, 200);
  assert.deepEqual([bus.listeners, core.watched.size], [0, 0]);
  binding.close();
});

test("a request to the client fails when its session ends", async () => {
  const endpoint = new LegacyEndpoint();
  const wires: ServerWire[] = [];
  endpoint.server.use((call, next) => {
    wires.push(callViews.callOf(call).wire);
    return next(call);
  });
  const client = await endpoint.open();
  const listener = client.get();
  await until(() => listener.status === 200);
  const pending = wires[0]?.request(undefined, "ping", undefined, new CallLifetime("ping", {}));
  const failed = assert.rejects(pending ?? Promise.resolve(), { code: "connection_error" });
  await status(client.delete(), 200);
  await failed;
});

test("a single POST is not logged: nobody could come back for it", async () => {
  const log = new MemoryEventLog();
  const endpoint = new LegacyEndpoint({ sessions: false, resumable: log });
  const exchange = await status(endpoint.post({ jsonrpc: "2.0", id: 1, method: "ping" }), 200);
  assert.equal(exchange.body().includes("id: "), false);
  assert.equal(log.size(), 0);
});

test("the stream for what belongs to no call is let go after its time, and its client comes back", async () => {
  const clock = new FakeClock();
  const endpoint = new LegacyEndpoint({ retryMs: 50 }, { clock, limits: { maxSubscriptionMs: 60_000 } });
  endpoint.server.tool("t", {}, () => "");
  const client = await endpoint.open();
  const first = client.get();
  await until(() => first.status === 200);
  clock.advance(59_999);
  assert.equal(endpoint.stats.streams, 1);
  clock.advance(1);
  await first.done;
  assert.deepEqual(blocks(first).at(-1), { retry: "50" });
  const second = client.get();
  await until(() => second.status === 200);
  endpoint.server.changes.toolsChanged();
  await until(() => messages(second).some(({ method }) => method === "notifications/tools/list_changed"));
  const open = clock.pending;
  await status(client.delete(), 200);
  await second.done;
  assert.equal(clock.pending, open - 2, "the session's timers, of its idleness and of its stream, are gone with it");
  await endpoint.server.close();
});

test("a session that ends while its stream is being opened leaves no timer", async () => {
  const clock = new FakeClock();
  const [reading, read] = [gate(), gate()];
  const log = new MemoryEventLog();
  const slow: EventLog = {
    append: (...event) => log.append(...event),
    find: (...event) => log.find(...event),
    drop: (session) => log.drop(session),
    readAfter: async (...place) => {
      reading.open();
      await read.opened;
      return log.readAfter(...place);
    },
  };
  const endpoint = new LegacyEndpoint({ resumable: slow }, { clock, limits: { maxSubscriptionMs: 60_000 } });
  const client = await endpoint.open();
  const stream = client.get();
  await reading.opened;
  await status(client.delete(), 200);
  read.open();
  await stream.done;
  await settle();
  await endpoint.server.close();
  assert.equal(clock.pending, 0);
});
