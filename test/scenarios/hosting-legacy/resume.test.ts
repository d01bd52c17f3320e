import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { detachStream } from "bowline/server";
import { callViews } from "#src/server/call-info.js";
import { type EventLog, type LoggedEvent, MemoryEventLog } from "#src/store/event-log.js";
import { gate } from "../../support/gate.js";
import {
  answer,
  blocks,
  isDone,
  LegacyEndpoint,
  messages,
  settle,
  status,
  textOf,
  until,
} from "../../support/legacy-endpoint.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "legacy-http" };

/** A tool that reports each value that the test feeds it, and returns at the end of them. */
function createFed(
  http: ConstructorParameters<typeof LegacyEndpoint>[0] = { resumable: true },
  options: ConstructorParameters<typeof LegacyEndpoint>[1] = {},
) {
  const endpoint = new LegacyEndpoint(http, options);
  const signals: AbortSignal[] = [];
  const feeds = new Map<string, (value: number | "end" | "detach") => Promise<void>>();
  endpoint.server
    .tool("fed", {}, async (_args, ctx) => {
      signals.push(ctx.signal);
      const over = gate();
      feeds.set(String(ctx.requestId), async (value) => {
        if (value === "end") over.open();
        else if (value === "detach") detachStream(ctx);
        else await ctx.progress(value);
      });
      await over.opened;
      return "end";
    })
    .tool("quick", {}, () => "done");
  const feed = (id: string | number, value: number | "end" | "detach") => feeds.get(String(id))?.(value);
  const begun = (id: string | number) => until(() => feeds.has(String(id)));
  return { endpoint, feed, begun, signals };
}

const progressOf = (exchange: Parameters<typeof messages>[0]) =>
  messages(exchange).flatMap(({ params }) => (params?.progress === undefined ? [] : [params.progress]));

/** A log that takes its time and can be told to fail. */
class SlowLog implements EventLog {
  readonly inner = new MemoryEventLog();
  failing: "append" | "read" | undefined;
  appends = 0;

  async append(sessionId: string, streamId: string, data: string): Promise<string> {
    this.appends++;
    await setImmediate();
    if (this.failing === "append") throw new Error("log is down");
    const id = this.inner.append(sessionId, streamId, data);
    await setImmediate();
    return id;
  }

  async find(sessionId: string, eventId: string): Promise<string | undefined> {
    await setImmediate();
    return this.inner.find(sessionId, eventId);
  }

  async readAfter(
    sessionId: string,
    streamId: string,
    eventId: string | undefined,
  ): Promise<LoggedEvent[] | undefined> {
    await setImmediate();
    if (this.failing === "read") throw new Error("log is down");
    const events = this.inner.readAfter(sessionId, streamId, eventId);
    await setImmediate();
    return events;
  }

  drop(sessionId: string): void {
    this.inner.drop(sessionId);
  }
}

proves(["hosting:resume:event-ids", "hosting:resume:event-id-unique"], http, "with a log and only then", async () => {
  const { endpoint, feed, begun } = createFed();
  const client = await endpoint.open();
  const listener = client.get();
  const calls = Array.from({ length: 10 }, (_, id) => client.call(id, "fed"));
  await begun(9);
  for (let round = 1; round <= 3; round++) for (let id = 0; id < 10; id++) await feed(id, round);
  endpoint.server.changes.toolsChanged();
  for (let id = 0; id < 10; id++) await feed(id, "end");
  await Promise.all(calls.map((call) => call.done));
  const events = [listener, ...calls].flatMap(blocks).filter(({ data }) => data !== undefined);
  assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
  assert.equal(events.length, 10 * 5 + 2);
  for (const { id } of events) assert.match(id ?? "", /^[\x21-\x7e]+$/);
  const plain = new LegacyEndpoint();
  const bare = await (await plain.open()).request(1, "ping");
  await bare.done;
  assert.deepEqual(Object.keys(blocks(bare)[0] ?? {}), ["data"]);
});

proves("hosting:resume:priming", http, "on POST and GET, before anything else", async () => {
  const { endpoint } = createFed({ resumable: true, retryMs: 250 });
  const client = await endpoint.open();
  const [listener, call] = [client.get(), client.call(1, "quick")];
  await call.done;
  await until(() => blocks(listener).length === 1);
  for (const exchange of [listener, call]) {
    const [first] = blocks(exchange);
    assert.equal(first?.data, "");
    assert.equal(first?.retry, "250");
    assert.ok(first?.id !== undefined);
  }
});

