import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { ConnectionError } from "bowline/client";
import { RetryWaits } from "#src/call/backoff.js";
import { FakeClock } from "../../support/fake-clock.js";
import { sessionWorld, settled } from "../../support/http-transports.js";
import { proves } from "../../support/verifies.js";

const wire = { wire: "legacy-http" };
const PRIMED = "id: e1\nretry: 500\ndata:\n\n";

proves(
  [
    "client-transport:http:reconnect-post-priming",
    "client-transport:http:reconnect-retry-value",
    "client-transport:http:sse-empty-data",
  ],
  wire,
  "a primed stream is read on after the wait that the server wished",
  async (t) => {
    for (const end of ["end", "cut"] as const) {
      const clock = new FakeClock();
      const { script, told, call } = await sessionWorld(t, { clock });
      (await script.next("GET")).status(405);
      const answered = call();
      const received = await script.next("tools/call");
      received.stream().raw(PRIMED).notify("notifications/message", {});
      await told.until(() => told.notifications.length === 1);
      received[end]();
      await clock.started(1);
      deepEqual(clock.delays, [500]);
      clock.advance(499);
      equal(script.all("GET").length, 1);
      clock.advance(1);
      const resumed = await script.next("GET");
      equal(resumed.headers["last-event-id"], "e1");
      resumed.stream().raw("id: e2\ndata:\n\n").end();
      await clock.started(2);
      deepEqual(clock.delays, [500, 500]);
      clock.advance(500);
      const second = await script.next("GET");
      equal(second.headers["last-event-id"], "e2");
      second
        .stream()
        .event({ jsonrpc: "2.0", id: received.message.id, result: { late: true } })
        .end();
      const response = await answered;
      deepEqual("result" in response && response.result, { late: true });
      deepEqual(told.problems, []);
    }
  },
);

proves("client-transport:http:resume-utf8-id", wire, "an id is sent as its UTF-8 bytes", async (t) => {
  for (const id of ["\u00e9", "ids/\u{1f4a1} \u65e5\u672c", "plain"]) {
    const clock = new FakeClock();
    const { script, call } = await sessionWorld(t, { clock });
    (await script.next("GET")).status(405);
    const answered = call();
    const received = await script.next("tools/call");
    received.stream().raw(`id: ${id}\nretry: 5\ndata:\n\n`).end();
    await clock.started(1);
    clock.advance(500);
    const resumed = await script.next("GET");
    equal(Buffer.from(String(resumed.headers["last-event-id"]), "latin1").toString("utf8"), id);
    resumed.stream().event({ jsonrpc: "2.0", id: received.message.id, result: {} }).end();
    await answered;
  }
});

proves("client-transport:http:reconnect-post-priming", wire, "a stream without event ids is not read on", async (t) => {
  const clock = new FakeClock();
  const { script, call } = await sessionWorld(t, { clock });
  (await script.next("GET")).status(405);
  const answered = call();
  (await script.next("tools/call")).stream().raw("retry: 5\n\n").end();
  await rejects(answered, { code: "connection_error", delivery: "answer_lost" });
  equal(clock.delays.length, 0);
});

proves(
  "client-transport:http:reconnect-backoff",
  wire,
  "without a wish the waits grow up to a cap, and begin anew after success",
  async (t) => {
    const clock = new FakeClock();
    t.mock.method(Math, "random", () => 1);
    const reconnect = { maxFruitless: 5, firstDelayMs: 100, maxDelayMs: 300 };
    const { script, told } = await sessionWorld(t, { clock }, { reconnect });
    (await script.next("GET")).stream().notify("notifications/message", {}, "e1").end();
    for (let attempt = 1; attempt <= 4; attempt++) {
      await clock.started(attempt);
      clock.advance(300);
      (await script.next("GET")).status(503);
    }
    await clock.started(5);
    clock.advance(300);
    const back = await script.next("GET");
    equal(back.headers["last-event-id"], "e1");
    back.stream().notify("notifications/message", {}, "e2").end();
    await clock.started(6);
    deepEqual(clock.delays, [100, 150, 225, 300, 300, 100]);
    deepEqual(told.problems, []);
  },
);

proves(
  "client-transport:http:reconnect-bounded",
  wire,
  "a stream that is over with 204 is not resumed again",
  async (t) => {
    const clock = new FakeClock();
    const { script, call } = await sessionWorld(t, { clock });
    (await script.next("GET")).status(405);
    const answered = call();
    (await script.next("tools/call")).stream().raw(PRIMED).end();
    await clock.started(1);
    clock.advance(500);
    (await script.next("GET")).status(204);
    await rejects(answered, {
      code: "connection_error",
      delivery: "answer_lost",
      message: /the server has ended the stream/,
    });
    equal(clock.pending, 0);
    equal(script.all("GET").length, 2);
  },
);

