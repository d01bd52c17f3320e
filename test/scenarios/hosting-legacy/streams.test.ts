import assert from "node:assert/strict";
import { McpServer } from "bowline/server";
import { CallLifetime } from "#src/call/lifetime.js";
import type { ServerWire } from "#src/era/server-era.js";
import { callViews } from "#src/server/call-info.js";
import type { Context } from "#src/server/context.js";
import type { ArrayExchange } from "#src/testing/array-exchange.js";
import { legacyHttp } from "../../support/each-wire.js";
import { FakeClock } from "../../support/fake-clock.js";
import { gate } from "../../support/gate.js";
import {
  answer,
  blocks,
  isDone,
  LegacyEndpoint,
  type Message,
  messages,
  settle,
  status,
  textOf,
  until,
} from "../../support/legacy-endpoint.js";
import { proves, verifies } from "../../support/verifies.js";

const http = { wire: "legacy-http" };
const question = { messages: [], maxTokens: 1 };
const sampled = { role: "assistant", content: { type: "text", text: "hi" }, model: "m" };

function createServer(...args: ConstructorParameters<typeof LegacyEndpoint>) {
  const endpoint = new LegacyEndpoint(...args);
  const contexts: Context[] = [];
  const wires: ServerWire[] = [];
  const release = gate();
  endpoint.server.use((call, next) => {
    wires.push(callViews.callOf(call).wire);
    return next(call);
  });
  endpoint.server
    .tool("quick", {}, () => "done")
    .tool("hold", {}, async (_args, ctx) => {
      contexts.push(ctx);
      await release.opened;
      return "held";
    })
    .tool("ask", {}, async (_args, ctx) => {
      contexts.push(ctx);
      await ctx.progress(1);
      const reply = await ctx.sample(question as never).catch((error: { code?: string }) => error);
      return "content" in reply
        ? (reply.content as { text: string }).text
        : `refused: ${(reply as { code?: string }).code}`;
    });
  return { endpoint, contexts, release, wires };
}

const methodsOf = (exchange: ArrayExchange) => messages(exchange).map(({ method }) => method ?? "response");
const requestOf = (exchange: ArrayExchange): Message | undefined =>
  messages(exchange).find(({ method, id }) => method !== undefined && id !== undefined);
const ping = (wire: ServerWire | undefined) =>
  wire?.request(undefined, "ping", undefined, new CallLifetime("ping", {}));

proves(
  [
    "transport:streamable-http:server-to-client",
    "transport:streamable-http:notifications",
    "transport:streamable-http:stateful",
    "hosting:http:notifications-202",
  ],
  http,
  "on the stream of the call that asks",
  async () => {
    const { endpoint } = createServer();
    const client = await endpoint.open("2025-11-25", { sampling: {} });
    const listener = client.get();
    const call = client.call("c", "ask");
    await until(() => requestOf(call) !== undefined);
    assert.equal(requestOf(call)?.method, "sampling/createMessage");
    const reply = client.post({ jsonrpc: "2.0", id: requestOf(call)?.id, result: sampled });
    assert.equal((await status(reply, 202)).body(), "");
    await call.done;
    assert.deepEqual(methodsOf(call), ["notifications/progress", "sampling/createMessage", "response"]);
    assert.equal(textOf(messages(call).at(-1)), "hi");
    assert.equal(listener.body(), "");
  },
);

proves("transport:streamable-http:server-to-client", http, "two sessions with equal ids do not mix", async () => {
  const { endpoint } = createServer();
  const clients = [
    await endpoint.open("2025-11-25", { sampling: {} }),
    await endpoint.open("2025-11-25", { sampling: {} }),
  ];
  const calls = clients.map((client) => client.call(1, "ask"));
  await until(() => calls.every((call) => requestOf(call) !== undefined));
  clients[0]?.post({ jsonrpc: "2.0", id: requestOf(calls[0] as ArrayExchange)?.id, result: sampled });
  await calls[0]?.done;
  assert.equal(await isDone(calls[1] as ArrayExchange), false);
  await status(clients[1]?.delete() as ArrayExchange, 200);
  await calls[1]?.done;
});