proves("hosting:resume:priming-version-gate", http, "never below 2025-11-25", async () => {
  const { endpoint } = createFed();
  for (const version of ["2025-06-18", "2025-03-26"]) {
    const client = await endpoint.open(version);
    const listener = client.get();
    const call = client.call(1, "quick");
    endpoint.server.changes.toolsChanged();
    await call.done;
    await until(() => blocks(listener).length === 1);
    for (const exchange of [listener, call]) assert.ok(blocks(exchange).every(({ data }) => data !== ""));
  }
});

proves("hosting:resume:priming-store-failure", http, "no handler runs and nothing is left", async () => {
  const log = new SlowLog();
  const { endpoint, signals } = createFed({ resumable: log });
  const client = await endpoint.open();
  log.failing = "append";
  const failed = await status(client.call(1, "fed"), 500);
  assert.equal(messages(failed)[0]?.id, 1);
  assert.equal(signals.length, 0);
  assert.deepEqual(endpoint.stats, { sessions: 1, streams: 0, running: 0 });
  log.failing = undefined;
  assert.equal(textOf(await answer(client.call(1, "quick"))), "done");
});

proves(
  ["hosting:resume:close-stream", "hosting:resume:retry-before-close"],
  http,
  "and the client comes back",
  async () => {
    const { endpoint, feed, begun } = createFed({ resumable: true });
    const client = await endpoint.open();
    const call = client.call(1, "fed");
    await begun(1);
    await feed(1, "detach");
    await call.done;
    assert.ok(blocks(call).at(-1)?.retry !== undefined);
    assert.deepEqual(messages(call), []);
    assert.equal(endpoint.stats.running, 1);
    await feed(1, 5);
    const resumed = client.get(blocks(call)[0]?.id);
    await until(() => messages(resumed).length === 1);
    await feed(1, "end");
    await resumed.done;
    assert.deepEqual(progressOf(resumed), [5]);
    assert.equal(textOf(messages(resumed)[1]), "end");
    assert.deepEqual(endpoint.stats, { sessions: 1, streams: 0, running: 0 });
  },
);

proves(["hosting:resume:close-stream-gated", "hosting:http:sse-no-early-close"], http, "log and version", async () => {
  for (const [resumable, version, closes] of [
    [true, "2025-11-25", true],
    [true, "2025-06-18", false],
    [false, "2025-11-25", false],
    [false, "2025-06-18", false],
  ] as const) {
    const { endpoint, feed, begun } = createFed({ resumable });
    let offered: boolean | undefined;
    endpoint.server.use((call, next) => {
      if (call.method === "tools/call") offered = callViews.callOf(call).wire.detachable?.(callViews.callOf(call));
      return next(call);
    });
    const client = await endpoint.open(version);
    const call = client.call(1, "fed");
    await begun(1);
    await feed(1, "detach");
    assert.equal(await isDone(call), closes);
    assert.equal(offered, closes);
    await feed(1, "end");
    await call.done;
    if (!closes) assert.equal(textOf(messages(call).at(-1)), "end");
  }
});

proves(
  ["hosting:resume:replay", "hosting:resume:buffered-replay", "hosting:resume:stream-scoped"],
  http,
  "in order, once",
  async () => {
    const { endpoint, feed, begun } = createFed();
    const client = await endpoint.open();
    const calls = [client.call(1, "fed"), client.call(2, "fed"), client.call(3, "fed")] as const;
    await begun(3);
    for (const value of [1, 2]) for (const id of [1, 2, 3]) await feed(id, value);
    calls[1].disconnect();
    for (const value of [3, 4]) for (const id of [1, 2, 3]) await feed(id, value);
    const seen = blocks(calls[1]).map(({ id }) => id);
    const resumed = client.get(seen.at(-1));
    await until(() => progressOf(resumed).length === 2);
    await feed(2, 5);
    for (const id of [1, 2, 3]) await feed(id, "end");
    await Promise.all([resumed.done, calls[0].done, calls[2].done]);
    assert.deepEqual(progressOf(calls[1]), [1, 2]);
    assert.deepEqual(progressOf(resumed), [3, 4, 5]);
    assert.deepEqual(
      messages(resumed).map(({ params }) => params?.progressToken),
      [2, 2, 2, undefined],
    );
    assert.equal(messages(resumed).at(-1)?.id, 2);
    assert.deepEqual(progressOf(calls[0]), [1, 2, 3, 4]);
    const again = client.get(seen[1]);
    await again.done;
    assert.deepEqual(progressOf(again), [2, 3, 4, 5]);
    assert.deepEqual(
      blocks(again)
        .slice(1)
        .map(({ id }) => id),
      blocks(resumed).map(({ id }) => id),
    );
  },
);

