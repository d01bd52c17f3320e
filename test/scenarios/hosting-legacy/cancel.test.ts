import assert from "node:assert/strict";
import type { Context } from "bowline/server";
import { ConnectionError } from "#src/protocol/errors.js";
import { type EventLog, MemoryEventLog } from "#src/store/event-log.js";
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

/** A tool that waits: `deaf` until the gate opens, `wait` until its signal fires. */
function createWaiting(options: ConstructorParameters<typeof LegacyEndpoint>[0] = {}) {
  const endpoint = new LegacyEndpoint(options);
  const release = gate();
  const started: AbortSignal[] = [];
  const finished: string[] = [];
  endpoint.server
    .tool("wait", {}, async (_args, ctx) => {
      started.push(ctx.signal);
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      finished.push("wait");
      throw ctx.signal.reason;
    })
    .tool("deaf", {}, async (_args, ctx) => {
      started.push(ctx.signal);
      await release.opened;
      await ctx.progress(1);
      finished.push("deaf");
      return "late";
    })
    .tool("deafThrower", {}, async (_args, ctx) => {
      started.push(ctx.signal);
      await release.opened;
      finished.push("deafThrower");
      throw ctx.signal.reason;
    })
    .tool("quick", {}, () => "done");
  return { endpoint, release, started, finished };
}

proves(
  ["hosting:http:cancel-posted-202", "hosting:http:notifications-202"],
  http,
  "whatever the request's state",
  async () => {
    const { endpoint, started } = createWaiting();
    const client = await endpoint.open();
    endpoint.server.onNotification("notifications/mine", {}, () => new Promise(() => {}));
    for (const method of ["notifications/initialized", "notifications/mine"]) {
      assert.equal((await status(client.notify(method), 202)).body(), "");
    }
    await answer(client.call(1, "quick"));
    const running = client.call(2, "wait");
    await until(() => started.length === 1);
    for (const id of [2, 1, 99, null, undefined, { a: 1 }]) {
      const cancel = client.cancel(id);
      assert.equal(cancel.status === undefined ? (await status(cancel, 202)).body() : cancel.body(), "");
    }
    await running.done;
  },
);

for (const tool of ["wait", "deaf"]) {
  proves(
    ["hosting:http:cancel-ends-post-sse-stream", "protocol:cancel:handler-abort-propagates"],
    http,
    `a handler that ${tool === "wait" ? "honours" : "ignores"} its signal`,
    async () => {
      const { endpoint, release, started, finished } = createWaiting();
      const client = await endpoint.open();
      const call = client.call(7, tool);
      await until(() => started.length === 1);
      await status(client.cancel(7, "enough"), 202);
      await call.done;
      assert.equal(call.status, 200);
      assert.deepEqual(messages(call), []);
      assert.equal(started[0]?.aborted, true);
      assert.match(String(started[0]?.reason), /enough/);
      await settle();
      if (tool === "deaf") assert.deepEqual(finished, []);
      // The handler that goes on counts until it is done.
      assert.deepEqual(endpoint.stats, { sessions: 1, streams: 0, running: tool === "deaf" ? 1 : 0 });
      release.open();
      await until(() => endpoint.stats.running === 0);
    },
  );
}

proves("hosting:http:cancel-json-mode-204", http, "and nothing else is a 204", async () => {
  const { endpoint, started } = createWaiting({ responseMode: "prefer-json" });
  endpoint.server.method("x/crash", {}, () => {
    throw new Error("crash");
  });
  const client = await endpoint.open();
  const call = client.call(7, "deaf");
  await until(() => started.length === 1);
  client.cancel(7);
  await status(call, 204);
  assert.equal(call.body(), "");
  const crashed = await status(client.request(8, "x/crash"), 200);
  assert.equal(messages(crashed)[0]?.error?.code, -32603);
  const pending = client.call(9, "deaf");
  await until(() => started.length === 2);
  await status(client.delete(), 200);
  await status(pending, 503);
});

for (const tool of ["deaf", "deafThrower"]) {
  proves("hosting:http:cancel-late-result-dropped", http, `of ${tool}`, async () => {
    const log = new MemoryEventLog();
    const { endpoint, release, started, finished } = createWaiting({ resumable: log });
    const client = await endpoint.open();
    const listener = client.get();
    const call = client.call(7, tool);
    await until(() => started.length === 1);
    client.cancel(7);
    await call.done;
    const rows = log.size(client.id);
    const heard = listener.body();
    release.open();
    await until(() => finished.length === 1);
    await settle();
    assert.deepEqual(messages(call), []);
    assert.equal(log.size(client.id), rows);
    assert.equal(listener.body(), heard);
    assert.deepEqual(endpoint.reports, []);
  });
}