proves(
  "client-transport:http:reconnect-bounded",
  wire,
  "resumes that bring nothing are bounded; those that do are not",
  async (t) => {
    const clock = new FakeClock();
    const { script, call } = await sessionWorld(t, { clock }, { reconnect: { maxFruitless: 3 } });
    (await script.next("GET")).status(405);
    const answered = call();
    (await script.next("tools/call")).stream().raw(PRIMED).end();
    let waits = 0;
    const resume = async (text: string) => {
      await clock.started(++waits);
      clock.advance(1000);
      (await script.next("GET")).stream().raw(text).end();
    };
    for (let n = 0; n < 10; n++) await resume(`id: n${n}\ndata:\n\n`);
    for (let n = 0; n < 10; n++) await resume("retry: 500\n\n");
    for (const text of ["", ":\n\n", "id: n9\ndata:\n\n"]) await resume(text);
    await rejects(answered, { code: "connection_error", delivery: "answer_lost" });
    clock.advance(600_000);
    equal(script.all("GET").length, 24);
    equal(clock.pending, 0);
  },
);

proves(
  "client-transport:http:reconnect-exhausted-fails-request",
  wire,
  "a resume that is refused for good fails the call",
  async (t) => {
    for (const status of [400, 404, 405]) {
      const clock = new FakeClock();
      const { script, call } = await sessionWorld(t, { clock });
      (await script.next("GET")).status(405);
      const answered = call();
      (await script.next("tools/call")).stream().raw(PRIMED).end();
      await clock.started(1);
      clock.advance(500);
      (await script.next("GET")).status(status);
      await rejects(answered, (error) => {
        ok(error instanceof ConnectionError && error.cause instanceof ConnectionError);
        // The status is that of the request which reads on: it says nothing about the call.
        deepEqual([error.delivery, error.retrySafe, error.status], ["answer_lost", false, undefined]);
        equal(error.cause.status, status);
        return true;
      });
    }
  },
);

proves(
  "client-transport:http:reconnect-exhausted-fails-request",
  wire,
  "failing connections are given up in the end",
  async (t) => {
    const clock = new FakeClock();
    const { script, call } = await sessionWorld(t, { clock });
    (await script.next("GET")).status(405);
    const answered = call();
    (await script.next("tools/call")).stream().raw(PRIMED).end();
    for (let attempt = 1; attempt <= 3; attempt++) {
      await clock.started(attempt);
      clock.advance(500);
      const got = await script.next("GET");
      if (attempt === 1) got.cut();
      else got.status(500);
    }
    await rejects(answered, { code: "connection_error", delivery: "answer_lost" });
  },
);

proves(
  ["client-transport:http:reconnect-get", "client-transport:http:reconnect-failure-onerror"],
  wire,
  "the server's own stream is opened again, in the end given up with one report",
  async (t) => {
    const clock = new FakeClock();
    const { script, told, call } = await sessionWorld(t, { clock }, { reconnect: { maxFruitless: 2 } });
    (await script.next("GET")).stream().notify("notifications/message", {}).cut();
    await clock.started(1);
    clock.advance(60_000);
    const second = await script.next("GET");
    equal(second.headers["last-event-id"], undefined);
    second.stream().notify("notifications/message", {}, "E").end();
    await clock.started(2);
    clock.advance(60_000);
    const third = await script.next("GET");
    equal(third.headers["last-event-id"], "E");
    third.stream().end();
    await clock.started(3);
    clock.advance(60_000);
    (await script.next("GET")).status(500);
    await told.until(() => told.problems.length > 0);
    match(told.problems[0]?.message ?? "", /gave up/);
    equal(told.problems.length, 1);
    const answered = call();
    (await script.next("tools/call")).result({});
    await answered;
    equal(clock.pending, 0);
  },
);

proves(
  "client-transport:http:reconnect-get",
  wire,
  "the server's own stream is opened again without end, with one report, and at once when the server answers",
  async (t) => {
    const clock = new FakeClock();
    const waits = new RetryWaits();
    const { script, told } = await sessionWorld(t, { clock, waits });
    (await script.next("GET")).stream().end();
    for (let attempt = 1; attempt <= 20; attempt++) {
      await clock.started(attempt);
      clock.advance(30_000);
      (await script.next("GET")).status(503);
    }
    await clock.started(21);
    match(told.problems[0]?.message ?? "", /The GET stream of the session: still trying to resume the stream/);
    equal(told.problems.length, 1);
    const asked = script.all("GET").length;
    clock.advance(99);
    waits.end();
    await settled();
    equal(script.all("GET").length, asked);
    clock.advance(1);
    (await script.next("GET")).stream().notify("notifications/message", {}, "E");
    await told.until(() => told.notifications.length === 1);
  },
);