proves("hosting:resume:session-scoped", http, "another session's event is unknown", async () => {
  const { endpoint } = createFed({ resumable: new MemoryEventLog() }, { capabilities: { logging: true } });
  const [a, b] = [await endpoint.open(), await endpoint.open()];
  await answer(b.call("own", "quick"));
  const calls = [];
  for (let id = 0; id < 3; id++) calls.push(await status(a.call(id, "quick"), 200));
  const foreign = blocks(calls[2] as (typeof calls)[0])[0]?.id;
  assert.equal((await status(b.get(foreign), 204)).body(), "");
  await status(a.get(foreign), 200);
  const listener = a.get();
  await until(() => blocks(listener).length === 1);
  endpoint.server.log("info", "for a and b");
  await until(() => messages(listener).length === 1);
  const [position, message] = blocks(listener);
  for (const id of [position?.id, message?.id]) {
    const stream = b.get(id);
    await until(() => messages(stream).length > 0);
    assert.ok(blocks(stream).every((block) => block.id !== message?.id));
    stream.disconnect();
  }
});

proves(
  ["hosting:resume:any-origin", "hosting:http:send-no-listener-noop"],
  http,
  "a standalone stream too",
  async () => {
    const { endpoint } = createFed();
    endpoint.server.prompt("p", {}, () => "p").resource("r://1", { name: "r" }, () => "r");
    const client = await endpoint.open();
    const listener = client.get();
    await until(() => blocks(listener).length === 1);
    listener.disconnect();
    endpoint.server.changes.toolsChanged();
    endpoint.server.changes.promptsChanged();
    const resumed = client.get(blocks(listener)[0]?.id);
    await until(() => messages(resumed).length === 2);
    endpoint.server.changes.resourcesChanged();
    await until(() => messages(resumed).length === 3);
    assert.deepEqual(
      messages(resumed).map(({ method }) => method),
      ["tools", "prompts", "resources"].map((kind) => `notifications/${kind}/list_changed`),
    );
    assert.equal(await isDone(resumed), false);
  },
);

proves("hosting:resume:live-continuation", http, "up to the response, then the GET ends", async () => {
  const { endpoint, feed, begun } = createFed();
  const client = await endpoint.open();
  const call = client.call(1, "fed");
  await begun(1);
  call.disconnect();
  const resumed = client.get(blocks(call)[0]?.id);
  await until(() => resumed.status === 200);
  await feed(1, 1);
  assert.deepEqual(progressOf(resumed), [1]);
  await feed(1, "end");
  await resumed.done;
  assert.equal(textOf(messages(resumed).at(-1)), "end");
});

proves("hosting:resume:no-duplicate-race", http, "with a log that takes its time", async () => {
  for (let offset = 0; offset < 8; offset++) {
    const log = new SlowLog();
    const { endpoint, feed, begun } = createFed({ resumable: log });
    const client = await endpoint.open();
    const call = client.call(1, "fed");
    await begun(1);
    const fed: Promise<unknown>[] = [];
    for (let value = 1; value <= 3; value++) fed.push(Promise.resolve(feed(1, value)));
    for (let turn = 0; turn < offset; turn++) await setImmediate();
    call.disconnect();
    const resumed = client.get(blocks(call).at(-1)?.id);
    for (let value = 4; value <= 12; value++) {
      fed.push(Promise.resolve(feed(1, value)));
      if (value % 3 === 0) await setImmediate();
    }
    await Promise.all(fed);
    await feed(1, "end");
    await resumed.done;
    assert.deepEqual(
      [...progressOf(call), ...progressOf(resumed)],
      Array.from({ length: 12 }, (_, at) => at + 1),
    );
    assert.equal(textOf(messages(resumed).at(-1)), "end");
  }
});

proves("hosting:resume:completed-stream-ends", http, "the response is the last event", async () => {
  const { endpoint, feed, begun } = createFed();
  const client = await endpoint.open();
  const call = client.call(1, "fed");
  await begun(1);
  call.disconnect();
  await feed(1, 1);
  await feed(1, "end");
  await until(() => endpoint.stats.running === 0);
  const resumed = client.get(blocks(call)[0]?.id);
  await resumed.done;
  assert.deepEqual(progressOf(resumed), [1]);
  assert.equal(textOf(messages(resumed).at(-1)), "end");
  assert.equal(endpoint.stats.streams, 0);
});