/** A log in memory whose appends wait while `until` is closed. */
function createStuck() {
  const rows: string[] = [];
  const inner = new MemoryEventLog();
  const log: EventLog & { until: Promise<void> | undefined } = {
    until: undefined,
    async append(session, stream, data) {
      await log.until;
      rows.push(data);
      return inner.append(session, stream, data);
    },
    find: (session, id) => inner.find(session, id),
    readAfter: (session, stream, id) => inner.readAfter(session, stream, id),
    drop: (session) => inner.drop(session),
  };
  return { log, rows };
}

proves(
  ["hosting:http:cancel-ends-post-sse-stream", "hosting:resume:no-rows-after-settle"],
  http,
  "at once, while messages wait for a slow log, which stores none of them",
  async () => {
    const { log, rows } = createStuck();
    const { endpoint, started } = createWaiting({ resumable: log });
    const stuck = gate();
    endpoint.server.tool("talk", {}, async (_args, ctx) => {
      log.until = stuck.opened;
      for (let value = 1; value <= 5; value++) void ctx.progress(value);
      started.push(ctx.signal);
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
    });
    const client = await endpoint.open();
    const call = client.call(7, "talk");
    await until(() => started.length === 1);
    const before = rows.length;
    await status(client.cancel(7), 202);
    assert.equal(await isDone(call), true, "the POST ends while the log is stuck");
    assert.deepEqual(messages(call), []);
    stuck.open();
    await settle();
    assert.equal(rows.length, before + 1, "only the message that the log had begun to store");
    assert.deepEqual(endpoint.stats, { sessions: 1, streams: 0, running: 0 });
  },
);

for (const [what, say] of [
  ["progress", (ctx: Context) => ctx.progress(1)],
  ["a log message", (ctx: Context) => ctx.log("info", "half")],
] as const)
  proves("hosting:http:cancel-releases-handler", http, `that waits until a stuck log has stored ${what}`, async () => {
    const { log } = createStuck();
    const { endpoint } = createWaiting({ resumable: log });
    const [stuck, waits] = [gate(), gate()];
    const released: unknown[] = [];
    endpoint.server.tool("talk", {}, async (_args, ctx) => {
      log.until = stuck.opened;
      const first = say(ctx);
      const second = say(ctx);
      waits.open();
      released.push(await first, await second);
      // A message after the end does not hold the handler either.
      released.push(ctx.signal.aborted, await say(ctx));
    });
    const client = await endpoint.open();
    const call = client.call(7, "talk");
    await waits.opened;
    await settle();
    assert.deepEqual(released, []);
    await status(client.cancel(7), 202);
    await call.done;
    await until(() => endpoint.stats.running === 0);
    assert.deepEqual(released, [undefined, undefined, true, undefined]);
    stuck.open();
  });

proves(
  ["hosting:http:cancel-ends-post-sse-stream", "hosting:resume:no-rows-after-settle"],
  http,
  "of a batch: the other response is written, and nothing more of the cancelled request is stored",
  async () => {
    const { log, rows } = createStuck();
    const { endpoint, started } = createWaiting({ resumable: log });
    const stuck = gate();
    endpoint.server.tool("talk", {}, async (_args, ctx) => {
      log.until = stuck.opened;
      for (let value = 1; value <= 3; value++) void ctx.progress(value);
      started.push(ctx.signal);
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
    });
    const client = await endpoint.open("2025-03-26");
    const requestOf = (id: number, name: string) => ({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name, _meta: { progressToken: id } },
    });
    const both = client.post([requestOf(1, "talk"), requestOf(2, "quick")]);
    await until(() => started.length === 1);
    await settle();
    await status(client.cancel(1), 202);
    stuck.open();
    await both.done;
    assert.deepEqual(
      messages(both).flatMap(({ id }) => (id === undefined ? [] : [id])),
      [2],
    );
    assert.equal(
      rows.filter((row) => row.includes("progress")).length,
      1,
      "the message that the log had begun to store",
    );
  },
);

proves("hosting:http:cancel-releases-stream", http, "a hundred times in one session", async () => {
  const { endpoint, release, started } = createWaiting();
  const client = await endpoint.open();
  const baseline = endpoint.stats;
  const calls = Array.from({ length: 100 }, (_, id) => client.call(id, "deaf"));
  await until(() => started.length === 100);
  assert.deepEqual(endpoint.stats, { sessions: 1, streams: 100, running: 100 });
  for (let id = 0; id < 100; id++) client.cancel(id);
  await Promise.all(calls.map((call) => call.done));
  assert.deepEqual(endpoint.stats, { ...baseline, running: 100 });
  release.open();
  await until(() => endpoint.stats.running === 0);
  assert.equal(textOf(await answer(client.call("next", "quick"))), "done");
});