proves(
  "client-transport:http:reconnect-get",
  wire,
  "a server that answers calls but refuses its own stream is asked ever less often, and when it wants to be",
  async (t) => {
    const clock = new FakeClock();
    const waits = new RetryWaits();
    const { script } = await sessionWorld(t, { clock, waits });
    (await script.next("GET")).stream().end();
    await clock.started(1);
    clock.advance(30_000);
    (await script.next("GET")).json("", 503, { "retry-after": "20", "content-length": "0" });
    await clock.started(2);
    clock.advance(19_999);
    waits.end();
    await settled();
    equal(script.all("GET").length, 2);
    clock.advance(1);
    for (const leastMs of [200, 400, 800, 1600]) {
      const timers = clock.delays.length;
      (await script.next("GET")).status(503);
      await clock.started(timers + 1);
      const asked = script.all("GET").length;
      clock.advance(leastMs - 1);
      waits.end();
      await settled();
      equal(script.all("GET").length, asked);
      clock.advance(1);
    }
    await script.next("GET");
  },
);

proves(
  "client-transport:http:no-reconnect-after-response",
  wire,
  "a stream that brought its response is not read on",
  async (t) => {
    const clock = new FakeClock();
    const { script, link, call } = await sessionWorld(t, { clock });
    (await script.next("GET")).status(405);
    for (const answer of [{ result: {} }, { error: { code: -1, message: "no" } }]) {
      const answered = call();
      const received = await script.next("tools/call");
      received
        .stream()
        .raw(PRIMED)
        .event({ jsonrpc: "2.0", id: received.message.id, ...answer }, "e9")
        .end();
      await answered;
      await received.closed;
    }
    const marker = link.notify("notifications/marker", undefined);
    (await script.next("notifications/marker")).status(202);
    await marker;
    clock.advance(600_000);
    equal(script.all("GET").length, 1);
  },
);

proves("client-transport:http:no-reconnect-after-close", wire, "nothing is asked for after close", async (t) => {
  for (const moment of ["waiting", "resuming"] as const) {
    const clock = new FakeClock();
    const { script, link, call } = await sessionWorld(t, { clock });
    (await script.next("GET")).status(405);
    const answered = call();
    (await script.next("tools/call")).stream().raw(PRIMED).end();
    await clock.started(1);
    if (moment === "resuming") {
      clock.advance(500);
      await script.next("GET");
    }
    const closing = link.close();
    await rejects(answered, { code: "connection_error" });
    (await script.next("DELETE")).status(204);
    await closing;
    const before = script.received.length;
    clock.advance(600_000);
    equal(clock.pending, 0);
    equal(script.received.length, before);
  }
});

proves(
  "client-transport:http:resume-keeps-request",
  wire,
  "progress and cancellation go on after a resume",
  async (t) => {
    const clock = new FakeClock();
    const { script, call } = await sessionWorld(t, { clock });
    (await script.next("GET")).status(405);
    const progress: unknown[] = [];
    let heard = () => {};
    const abort = new AbortController();
    const onProgress = (params: { [key: string]: unknown }) => {
      progress.push(params.progress);
      heard();
    };
    const answered = call({ onProgress }, { signal: abort.signal });
    const received = await script.next("tools/call");
    const { progressToken } = received.message.params._meta;
    received.stream().notify("notifications/progress", { progressToken, progress: 1 }, "e1").end();
    await clock.started(1);
    clock.advance(60_000);
    const resumed = await script.next("GET");
    const second = new Promise<void>((resolve) => {
      heard = resolve;
    });
    resumed.stream().notify("notifications/progress", { progressToken, progress: 2 }, "e2");
    await second;
    deepEqual(progress, [1, 2]);
    abort.abort("no");
    await rejects(answered, (error) => error === "no");
    const cancelled = await script.next("notifications/cancelled");
    equal(cancelled.message.params.requestId, received.message.id);
    cancelled.status(202);
    await resumed.gone;
  },
);

proves(
  "client-transport:http:reconnect-retry-value",
  wire,
  "on the server's own stream too, from an event with nothing else, until another wish",
  async (t) => {
    const clock = new FakeClock();
    const { script } = await sessionWorld(t, { clock }, { reconnect: { firstDelayMs: 10 } });
    const waits: number[] = [];
    for (const text of ["retry: 700\n\n", "id: a\ndata:\n\n", "retry: 30\n\n", "id: b\ndata:\n\n"]) {
      (await script.next("GET")).stream().raw(text).end();
      await clock.started(waits.length + 1);
      const delay = clock.delays.at(-1) ?? 0;
      waits.push(delay);
      const before = script.all("GET").length;
      clock.advance(delay - 1);
      equal(script.all("GET").length, before);
      clock.advance(1);
    }
    deepEqual(waits, [700, 700, 30, 30]);
  },
);