proves(
  "transport:streamable-http:json-response-restrictions",
  http,
  "no progress, no questions, but a GET",
  async () => {
    const { endpoint } = createServer({ responseMode: "prefer-json" });
    const client = await endpoint.open("2025-11-25", { sampling: {} });
    const listener = client.get();
    await until(() => listener.status === 200);
    assert.equal(textOf(await answer(client.call(1, "ask"))), "refused: no_stream");
    endpoint.server.changes.toolsChanged();
    assert.deepEqual(methodsOf(listener), ["notifications/tools/list_changed"]);
  },
);

proves(
  ["hosting:http:json-response-mode", "hosting:http:request-content-type"],
  http,
  "one object, labelled",
  async () => {
    for (const preferJson of [true, false]) {
      const { endpoint } = createServer({ responseMode: preferJson ? "prefer-json" : "auto" });
      endpoint.server.method("x/crash", {}, () => {
        throw new Error("crash");
      });
      const client = await endpoint.open();
      const exchanges = [
        client.call(1, "quick"),
        client.call(2, "none"),
        client.request(3, "x/crash"),
        client.request(4, "x/none"),
      ];
      for (const exchange of exchanges) {
        await status(exchange, 200);
        assert.equal(exchange.headers["content-type"], preferJson ? "application/json" : "text/event-stream");
        assert.equal(messages(exchange).length, 1);
      }
    }
  },
);

proves(
  "transport:streamable-http:notifications",
  http,
  "progress and logs, in order, on their call alone",
  async () => {
    const { endpoint, contexts, release } = createServer();
    const client = await endpoint.open();
    const listener = client.get();
    const call = client.call(1, "hold");
    await until(() => contexts.length === 1 && listener.status === 200);
    await contexts[0]?.progress(1);
    await contexts[0]?.log("info", "said");
    await contexts[0]?.progress(2);
    release.open();
    await call.done;
    const [progress, log] = ["notifications/progress", "notifications/message"];
    assert.deepEqual(methodsOf(call), [progress, log, progress, "response"]);
    assert.equal(listener.body(), "");
  },
);

proves(
  [
    "transport:streamable-http:unrelated-messages",
    "hosting:http:no-broadcast",
    "hosting:http:response-same-connection",
    "hosting:http:standalone-sse-no-response",
  ],
  http,
  "each message on one stream",
  async () => {
    const { endpoint, contexts, release } = createServer();
    const client = await endpoint.open();
    const listener = client.get();
    const calls = [client.call(1, "hold"), client.call(2, "hold"), client.call(3, "hold")] as const;
    await until(() => contexts.length === 3);
    endpoint.server.changes.toolsChanged();
    for (const ctx of contexts) await ctx.progress(1);
    calls[2].disconnect();
    release.open();
    await Promise.all(calls.map((call) => call.done));
    await until(() => endpoint.stats.running === 0);
    assert.deepEqual(methodsOf(listener), ["notifications/tools/list_changed"]);
    for (const id of [1, 2] as const) {
      const got = messages(calls[id - 1] as ArrayExchange);
      assert.deepEqual(
        got.map((message) => message.id ?? message.params?.progressToken),
        [id, id],
      );
    }
  },
);

proves("hosting:http:standalone-sse", http, "stays open, and opens again", async () => {
  const { endpoint } = createServer();
  const client = await endpoint.open();
  const listener = client.get();
  await until(() => listener.status === 200);
  for (let count = 1; count <= 3; count++) {
    endpoint.server.changes.toolsChanged();
    assert.equal(messages(listener).length, count);
  }
  assert.equal(await isDone(listener), false);
  listener.disconnect();
  assert.equal(textOf(await answer(client.call(1, "quick"))), "done");
  const again = client.get();
  await until(() => again.status === 200);
  endpoint.server.changes.toolsChanged();
  assert.deepEqual(methodsOf(again), ["notifications/tools/list_changed"]);
});