proves("hosting:http:cancel-completion-race", http, "one whole response or none", async () => {
  const endpoint = new LegacyEndpoint();
  endpoint.server.tool("turns", { input: { type: "object" } }, async ({ count }: Record<string, unknown>) => {
    for (let turn = 0; turn < (count as number); turn++) await null;
    return "done";
  });
  const client = await endpoint.open();
  let answered = 0;
  for (let id = 0; id < 1000; id++) {
    const call = client.call(id, "turns", { count: id % 7 });
    for (let turn = 0; turn < id % 23; turn++) await null;
    client.cancel(id);
    await call.done;
    const got = messages(call);
    assert.ok(got.length <= 1);
    if (got.length === 1) assert.equal(textOf(got[0]), "done");
    answered += got.length;
  }
  assert.ok(answered > 0 && answered < 1000, `both outcomes occur: ${answered} answered`);
  assert.deepEqual(endpoint.stats, { sessions: 1, streams: 0, running: 0 });
});

proves("hosting:http:id-types-distinct", http, "1 and its spelling as a string", async () => {
  const { endpoint, started, release } = createWaiting();
  const client = await endpoint.open();
  const number = client.call(1, "deaf");
  const string = client.call("1", "deaf");
  await until(() => started.length === 2);
  client.cancel("1");
  await string.done;
  assert.deepEqual(messages(string), []);
  assert.equal(await isDone(number), false);
  release.open();
  await number.done;
  assert.strictEqual(messages(number).at(-1)?.id, 1);
  const again = client.call("1", "quick");
  assert.strictEqual((await answer(again)).id, "1");
});

proves("hosting:session:cancel-scoped", http, "the other session's call of that id runs on", async () => {
  const { endpoint, started, release } = createWaiting();
  const [a, b] = [await endpoint.open(), await endpoint.open()];
  const calls = [a.call(3, "deaf"), b.call(3, "deaf")] as const;
  await until(() => started.length === 2);
  b.cancel(3);
  await calls[1].done;
  assert.deepEqual(messages(calls[1]), []);
  assert.deepEqual(
    started.map((signal) => signal.aborted),
    [false, true],
  );
  release.open();
  await calls[0].done;
  assert.equal(textOf(messages(calls[0]).at(-1)), "late");
});

proves("hosting:http:disconnect-not-cancel", http, "without a log the loss is reported", async () => {
  const { endpoint, started, release } = createWaiting();
  const client = await endpoint.open();
  const call = client.call(7, "deaf");
  await until(() => started.length === 1);
  call.disconnect();
  assert.equal(started[0]?.aborted, false);
  release.open();
  await until(() => endpoint.reports.length === 1);
  assert.equal(started[0]?.aborted, false);
  const lost = endpoint.reports[0]?.error;
  assert.ok(lost instanceof ConnectionError);
  assert.equal(lost.delivery, "answer_lost");
  assert.deepEqual(endpoint.stats, { sessions: 1, streams: 0, running: 0 });
});

proves("hosting:http:disconnect-not-cancel", http, "with a log the answer can be fetched", async () => {
  const { endpoint, started, release } = createWaiting({ resumable: true });
  const client = await endpoint.open();
  const call = client.call(7, "deaf");
  await until(() => started.length === 1);
  call.disconnect();
  release.open();
  await until(() => endpoint.stats.running === 0);
  assert.equal(started[0]?.aborted, false);
  const resumed = client.get(blocks(call)[0]?.id);
  await resumed.done;
  assert.equal(textOf(messages(resumed).at(-1)), "late");
  assert.deepEqual(endpoint.reports, []);
});

proves("hosting:http:duplicate-inflight-id", http, "the first is not disturbed", async () => {
  const { endpoint, started, release } = createWaiting();
  const client = await endpoint.open();
  const first = client.call(5, "deaf");
  await until(() => started.length === 1);
  const second = await status(client.call(5, "quick"), 400);
  assert.equal(messages(second)[0]?.error?.code, -32600);
  release.open();
  await first.done;
  assert.equal(textOf(messages(first).at(-1)), "late");
  assert.equal(textOf(await answer(client.call(5, "quick"))), "done");
});

for (const preferJson of [false, true]) {
  proves(
    "protocol:cancel:uncooperative-handler",
    http,
    `its id may be used again meanwhile, json ${preferJson}`,
    async () => {
      const { endpoint, started, finished, release } = createWaiting({
        responseMode: preferJson ? "prefer-json" : "auto",
      });
      const client = await endpoint.open();
      const first = client.call(7, "deaf");
      await until(() => started.length === 1);
      client.cancel(7);
      await first.done;
      const second = client.call(7, "wait");
      await until(() => started.length === 2);
      release.open();
      await until(() => finished.length === 1);
      await settle();
      assert.equal(await isDone(second), false);
      assert.equal(endpoint.stats.running, 1);
      client.cancel(7);
      await status(second, preferJson ? 204 : 200);
      assert.deepEqual(endpoint.reports, []);
    },
  );
}
