import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { test } from "node:test";
import { StreamCursor } from "#src/era/legacy/client/streams.js";
import type { StreamTrace } from "#src/http/sse/reader.js";
import { FakeClock } from "../../../../support/fake-clock.js";
import { LEGACY, legacyWorld, sessionWorld } from "../../../../support/http-transports.js";

const NOTHING: StreamTrace = { lastEventId: "", retryMs: undefined, spoke: false, error: undefined };

test("a cursor counts connections in a row that brought nothing", () => {
  const cursor = new StreamCursor({ maxFruitless: 2, minDelayMs: 1, firstDelayMs: 100, maxDelayMs: 120 });
  cursor.ended({ ...NOTHING, lastEventId: "a" });
  equal(cursor.lastEventId, "a");
  cursor.failed(new Error("no"));
  equal(cursor.delayMs, 120);
  cursor.ended({ ...NOTHING, spoke: true });
  equal(cursor.delayMs, 100);
  cursor.ended({ ...NOTHING, lastEventId: "a" });
  equal(cursor.exhausted, false);
  cursor.ended(NOTHING);
  equal(cursor.exhausted, true);
  equal(cursor.lastEventId, "a");
  cursor.ended({ ...NOTHING, retryMs: 7 });
  equal(cursor.exhausted, false);
  equal(cursor.delayMs, 7);
});

test("a cursor obeys no wish for haste while connections end as they begin, whatever they bring", () => {
  const cursor = new StreamCursor({ maxFruitless: 3, minDelayMs: 100, firstDelayMs: 1000, maxDelayMs: 30_000 });
  const waits: number[] = [];
  for (let n = 0; n < 6; n++) {
    cursor.ended({ ...NOTHING, lastEventId: String(n), retryMs: 0, spoke: true }, 3);
    waits.push(cursor.delayMs);
  }
  deepEqual(waits, [200, 400, 800, 1000, 1000, 1000]);
  cursor.ended({ ...NOTHING, lastEventId: "a" }, 1000);
  equal(cursor.delayMs, 100);
  cursor.ended({ ...NOTHING, lastEventId: "b", retryMs: 5000 }, 1000);
  equal(cursor.delayMs, 5000);
});

test("a cursor does not keep an event id that no header can carry back", () => {
  const cursor = new StreamCursor({ maxFruitless: 3, minDelayMs: 100, firstDelayMs: 1000, maxDelayMs: 30_000 });
  cursor.ended({ ...NOTHING, lastEventId: "a" });
  cursor.ended({ ...NOTHING, lastEventId: "x".repeat(8193) });
  equal(cursor.lastEventId, "a");
});

test("a cursor waits ever longer for a server that is away, also where it wished for haste before", () => {
  const cursor = new StreamCursor({ maxFruitless: 3, minDelayMs: 100, firstDelayMs: 1000, maxDelayMs: 30_000 });
  cursor.ended({ ...NOTHING, retryMs: 0 });
  for (let n = 0; n < 20; n++) cursor.failed(new Error("no"));
  equal(cursor.delayMs, 30_000);
});

test("the handshake may be answered by a stream", async (t) => {
  const { script, link, call } = await legacyWorld(t);
  const opened = call({ method: "initialize", params: {}, cancellable: false });
  const received = await script.next("initialize");
  received.stream({ "mcp-session-id": "abc" }).resultEvent({ protocolVersion: "2025-06-18" }).end();
  await opened;
  equal(link.version, "2025-06-18");
  equal(link.sessionId, "abc");
});

test("progress reaches its call on whichever stream it comes", async (t) => {
  const { script, call } = await sessionWorld(t);
  const own = (await script.next("GET")).stream();
  const heard = new Promise<unknown>((resolve) => {
    void call({ onProgress: (params) => resolve(params.progress) }).catch(() => {});
  });
  const received = await script.next("tools/call");
  const { progressToken } = received.message.params._meta;
  own.notify("notifications/progress", { progressToken, progress: 3 });
  equal(await heard, 3);
  received.result({});
});

test("a batch in an answer is taken apart", async (t) => {
  const { script, told, call } = await sessionWorld(t);
  const answered = call();
  const received = await script.next("tools/call");
  received.json([
    { jsonrpc: "2.0", method: "notifications/message", params: {} },
    { jsonrpc: "2.0", id: received.message.id, result: { fine: true } },
  ]);
  deepEqual(await answered, { jsonrpc: "2.0", id: received.message.id, result: { fine: true } });
  equal(told.notifications.length, 1);
});