proves("hosting:http:second-sse-rejected", http, "while the first is there", async () => {
  for (const resumable of [false, true]) {
    const { endpoint } = createServer({ resumable });
    const client = await endpoint.open();
    const [first, second] = [client.get(), client.get()];
    await status(second, 409);
    await until(() => first.status === 200);
    await settle();
    for (const response of [{ result: {} }, { error: { code: -32601, message: "no" } }, {}]) {
      const asked = messages(first).length;
      const other = client.get();
      await until(() => messages(first).length > asked);
      const ping = messages(first).at(-1);
      assert.equal(ping?.method, "ping");
      assert.equal(other.status, undefined);
      client.post({ jsonrpc: "2.0", id: ping?.id, ...response });
      await status(other, 409);
    }
    endpoint.server.changes.toolsChanged();
    await until(() => methodsOf(first).at(-1) === "notifications/tools/list_changed");
    first.disconnect();
    const third = client.get();
    await until(() => third.status === 200);
    for (const { error } of endpoint.reports) assert.match(String(error), /refused with (400|404|409)/);
  }
});

for (const resumable of [false, true])
  proves(
    "hosting:http:second-sse-rejected",
    http,
    `a first stream that is dead without a word gives way, with a log: ${resumable}`,
    async () => {
      const clock = new FakeClock();
      const { endpoint } = createServer({ resumable }, { clock });
      const client = await endpoint.open();
      const dead = client.get();
      await until(() => dead.status === 200);
      endpoint.server.changes.toolsChanged();
      await until(() => methodsOf(dead).length === 1);
      const second = client.get();
      await until(() => methodsOf(dead).at(-1) === "ping");
      await status(client.get(), 409);
      clock.advance(4_999);
      await settle();
      assert.equal(second.status, undefined);
      clock.advance(1);
      await dead.done;
      // Nobody knows which messages the dead connection took.
      await until(() => methodsOf(second).includes("notifications/tools/list_changed"));
      endpoint.server.changes.toolsChanged();
      await until(() => methodsOf(second).length === 2);
      assert.ok(!second.body().includes("ping"));
      for (const { error } of endpoint.reports) assert.match(String(error), /refused with (400|404|409)/);
    },
  );

proves(
  "hosting:http:second-sse-rejected",
  http,
  "a GET that waits is answered when the first stream ends",
  async () => {
    for (const end of ["gone", "resumed", "session"] as const) {
      const { endpoint } = createServer({ resumable: true });
      const client = await endpoint.open();
      const first = client.get();
      await until(() => blocks(first).length === 1);
      const second = client.get();
      await until(() => methodsOf(first).at(-1) === "ping");
      if (end === "gone") first.disconnect();
      if (end === "session") await status(client.delete(), 200);
      const resumed = end === "resumed" ? client.get(blocks(first)[0]?.id) : undefined;
      if (resumed !== undefined) {
        await until(() => methodsOf(resumed).at(-1) === "ping", "the newer stream is asked as well");
        client.post({ jsonrpc: "2.0", id: messages(resumed).at(-1)?.id, result: {} });
      }
      const expected = { gone: 200, resumed: 409, session: 404 }[end];
      await until(() => second.status !== undefined);
      assert.equal(second.status, expected);
      for (const { error } of endpoint.reports) assert.match(String(error), /refused with (400|404|409)/);
    }
  },
);

proves("hosting:http:send-no-listener-noop", http, "it is dropped, or kept for the first to listen", async () => {
  for (const resumable of [false, true]) {
    const { endpoint } = createServer({ resumable });
    const client = await endpoint.open();
    endpoint.server.changes.toolsChanged();
    const listener = client.get();
    await until(() => listener.status === 200);
    await settle();
    assert.deepEqual(methodsOf(listener), resumable ? ["notifications/tools/list_changed"] : []);
    assert.deepEqual(endpoint.reports, []);
  }
});