proves(
  [
    "hosting:resume:cancelled-stream-ends",
    "hosting:resume:no-rows-after-settle",
    "hosting:resume:settled-stream-not-registered",
  ],
  http,
  "ends at once, writes no row, registers nothing",
  async () => {
    const log = new SlowLog();
    const { endpoint, feed, begun } = createFed({ resumable: log });
    const client = await endpoint.open();
    for (let id = 0; id < 50; id++) {
      const call = client.call(id, "fed");
      await begun(id);
      await feed(id, 1);
      client.cancel(id);
      await call.done;
      const rows = log.appends;
      await feed(id, 2);
      await feed(id, "end");
      for (let attempt = 0; attempt < 3; attempt++) {
        const resumed = client.get(blocks(call)[0]?.id);
        await status(resumed, 200);
        assert.deepEqual(progressOf(resumed), [1]);
        assert.equal(messages(resumed).length, 1);
      }
      assert.equal(log.appends, rows);
      assert.deepEqual(endpoint.stats, { sessions: 1, streams: 0, running: 0 });
    }
  },
);

proves(
  ["hosting:resume:takeover", "hosting:resume:stale-close-guard"],
  http,
  "the newer connection wins and stays",
  async () => {
    const { endpoint, feed, begun } = createFed();
    const client = await endpoint.open();
    const call = client.call(1, "fed");
    await begun(1);
    const second = client.get(blocks(call)[0]?.id);
    await call.done;
    call.disconnect();
    await feed(1, 1);
    const third = client.get(blocks(call)[0]?.id);
    await second.done;
    await feed(1, 2);
    await feed(1, "end");
    await third.done;
    assert.deepEqual(progressOf(third), [1, 2]);
    assert.equal(textOf(messages(third).at(-1)), "end");
    assert.deepEqual([...messages(call), ...progressOf(second)], [1]);
  },
);

proves("hosting:resume:bad-event-id", http, "random, truncated and evicted, of the standalone stream", async () => {
  const { endpoint } = createFed({ resumable: new MemoryEventLog({ maxLoggedEventsPerSession: 4 }) });
  endpoint.server.prompt("p", {}, () => "p").resource("r://1", { name: "r" }, () => "r");
  const client = await endpoint.open();
  await answer(client.request("s", "resources/subscribe", { uri: "r://1" }));
  const first = client.get();
  await until(() => blocks(first).length === 1);
  const evicted = blocks(first)[0]?.id ?? "";
  first.disconnect();
  for (let count = 0; count < 3; count++) await answer(client.call(`evict ${count}`, "quick"));
  const told = ["tools", "prompts", "resources"].map((kind) => `notifications/${kind}/list_changed`);
  for (const id of ["nonsense", "g", evicted.slice(0, -1), evicted]) {
    const stream = client.get(id);
    await until(() => messages(stream).length >= 4);
    const methods = messages(stream).map(({ method }) => method);
    for (const method of [...told, "notifications/resources/updated"]) assert.ok(methods.includes(method), method);
    endpoint.server.changes.toolsChanged();
    await until(() => messages(stream).length > methods.length);
    stream.disconnect();
  }
  assert.deepEqual(endpoint.reports, []);
});

proves("hosting:resume:bad-event-id", http, "of a call's stream: the GET ends, other streams stay", async () => {
  const { endpoint } = createFed({ resumable: new MemoryEventLog({ maxLoggedEventsPerSession: 3 }) });
  const client = await endpoint.open();
  const listener = client.get();
  await until(() => listener.status === 200);
  const first = await status(client.call(1, "quick"), 200);
  await answer(client.call(2, "quick"));
  const known = blocks(await status(client.call(3, "quick"), 200))[0]?.id ?? "";
  for (const id of [known.slice(0, -1), blocks(first)[0]?.id ?? ""])
    assert.equal((await status(client.get(id), 204)).body(), "");
  await status(client.get(known), 200);
  endpoint.server.changes.toolsChanged();
  await until(() => messages(listener).length === 1);
});