test("on the server's own stream a late answer is ignored and a pending call is answered", async (t) => {
  const { script, told, link, call } = await sessionWorld(t);
  const own = (await script.next("GET")).stream();
  const abort = new AbortController();
  const cancelled = call({}, { signal: abort.signal });
  const first = await script.next("tools/call");
  abort.abort("no");
  await rejects(cancelled, /^no$/);
  const pending = call();
  const second = await script.next("tools/call");
  own.event({ jsonrpc: "2.0", id: first.message.id, result: {} });
  own.event({ jsonrpc: "2.0", id: second.message.id, result: { right: true } });
  const response = await pending;
  deepEqual("result" in response && response.result, { right: true });
  await second.gone;
  own.event({ jsonrpc: "2.0", id: "never sent", result: {} });
  await told.until(() => told.problems.length === 1);
  equal(link.pending, 0);
});

test("the handshake is over when the server's own stream is open, and does not wait for ever", async (t) => {
  for (const answers of [true, false]) {
    const clock = new FakeClock();
    const { script, link, call } = await legacyWorld(t, { clock });
    const opened = call({ method: "initialize", params: {}, cancellable: false });
    (await script.next("initialize")).result({ protocolVersion: LEGACY });
    await opened;
    let isReady = false;
    const ready = Promise.resolve(link.notify("notifications/initialized", undefined)).then(() => {
      isReady = true;
    });
    (await script.next("notifications/initialized")).status(202);
    const received = await script.next("GET");
    equal(isReady, false);
    if (answers) received.stream();
    else clock.advance(250);
    await ready;
    equal(clock.pending, 0);
  }
});

test("an answer or notification that is refused within a lost session tells so", async (t) => {
  const { script, link, told } = await sessionWorld(t);
  let lost = 0;
  link.onSessionLost = () => lost++;
  link.respond("x", "{}");
  (await script.next(({ message }) => message?.id === "x")).status(404);
  await told.until(() => told.problems.length === 1);
  const sent = link.notify("notifications/x", undefined);
  (await script.next("notifications/x")).status(404);
  await sent;
  equal(lost, 2);
});

test("404 outside a session is an ordinary refusal", async (t) => {
  const { script, link, call } = await legacyWorld(t);
  link.onSessionLost = () => ok(false, "there is no session to lose");
  const answered = call({ method: "initialize", params: { protocolVersion: LEGACY }, cancellable: false });
  (await script.next("initialize")).status(404, "nothing here");
  await rejects(answered, { code: "connection_error", status: 404, delivery: "refused" });
});

test("a session id with other than visible characters is not used", async (t) => {
  const { script, link, told, call } = await legacyWorld(t);
  const opened = call({ method: "initialize", params: {}, cancellable: false });
  (await script.next("initialize")).result({ protocolVersion: LEGACY }, { "mcp-session-id": "two words" });
  await opened;
  equal(link.sessionId, undefined);
  equal(told.problems.length, 1);
});

test("connections are used again, and none is left behind", async (t) => {
  const { script, link, call } = await sessionWorld(t);
  (await script.next("GET")).status(405);
  script.onRequest = (received) => {
    const { method, params } = received.message;
    if (method === undefined || method.startsWith("notifications/")) received.status(202);
    else if (params.name === "json") received.result({});
    else received.stream().raw("id: 1\ndata:\n\n").resultEvent({}, "2").end();
  };
  for (let n = 0; n < 50; n++) {
    await call({ params: { name: "json" } });
    await call({ params: { name: "sse" } });
    await link.notify("notifications/x", {});
  }
  ok(script.connections <= 4, `${script.connections} connections for 150 exchanges`);
  equal(link.pending, 0);
});

test("hundreds of cancelled calls leave nothing on either side", async (t) => {
  const { script, link, call, told } = await sessionWorld(t);
  (await script.next("GET")).status(405);
  const closed: Promise<void>[] = [];
  script.onRequest = (received) => {
    closed.push(received.closed);
    if (received.rpcMethod === "notifications/cancelled") received.status(202);
    else received.stream().raw(`id: ${received.message.id}\ndata:\n\n`);
  };
  for (let round = 0; round < 10; round++) {
    const abort = new AbortController();
    setMaxListeners(0, abort.signal);
    const calls = Array.from({ length: 20 }, () => call({}, { signal: abort.signal }));
    for (const _ of calls) await script.next("tools/call");
    abort.abort("no");
    for (const outcome of await Promise.allSettled(calls)) equal(outcome.status, "rejected");
    for (const _ of calls) await script.next("notifications/cancelled");
  }
  await Promise.all(closed);
  equal(script.all("notifications/cancelled").length, 200);
  equal(script.all("GET").length, 1);
  equal(link.pending, 0);
  deepEqual(told.problems, []);
});