proves("transport:streamable-http:no-back-channel-fails-fast", http, "a ping without a stream", async () => {
  const { endpoint, wires } = createServer();
  const client = await endpoint.open();
  await assert.rejects(ping(wires.at(-1)) ?? Promise.resolve(), { code: "no_stream" });
  const { endpoint: logged, wires: loggedWires } = createServer({ resumable: true });
  const other = await logged.open();
  const pending = ping(loggedWires.at(-1));
  const listener = other.get();
  await until(() => requestOf(listener)?.method === "ping");
  other.post({ jsonrpc: "2.0", id: requestOf(listener)?.id, result: {} });
  assert.deepEqual((await pending) as unknown, { jsonrpc: "2.0", id: requestOf(listener)?.id, result: {} });
  await status(client.delete(), 200);
});

proves(
  "hosting:http:standalone-sse-no-feature-requests",
  http,
  "refused outside of their call; ping is not",
  async () => {
    const { endpoint, wires, contexts, release } = createServer();
    const client = await endpoint.open("2025-11-25", { sampling: {}, elicitation: {}, roots: {} });
    const listener = client.get();
    await until(() => listener.status === 200);
    const wire = wires.at(-1) as ServerWire;
    for (const method of ["sampling/createMessage", "elicitation/create", "roots/list"]) {
      await assert.rejects(wire.request(undefined, method, {}, new CallLifetime(method, {})), { code: "no_call" });
    }
    const call = client.call(1, "hold");
    await until(() => contexts.length === 1);
    release.open();
    await call.done;
    await assert.rejects(contexts[0]?.sample(question as never) ?? Promise.resolve(), { code: "call_over" });
    assert.equal(listener.body(), "");
    const pending = ping(wire);
    assert.equal(requestOf(listener)?.method, "ping");
    client.post({ jsonrpc: "2.0", id: requestOf(listener)?.id, error: { code: -1, message: "no" } });
    assert.ok("error" in ((await pending) ?? {}));
  },
);

proves(
  ["hosting:http:sse-close-after-response", "hosting:http:sse-headers-flushed"],
  http,
  "and nothing follows",
  async () => {
    const { endpoint, contexts, release } = createServer();
    const client = await endpoint.open();
    const call = client.call(1, "hold");
    assert.equal(call.status, undefined);
    await until(() => contexts.length === 1);
    assert.equal(call.status, 200);
    release.open();
    await call.done;
    const body = call.body();
    await contexts[0]?.progress(2);
    assert.equal(call.body(), body);
    assert.deepEqual(endpoint.reports, []);
  },
);

proves("hosting:http:sse-eventual-response", http, "however the handler ends", async () => {
  const { endpoint } = createServer();
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  endpoint.server
    .method("x/null", {}, () => {
      throw null;
    })
    .method("x/late", {}, () => new Promise((_resolve, reject) => setImmediate(() => reject(new Error("late")))))
    .method("x/cycle", {}, () => cycle)
    .method("x/big", {}, () => ({ big: 1n }));
  const client = await endpoint.open();
  for (const method of ["x/null", "x/late", "x/cycle", "x/big"]) {
    const message = await answer(client.request(method, method));
    assert.equal(message.id, method);
    assert.equal(message.error?.code, -32603);
  }
});

proves(["hosting:http:x-accel-buffering", "hosting:http:sse-cache-headers"], http, "on POST and GET", async () => {
  const { endpoint } = createServer();
  const client = await endpoint.open();
  const [listener, call] = [client.get(), client.call(1, "quick")];
  await call.done;
  for (const { headers } of [listener, call]) {
    assert.equal(headers["x-accel-buffering"], "no");
    assert.match(headers["cache-control"] ?? "", /no-cache, no-transform/);
  }
});

