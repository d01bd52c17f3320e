import assert from "node:assert/strict";
import { test } from "node:test";
import { IdleQueue } from "#src/call/idle-queue.js";
import { KeepAlive } from "#src/http/keep-alive.js";
import { SseConnection } from "#src/http/sse-connection.js";
import { createArrayExchange } from "#src/testing/array-exchange.js";
import { HandClock, LegacyEndpoint, messages, status, until } from "../support/legacy-endpoint.js";

test("an idle queue tells each item when its own time is over, and keeps one timer", () => {
  const clock = new HandClock();
  const told: string[] = [];
  const queue = new IdleQueue<string>(clock, 100, (item) => told.push(`${item}@${clock.now()}`));
  queue.touch("a");
  clock.advance(30);
  queue.touch("b");
  clock.advance(30);
  queue.touch("a");
  assert.equal(clock.pending, 1);
  clock.advance(1000);
  assert.deepEqual(told, ["b@130", "a@160"]);
  assert.equal(clock.pending, 0);
});

test("an item that is touched while it is told waits again, without delaying the others", () => {
  const clock = new HandClock();
  const told: string[] = [];
  const queue: IdleQueue<string> = new IdleQueue(clock, 100, (item) => {
    told.push(`${item}@${clock.now()}`);
    if (item === "a" && told.length < 4) queue.touch("a");
  });
  queue.touch("a");
  clock.advance(10);
  queue.touch("b");
  clock.advance(400);
  assert.deepEqual(told, ["a@100", "b@110", "a@200", "a@300"]);
  queue.touch("c");
  queue.remove("c");
  assert.equal(clock.pending, 0);
});

test("an idle queue without a usable time tells nobody", () => {
  for (const idleMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]) {
    const clock = new HandClock();
    const queue = new IdleQueue<string>(clock, idleMs, () => assert.fail("told"));
    queue.touch("a");
    assert.equal(clock.pending, 0);
  }
});

test("a connection whose reader is too far behind is given up, once", async () => {
  const clock = new HandClock();
  const exchange = createArrayExchange();
  let gone = 0;
  const keepAlive = new KeepAlive<SseConnection>(clock, 1000);
  const connection = new SseConnection(exchange, { clock, keepAlive, maxBehind: 100, onGone: () => gone++ });
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
  endpoint.server.tool("ask", {}, async (_args, ctx) => {
    const failed = await ctx.listRoots({ signal: AbortSignal.abort("no time") }).catch((reason: unknown) => reason);
    const giveUp = new AbortController();
    const asking = ctx.listRoots({ signal: giveUp.signal }).catch((reason: unknown) => reason);
    giveUp.abort("changed my mind");
    return `${failed}, ${await asking}`;
  });
  const client = await endpoint.open("2025-11-25", { roots: {} });
  const call = await status(client.call(1, "ask"), 200);
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