proves("hosting:resume:nothing-left", http, "after the response, a failure and a cancellation", async () => {
  const { endpoint, begun } = createFed({ resumable: true });
  const client = await endpoint.open();
  const calls = [client.call(1, "quick"), client.request(2, "made/up"), client.call(3, "fed")];
  await begun(3);
  await status(client.cancel(3), 202);
  for (const call of calls) {
    await call.done;
    const resumed = await status(client.get(blocks(call).at(-1)?.id), 204);
    assert.equal(resumed.body(), "");
  }
  assert.equal(endpoint.stats.streams, 0);
});

proves("hosting:resume:position", http, "of a stream without new messages", async () => {
  const { endpoint, feed, begun } = createFed({ resumable: true });
  const client = await endpoint.open();
  const [listener, call] = [client.get(), client.call(1, "fed")];
  await begun(1);
  await feed(1, 1);
  for (const exchange of [listener, call]) {
    exchange.disconnect();
    const id = blocks(exchange).at(-1)?.id;
    const resumed = client.get(id);
    await until(() => blocks(resumed).length === 1);
    assert.deepEqual(blocks(resumed), [{ id, data: "" }]);
    resumed.disconnect();
  }
  await feed(1, "end");
});

proves("hosting:resume:replay-failure-500", http, "reported once, and resumable later", async () => {
  const log = new SlowLog();
  const { endpoint, feed, begun } = createFed({ resumable: log });
  const client = await endpoint.open();
  const call = client.call(1, "fed");
  await begun(1);
  await feed(1, 1);
  call.disconnect();
  log.failing = "read";
  await status(client.get(blocks(call)[0]?.id), 500);
  assert.equal(endpoint.reports.length, 1);
  log.failing = undefined;
  const resumed = client.get(blocks(call)[0]?.id);
  await until(() => progressOf(resumed).length === 1);
  await feed(1, "end");
  await resumed.done;
  assert.equal(textOf(messages(resumed).at(-1)), "end");
});

proves("hosting:resume:no-store", http, "the header is ignored", async () => {
  const { endpoint } = createFed({});
  const client = await endpoint.open();
  const listener = client.get("p1-0000000001");
  await until(() => listener.status === 200);
  await settle();
  assert.equal(listener.body(), "");
});

proves("hosting:resume:store-bounded", {}, "over all sessions", async () => {
  const log = new MemoryEventLog({ maxLoggedChars: 10 });
  const first = log.append("a", "x", "1234");
  const second = log.append("b", "x", "1234");
  assert.equal(log.append("a", "x", "12") === first, false);
  log.append("c", "x", "123");
  assert.deepEqual([log.size("a"), log.size("b"), log.size("c")], [2, 0, 1], "b was not written to for longest");
  assert.equal(log.find("b", second), undefined);
  log.append("c", "x", "y".repeat(50));
  assert.deepEqual([log.size("a"), log.size("c"), log.size()], [0, 1, 1], "the newest stays");
  log.drop("c");
  log.append("a", "x", "1234567890");
  assert.equal(log.size(), 1);
});

proves("hosting:resume:store-bounded", http, "by count and size, and dropped with the session", async () => {
  const log = new MemoryEventLog({ maxLoggedEventsPerSession: 4, maxLoggedCharsPerSession: 100 });
  const ids = Array.from({ length: 10 }, (_, at) => log.append("s", "x", String(at)));
  assert.equal(log.size("s"), 4);
  assert.equal(log.find("s", ids[5] ?? ""), undefined);
  assert.deepEqual(
    log.readAfter("s", "x", ids[7])?.map(({ data }) => data),
    ["8", "9"],
  );
  log.append("s", "x", "y".repeat(98));
  assert.equal(log.size("s"), 3);
  log.append("s", "x", "y".repeat(500));
  assert.equal(log.size("s"), 1);
  const { endpoint } = createFed({ resumable: log });
  const client = await endpoint.open();
  assert.ok(log.size(client.id) > 0);
  await status(client.delete(), 200);
  await settle();
  assert.equal(log.size(client.id), 0);
});

proves(
  "hosting:http:handler-crash-isolated",
  http,
  "a log that fails costs no message that can be delivered",
  async () => {
    const log = new SlowLog();
    const { endpoint, feed, begun } = createFed({ resumable: log });
    const client = await endpoint.open();
    const call = client.call(1, "fed");
    await begun(1);
    log.failing = "append";
    await feed(1, 1);
    await feed(1, "end");
    await call.done;
    assert.deepEqual(progressOf(call), [1]);
    assert.equal(textOf(messages(call).at(-1)), "end");
    assert.equal(endpoint.reports.length, 2);
  },
);
