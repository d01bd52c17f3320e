import { deepEqual, equal, ok } from "node:assert/strict";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";
import { FakeClock } from "../../support/fake-clock.js";
import { aborted, gate } from "../../support/gate.js";
import { defineServer, eachHost, faultOf, listen, readMessages, resultOf } from "../../support/modern-hosts.js";
import { modernRequest, type RequestInit, sseMessages } from "../../support/modern-request.js";
import { proves, verifies } from "../../support/verifies.js";

const call = (name: string, init: RequestInit = {}) =>
  modernRequest("tools/call", { ...init, params: { name, arguments: {} } });
const watch = (notifications: object, id: string | number = 1) =>
  modernRequest("subscriptions/listen", { id, params: { notifications } });
const PROGRESS = { meta: { progressToken: "p" } };

verifies(
  ["hosting:http:modern:keepalive-commits-sse", "hosting:http:long-call-survives"],
  "a call that is silent for an hour shows that it lives",
  eachHost,
  async ({ serve }) => {
    const clock = new FakeClock();
    const started = gate();
    const finish = gate();
    const server = defineServer({ clock, http: { keepAliveMs: 15_000 } }).tool("slow", {}, async () => {
      started.open();
      await finish.opened;
      return "done";
    });
    const send = await serve(server);
    const pending = send(call("slow"));
    await started.opened;
    clock.advance(3_600_000);
    const response = await pending;
    equal(response.headers.get("content-type"), "text/event-stream");
    finish.open();
    const text = await response.text();
    equal(text.split(":\n\n").length - 1, 240);
    ok("result" in (sseMessages(text).at(-1) ?? {}));
  },
);

verifies(
  "hosting:http:keepalive-comments",
  "a quiet stream gets a comment per interval",
  eachHost,
  async ({ serve }) => {
    for (const [keepAliveMs, expected] of [
      [1000, 5],
      [0, 0],
      [2 ** 31, 0],
    ] as const) {
      const clock = new FakeClock();
      const server = defineServer({ clock, http: { keepAliveMs } }).tool("echo", {}, () => "hi");
      const send = await serve(server);
      const response = await send(watch({ toolsListChanged: true }));
      clock.advance(5000);
      await server.close();
      const text = await response.text();
      equal(text.split(":\n\n").length - 1, expected);
      // Timers that streams and bodies share lapse by themselves.
      clock.advance(30_000);
      equal(clock.pending, 0);
    }
  },
);

verifies(
  ["hosting:http:sse-cache-headers", "hosting:http:events-flushed"],
  "an event arrives before the handler goes on",
  eachHost,
  async ({ serve }) => {
    const finish = gate();
    const send = await serve(
      defineServer().tool("steps", {}, async (_, ctx) => {
        ctx.progress(1);
        await finish.opened;
        return "done";
      }),
    );
    const response = await send(call("steps", PROGRESS));
    equal(response.headers.get("cache-control"), "no-cache, no-transform");
    const stream = readMessages(response);
    equal((await stream.next())?.method, "notifications/progress");
    finish.open();
    ok("result" in ((await stream.next()) ?? {}));
    equal(await stream.next(), undefined);
  },
);

verifies(
  "hosting:http:slow-consumer-limit",
  "a reader that stalls is let go, others hear everything",
  eachHost,
  async ({ serve }) => {
    // Equal changes count once while they wait, so it takes many different ones.
    const uris = Array.from({ length: 30 }, (_, index) => `note://${index}${"x".repeat(100_000)}`);
    const clock = new FakeClock();
    const server = defineServer({ clock, limits: { maxWaitingChanges: 20, maxUriChars: 200_000 } });
    for (const uri of uris) server.resource(uri, { name: "note" }, () => "text");
    const send = await serve(server);
    const stalled = await send(watch({ resourceSubscriptions: uris }, "stalled"));
    const healthy = readMessages(await send(watch({ resourceSubscriptions: uris }, "healthy")));
    equal((await healthy.next())?.method, "notifications/subscriptions/acknowledged");
    equal(server.stats().openRequests, 2);
    let published = 0;
    while (server.stats().openRequests === 2) {
      server.changes.resourceUpdated(uris[published % uris.length] as string);
      published += 1;
      clock.advance(20);
      equal((await healthy.next())?.method, "notifications/resources/updated");
      ok(published < 1000, "the stalled stream is never let go");
    }
    ok(published >= 15, "what a reader may be behind is more than that");
    server.changes.resourceUpdated(uris[0] as string);
    equal((await healthy.next())?.method, "notifications/resources/updated");
    await healthy.leave();
    await stalled.body?.cancel().catch(() => {});
  },
);

