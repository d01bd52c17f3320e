import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { test } from "node:test";
import { CallLifetime } from "#src/call/lifetime.js";
import { ModernHttpTransport } from "#src/era/modern/client/http.js";
import type { TransportRequest } from "#src/era/transport.js";
import type { Fetch } from "#src/http/client/send.js";
import { ConnectionError, ProtocolError } from "#src/protocol/errors.js";
import { FakeClock } from "../../../../support/fake-clock.js";
import { createTarget, MODERN, modernWorld, settled } from "../../../../support/http-transports.js";

const ping: TransportRequest = { method: "ping", params: undefined, cancellable: true };

test("ids are numbers counted per link; a caller's own goes out as it is", async (t) => {
  const { script, call } = await modernWorld(t);
  script.onRequest = (received) => received.result({});
  const ids: unknown[] = [];
  const onId = (id: unknown) => ids.push(id);
  for (const id of [undefined, "07", undefined, 41]) equal((await call({ id, onId })).id, ids.at(-1));
  deepEqual(ids, [0, "07", 1, 41]);
  deepEqual(
    script.received.map(({ message }) => message.id),
    ids,
  );
});

test("an id in flight is refused, and nothing is sent for it", async (t) => {
  const { script, link, call } = await modernWorld(t);
  const first = call({ id: 5 });
  const received = await script.next("POST");
  await rejects(call({ id: "5" }), { code: "duplicate_request_id" });
  await rejects(call({ id: 1.5 }), { code: "invalid_request_id" });
  equal(link.pending, 1);
  received.result({});
  await first;
  equal(script.received.length, 1);
});

test("a response comes back under the id that was sent, in its own spelling", async (t) => {
  const { script, call } = await modernWorld(t);
  const answered = call({ id: 7 });
  (await script.next("POST")).json({ jsonrpc: "2.0", id: "7", result: {} });
  deepEqual(await answered, { jsonrpc: "2.0", id: 7, result: {} });
});

test("progress is asked for under the request's id, whatever token the params name", async (t) => {
  const { script, call, told } = await modernWorld(t);
  const heard: unknown[] = [];
  const onProgress = (params: { [key: string]: unknown }) => heard.push(params.progress);
  for (const [params, token] of [
    [{ name: "t", _meta: { a: 1 } }, 0],
    [{ name: "t", _meta: { progressToken: "mine" } }, 1],
  ] as const) {
    const answered = call({ params, onProgress });
    const received = await script.next("POST");
    equal(received.message.params._meta.progressToken, token);
    received.stream().notify("notifications/progress", { progressToken: token, progress: token });
    received.notify("notifications/progress", { progressToken: "other", progress: "no" });
    received.resultEvent({}).end();
    await answered;
  }
  deepEqual(heard, [0, 1]);
  equal(told.notifications.length, 2);
});

test("any message on the call's stream is a sign of life", async (t) => {
  const clock = new FakeClock();
  const { script, call, told } = await modernWorld(t, { clock });
  const answered = call({}, { timeoutMs: 100 }, clock);
  const received = (await script.next("POST")).stream();
  for (let n = 1; n <= 3; n++) {
    clock.advance(90);
    received.notify("notifications/message", {});
    await told.until(() => told.notifications.length === n);
  }
  received.resultEvent({}).end();
  await answered;
  equal(clock.now(), 270);
});

test("a listener that throws breaks neither the stream nor the call", async (t) => {
  const { script, link, call, told } = await modernWorld(t);
  const thrown = new Error("mine");
  link.receiver = {
    onRequest() {},
    onNotification: () => {
      throw thrown;
    },
    onProblem: (problem) => {
      told.onProblem(problem);
      throw thrown;
    },
    onClose() {},
  };
  const answered = call();
  (await script.next("POST")).stream().notify("notifications/message", {}).resultEvent({}).end();
  await answered;
  deepEqual(told.problems, [thrown]);
});

test("requests of the server and answers to them do not exist here", async (t) => {
  const { script, link, call, told } = await modernWorld(t);
  const answered = call();
  const received = await script.next("POST");
  received.stream().event({ jsonrpc: "2.0", id: 1, method: "ping" }).resultEvent({}).end();
  await answered;
  deepEqual(told.requests, []);
  link.respond();
  link.respondError();
  equal(told.problems.length, 3);
  ok(told.problems.every((problem) => problem instanceof ProtocolError));
  equal(script.received.length, 1);
});