proves(
  ["hosting:http:keepalive-comments", "hosting:http:long-call-survives"],
  http,
  "on quiet streams, not after",
  async () => {
    const clock = new FakeClock();
    const { endpoint, contexts, release } = createServer(
      { keepAliveMs: 1000 },
      { clock, limits: { sessionIdleMs: 5000 } },
    );
    const client = await endpoint.open();
    const [listener, call] = [client.get(), client.call(1, "hold")];
    await until(() => contexts.length === 1 && listener.status === 200);
    clock.advance(3000);
    for (const exchange of [listener, call]) {
      assert.deepEqual(blocks(exchange), [{ comment: "" }, { comment: "" }, { comment: "" }]);
    }
    clock.advance(7000);
    release.open();
    await call.done;
    const body = call.body();
    clock.advance(2000);
    assert.equal(call.body(), body);
    for (const keepAliveMs of [0, 2 ** 31]) {
      const still = new FakeClock();
      const other = createServer({ keepAliveMs }, { clock: still, limits: { sessionIdleMs: 2 ** 40 } });
      const quiet = (await other.endpoint.open()).get();
      await until(() => quiet.status === 200);
      still.advance(2 ** 32);
      assert.equal(quiet.body(), "");
    }
  },
);

proves(
  ["hosting:node:backpressure", "hosting:node:backpressure-close"],
  http,
  "a writer waits for its reader",
  async () => {
    const { endpoint, contexts, release } = createServer();
    const client = await endpoint.open();
    const call = client.call(1, "hold");
    await until(() => contexts.length === 1);
    const [ctx] = contexts;
    assert.equal(ctx?.progress(1), undefined);
    call.pause();
    let drained = false;
    const waiting = Promise.resolve(ctx?.progress(2)).then(() => {
      drained = true;
    });
    await settle();
    assert.equal(drained, false);
    call.resume();
    await waiting;
    call.pause();
    const left = Promise.resolve(ctx?.progress(3));
    call.disconnect();
    await left;
    release.open();
    await until(() => endpoint.stats.running === 0);
  },
);

proves(
  ["hosting:http:concurrent-requests", "hosting:http:slow-consumer-limit"],
  http,
  "a stalled reader stops nobody",
  async () => {
    const { endpoint } = createServer({}, { capabilities: { logging: true } });
    const [slow, healthy] = [await endpoint.open(), await endpoint.open()];
    const [stalled, reading] = [slow.get(), healthy.get()];
    await until(() => stalled.status === 200 && reading.status === 200);
    stalled.pause();
    const data = "x".repeat(1024 * 1024);
    const before = messages(reading).length;
    for (let count = 0; count < 20; count++) endpoint.server.log("info", data);
    await stalled.done;
    assert.ok(stalled.chunks.join("").length < 12 * 1024 * 1024);
    assert.equal(messages(reading).length - before, 20);
    const calls = Array.from({ length: 50 }, (_, id) => slow.call(id, "quick"));
    for (const call of calls) assert.equal(textOf(await answer(call)), "done");
  },
);

verifies("transport:streamable-http:stateful", legacyHttp, async ({ connect }) => {
  const counts = new Map<string | undefined, number>();
  const server = new McpServer({ name: "s", version: "1" })
    .tool("count", {}, (_, ctx) => {
      const count = (counts.get(ctx.sessionId) ?? 0) + 1;
      counts.set(ctx.sessionId, count);
      return `${ctx.client.version} ${count}`;
    })
    .tool("fail", {}, () => {
      throw new Error("no luck");
    });
  const [one, other] = [await connect(server), await connect(server)];
  for (const said of ["2025-11-25 1", "2025-11-25 2", "2025-11-25 3"]) {
    assert.equal((await one.callTool("count")).text, said);
  }
  assert.equal((await other.callTool("count")).text, "2025-11-25 1");
  assert.equal((await one.callTool("fail")).isError, true);
  await assert.rejects(one.request("made/up"), { rpcCode: -32601 });
  const [opening, ...rest] = one.wire.exchanges.filter(({ method }) => method === "POST");
  const id = opening?.headers?.["mcp-session-id"];
  assert.ok(id !== undefined && counts.get(id) === 3);
  for (const { header } of rest) assert.equal(header("mcp-session-id"), id);
  const asked = [opening, ...rest].filter((exchange) => exchange?.body?.includes('"id":'));
  assert.equal(asked.length, 6);
  for (const exchange of asked) assert.equal(exchange?.headers?.["content-type"], "text/event-stream");
});