verifies(
  ["hosting:node:backpressure", "hosting:http:concurrent-requests"],
  "a sender waits for its reader, and nobody else does",
  eachHost,
  async ({ serve }) => {
    const TOTAL = 300;
    let sent = 0;
    const stalled = gate();
    const server = defineServer()
      .tool("flood", {}, async (_, ctx) => {
        const data = "y".repeat(100_000);
        for (let n = 1; n <= TOTAL; n++) {
          const waiting = ctx.notify("notifications/message", { level: "info", data, n });
          sent = n;
          if (waiting === undefined) continue;
          // From here the handler waits: whoever reads lets it go on.
          stalled.open();
          await waiting;
        }
        return "done";
      })
      .tool("echo", {}, () => "hi");
    const send = await serve(server);
    const response = await send(call("flood"));
    await stalled.opened;
    for (let n = 0; n < 50; n++) equal((await send(call("echo"))).status, 200);
    ok(sent < TOTAL, `all ${sent} were sent to nobody`);
    const stream = readMessages(response);
    for (let n = 1; n <= TOTAL; n++) equal(((await stream.next())?.params as { n: number } | undefined)?.n, n);
    ok("result" in ((await stream.next()) ?? {}));
  },
);

verifies(
  "hosting:node:backpressure-close",
  "a write that waits is released when the client leaves",
  eachHost,
  async ({ serve }) => {
    const waits = gate();
    const released = gate();
    const send = await serve(
      defineServer().tool("flood", {}, async (_, ctx) => {
        const data = "y".repeat(1_000_000);
        for (;;) {
          const waiting = ctx.notify("notifications/message", { level: "info", data });
          if (ctx.signal.aborted) break;
          waits.open();
          await waiting;
        }
        released.open();
        return "done";
      }),
    );
    const abort = new AbortController();
    await send(call("flood"), abort.signal);
    await waits.opened;
    abort.abort();
    await released.opened;
  },
);

proves(
  "hosting:http:shutdown-listen-graceful",
  { wire: "modern-http" },
  "the client of this package reports no loss",
  async (t) => {
    const server = new McpServer({ name: "s", version: "1" }).tool("echo", {}, () => "hi");
    const problems: Error[] = [];
    const client = await connect(`http://127.0.0.1:${await listen(t, server)}/mcp`, {
      era: "modern",
      onError: (error) => problems.push(error),
    });
    t.after(() => client.close());
    const watches = [await client.watch({ toolsListChanged: true }), await client.watch({ toolsListChanged: true })];
    await server.close();
    for (const watch of watches) {
      for await (const change of watch) throw new Error(`unexpected ${change.kind}`);
      equal(watch.ended, "graceful");
    }
    deepEqual(problems, []);
  },
);