test("a server that cannot be reached never saw the call; one that hung up may have", async (t) => {
  const { script, call } = await modernWorld(t);
  const answered = call();
  (await script.next("POST")).cut();
  await rejects(answered, { code: "connection_error", delivery: "sent", retrySafe: false });
  await script.stop();
  await rejects(call(), (error) => {
    ok(error instanceof ConnectionError);
    equal(error.delivery, "not_sent");
    equal(error.retrySafe, true);
    ok(error.cause instanceof Error);
    return true;
  });
});

test("a fetch that throws or ignores its signal does no harm", async () => {
  const throwing: Fetch = () => {
    throw new TypeError("bad");
  };
  const url = new URL("http://127.0.0.1/mcp");
  const broken = new ModernHttpTransport(createTarget(url, { fetch: throwing }), MODERN);
  await rejects(broken.request(ping, new CallLifetime("ping", {})), { code: "connection_error", delivery: "sent" });

  let answer!: (response: Response) => void;
  const deaf: Fetch = () =>
    new Promise((resolve) => {
      answer = resolve;
    });
  const link = new ModernHttpTransport(createTarget(url, { fetch: deaf }), MODERN);
  const scope = new CallLifetime("ping", {});
  const answered = link.request(ping, scope);
  await settled();
  scope.abort("no");
  await rejects(answered, (error) => error === "no");
  const cancelled = new Promise((resolve) => {
    const body = new ReadableStream({ cancel: resolve });
    answer(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  });
  await cancelled;
});

test("a message above the limit fails its call with the name of the limit", async (t) => {
  const { script, call } = await modernWorld(t, { limits: { maxMessageBytes: 1000 } });
  for (const streaming of [false, true]) {
    const answered = call();
    const received = await script.next("POST");
    const big = { text: "x".repeat(2000) };
    if (streaming) received.stream().resultEvent(big).end();
    else received.result(big);
    await rejects(answered, {
      code: "connection_error",
      delivery: "answer_lost",
      message: /larger than 1000 (bytes|characters) \(limits\.maxMessageBytes\)/,
    });
  }
});

test("connections are used again, and none is left behind", async (t) => {
  const { script, link, call } = await modernWorld(t);
  script.onRequest = (received) => {
    const { method, params } = received.message;
    if (method === "notifications/x") received.status(202);
    else if (params.name === "json") received.result({});
    else if (params.name === "refused") received.status(500, "no");
    else received.stream().notify("notifications/message", {}).resultEvent({}).end();
  };
  for (let n = 0; n < 50; n++) {
    await call({ params: { name: "json" } });
    await call({ params: { name: "sse" } });
    await link.notify("notifications/x", {});
    await rejects(call({ params: { name: "refused" } }), { name: "ConnectionError", status: 500 });
  }
  ok(script.connections <= 4, `${script.connections} connections for 200 exchanges`);
});

test("a stream that the server leaves open after the answer is dropped after a while", async (t) => {
  const clock = new FakeClock();
  const { script, link, call } = await modernWorld(t, { clock });
  const answered = call();
  const received = await script.next("POST");
  received.stream().resultEvent({});
  await answered;
  equal(link.open, 1);
  clock.advance(1000);
  await received.gone;
  equal(clock.pending, 0);
});

test("a thousand aborted calls leave nothing on either side", async (t) => {
  const { script, link, call, told } = await modernWorld(t);
  const closed: Promise<void>[] = [];
  script.onRequest = (received) => {
    closed.push(received.closed);
    if (Number(received.message.id) % 2 === 0) received.stream().notify("notifications/message", {});
  };
  for (let round = 0; round < 20; round++) {
    const abort = new AbortController();
    setMaxListeners(0, abort.signal);
    const calls = Array.from({ length: 50 }, () => call({}, { signal: abort.signal }));
    for (const _ of calls) await script.next("POST");
    abort.abort("no");
    for (const outcome of await Promise.allSettled(calls)) equal(outcome.status, "rejected");
  }
  await Promise.all(closed);
  equal(closed.length, 1000);
  equal(link.pending, 0);
  equal(link.open, 0);
  deepEqual(told.problems, []);
});