verifies(
  ["hosting:http:shutdown-listen-graceful", "hosting:http:shutdown-inflight-error"],
  "closing answers everybody",
  eachHost,
  async ({ serve }) => {
    const started = gate();
    const signals: AbortSignal[] = [];
    const server = defineServer()
      .tool("silent", {}, async (_, ctx) => {
        signals.push(ctx.signal);
        started.open();
        await aborted(ctx.signal);
        return "late";
      })
      .tool("streaming", {}, async (_, ctx) => {
        signals.push(ctx.signal);
        ctx.progress(1);
        await aborted(ctx.signal);
        return "late";
      });
    const send = await serve(server);
    const listening = await Promise.all(["a", "b"].map((id) => send(watch({ toolsListChanged: true }, id))));
    const streaming = await send(call("streaming", PROGRESS));
    const silent = send(call("silent", { id: "s" }));
    await started.opened;
    await server.close();
    deepEqual(await faultOf(await silent), [503, -32603, "s"]);
    deepEqual(
      sseMessages(await streaming.text()).map((message) => message.method),
      ["notifications/progress"],
    );
    for (const [n, response] of listening.entries()) {
      const last = sseMessages(await response.text()).at(-1);
      const result = last?.result as { _meta: Record<string, unknown> } | undefined;
      equal(last?.id, ["a", "b"][n]);
      equal(result?._meta["io.modelcontextprotocol/subscriptionId"], ["a", "b"][n]);
    }
    deepEqual(
      signals.map((signal) => signal.aborted),
      [true, true],
    );
    deepEqual(await faultOf(await send(call("silent", { id: "t" }))), [503, -32603, undefined]);
    equal(signals.length, 2);
  },
);

verifies("hosting:http:content-type-415", eachHost, async ({ serve }) => {
  const send = await serve(defineServer().tool("echo", {}, () => "hi"));
  for (const type of [
    undefined,
    "text/plain",
    "text/plain;a=application/json",
    "application/json, text/plain",
    "application/jsonl",
  ]) {
    const response = await send(call("echo", { headers: { "content-type": type } }));
    equal(response.status, 415, String(type));
    await response.text();
  }
  for (const type of ["application/json;charset=utf-8", "APPLICATION/JSON"]) {
    const response = await send(call("echo", { headers: { "content-type": type } }));
    equal(response.status, 200, type);
    await response.text();
  }
});

verifies(["hosting:http:accept-406", "hosting:http:accept-wildcards"], eachHost, async ({ serve }) => {
  const send = await serve(defineServer().tool("echo", {}, () => "hi"));
  for (const accept of [
    "*/*",
    "application/*, text/*",
    "TEXT/Event-Stream;q=0.5, Application/JSON;q=0.1",
    "application/json",
  ]) {
    const response = await send(call("echo", { headers: { accept } }));
    equal(response.headers.get("content-type"), "application/json", accept);
    await response.text();
  }
  const streamed = await send(call("echo", { headers: { accept: "text/event-stream" } }));
  equal(streamed.headers.get("content-type"), "text/event-stream");
  await streamed.text();
  deepEqual(await faultOf(await send(call("echo", { headers: { accept: "text/html" } }))), [406, -32600, 1]);
  const listening = watch({ toolsListChanged: true });
  const without = { ...listening, headers: { ...listening.headers, accept: "*/*, text/event-stream;q=0" } };
  deepEqual(await faultOf(await send(without)), [406, -32600, 1]);
});

verifies("hosting:http:modern:lists-connection-independent", eachHost, async ({ serve }) => {
  const server = defineServer()
    .tool("one", {}, () => "1")
    .tool("two", {}, () => "2");
  const send = await serve(server);
  const stream = readMessages(await send(watch({ toolsListChanged: true })));
  await stream.next();
  const first = await resultOf(await send(modernRequest("tools/list")));
  await (await send(call("one"))).text();
  deepEqual(
    await resultOf(
      await send(modernRequest("tools/list", { meta: { "io.modelcontextprotocol/clientInfo": undefined } })),
    ),
    first,
  );
  await stream.leave();
});

proves(
  "hosting:http:modern:stateless-across-instances",
  { wire: "modern-http" },
  "two servers take turns",
  async (t) => {
    const define = () => defineServer().tool("echo", {}, () => "hi");
    const ports = [await listen(t, define()), await listen(t, define())];
    const requests = [modernRequest("server/discover"), modernRequest("tools/list"), call("echo"), call("echo")];
    for (const [turn, { headers, body }] of requests.entries()) {
      const init = { method: "POST", headers: headers as Record<string, string>, body: JSON.stringify(body) };
      const response = await fetch(`http://127.0.0.1:${ports[turn % 2]}/mcp`, init);
      equal((await resultOf(response)).resultType, "complete");
    }
  },
);
