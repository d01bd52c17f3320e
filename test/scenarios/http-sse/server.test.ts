import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import type { TestContext } from "node:test";
import { serveHttp, toNodeListener } from "bowline/node";
import { type HttpExchange, McpServer, type ServerOptions } from "bowline/server";
import { FakeClock } from "../../support/fake-clock.js";
import { aborted, gate } from "../../support/gate.js";
import { until } from "../../support/legacy-endpoint.js";
import { listenOn } from "../../support/plain-http.js";
import { SseStream } from "../../support/sse-stream.js";
import { proves } from "../../support/verifies.js";

const sse = { wire: "sse" };
const me = { name: "sse", version: "1.0.0" };

async function serve(t: TestContext, http: ServerOptions["http"] = {}, options: ServerOptions = {}) {
  const started = gate();
  const ended: unknown[] = [];
  const server = new McpServer(me, { ...options, http: { sse: true, ...http } })
    .tool("echo", { input: { type: "object" } }, (args: Record<string, unknown>) => String(args.text))
    .tool("who", {}, (_, ctx) => JSON.stringify(ctx.auth ?? null))
    .tool("wait", {}, async (_, ctx) => {
      started.open();
      await aborted(ctx.signal);
      ended.push(ctx.signal.reason);
    });
  const running = await serveHttp(server);
  t.after(() => running.close());
  return {
    server,
    started,
    ended,
    running,
    url: new URL("/sse", running.url),
    post: new URL("/messages", running.url),
  };
}

const call = (id: number, name: string, args: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args },
});

proves(
  ["transport:sse:endpoint-event", "transport:sse:server-transport"],
  sse,
  "the first event says where to post, wherever the server is mounted",
  async (t) => {
    const { url } = await serve(t);
    const [one, two] = [await SseStream.open(t, url), await SseStream.open(t, url)];
    equal(one.response.headers.get("content-type"), "text/event-stream");
    match(one.endpoint, /^\/messages\?sessionId=[0-9a-f-]{36}$/);
    notEqual(one.endpoint, two.endpoint);
    const server = new McpServer(me, { http: { sse: { path: "/events", messagesPath: "/post?key=1#there" } } });
    t.after(() => server.close());
    const port = await listenOn(t, (request, response) => {
      // As a framework does that mounts: the rest of the path here, the whole one there.
      Object.assign(request, { originalUrl: request.url, url: request.url?.replace("/api/v1", "") });
      toNodeListener(server)(request, response);
    });
    const mounted = await SseStream.open(t, `http://127.0.0.1:${port}/api/v1/events?x=2#y`);
    match(mounted.endpoint, /^\/api\/v1\/post\?key=1&sessionId=[0-9a-f-]{36}$/);
    equal((await mounted.post({ jsonrpc: "2.0", id: 1, method: "ping" })).status, 202);
    deepEqual(await mounted.message(), { jsonrpc: "2.0", id: 1, result: {} });
  },
);

proves("transport:sse:message-event", sse, "each message is one event with one line of data", async (t) => {
  const { url } = await serve(t);
  const stream = await SseStream.open(t, url);
  await stream.initialize();
  const text = "one\ntwo\r\nthree\u2028four";
  for (const id of [1, 2]) {
    await stream.post(call(id, "echo", { text }));
    const block = await stream.next();
    deepEqual(
      block?.raw.split("\n").map((line) => line.split(": ", 1)[0]),
      ["event", "data"],
    );
    equal(block?.event, "message");
    deepEqual(JSON.parse(block?.data ?? "").result.content, [{ type: "text", text }]);
  }
});

proves("transport:sse:post:session-routing", sse, "by the id in the address", async (t) => {
  const { url, post } = await serve(t);
  const [one, two] = [await SseStream.open(t, url), await SseStream.open(t, url)];
  await Promise.all([one.initialize(), two.initialize()]);
  for (const [query, status] of [
    ["", 400],
    ["?sessionId=", 400],
    ["?sessionId=nonsense", 400],
    ["?sessionId=00000000-0000-4000-8000-000000000000", 404],
  ] as const) {
    equal((await one.post(call(9, "echo"), {}, new URL(query, post))).status, status, query);
  }
  await one.post(call(1, "echo", { text: "for one" }));
  await two.post(call(1, "echo", { text: "for two" }));
  equal((await one.message()).result.content[0].text, "for one");
  equal((await two.message()).result.content[0].text, "for two");
});

proves("transport:sse:post-202", sse, "taken, or refused by what it is", async (t) => {
  const { url } = await serve(t);
  const stream = await SseStream.open(t, url);
  for (const [body, headers, status, code] of [
    ["{", {}, 400, -32700],
    ['{"jsonrpc":"2.0","id":7,"method":5}', {}, 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping"}', { "content-type": "text/plain" }, 415, -32000],
  ] as const) {
    const refused = await stream.post(body, headers);
    const { error } = (await refused.json()) as { error: { code: number } };
    deepEqual([refused.status, error.code], [status, code]);
  }
  const taken = await stream.post({ jsonrpc: "2.0", id: 1, method: "ping" });
  deepEqual([taken.status, await taken.text()], [202, ""]);
  deepEqual(await stream.message(), { jsonrpc: "2.0", id: 1, result: {} });
});

proves("transport:sse:security", sse, "foreign origins reach neither of the two", async (t) => {
  const { url, post, server } = await serve(t);
  const origin = "https://evil.example";
  equal((await fetch(url, { headers: { origin } })).status, 403);
  equal((await fetch(post, { method: "POST", headers: { origin }, body: "{}" })).status, 403);
  equal(server.stats().sessions, 0);
  const stream = await SseStream.open(t, url);
  equal((await stream.post({ jsonrpc: "2.0", id: 1, method: "ping" }, { origin })).status, 403);
  equal(server.stats().sessions, 1);
});

async function gatekeeper(exchange: HttpExchange) {
  const token = exchange.header("authorization");
  return token === undefined ? { status: 401 } : token === "none" ? {} : { auth: { token }, principal: token };
}

proves(
  ["transport:sse:principal-bound", "hosting:http:auth-required-hook"],
  sse,
  "a session is its opener's alone, and handlers learn whose",
  async (t) => {
    const { url, post, server } = await serve(t, { gate: gatekeeper });
    equal((await fetch(url)).status, 401);
    equal((await fetch(post, { method: "POST" })).status, 401);
    equal(server.stats().sessions, 0);
    const anna = await SseStream.open(t, url, { authorization: "anna" });
    await anna.initialize();
    equal((await anna.post(call(1, "who"), { authorization: "bert" })).status, 404);
    equal((await anna.post(call(1, "who"), { authorization: "none" })).status, 404);
    equal(
      (await anna.request(2, "tools/call", { name: "who", arguments: {} })).result.content[0].text,
      '{"token":"anna"}',
    );
    const open = await serve(t);
    const stream = await SseStream.open(t, open.url, { authorization: "anna" });
    await stream.initialize();
    equal((await stream.request(1, "tools/call", { name: "who", arguments: {} })).result.content[0].text, "null");
  },
);

proves(
  "transport:sse:disconnect-cleanup",
  sse,
  "with the stream goes the session and all that runs in it",
  async (t) => {
    const { url, server, started, ended } = await serve(t);
    const stream = await SseStream.open(t, url);
    await stream.initialize();
    await stream.post(call(1, "wait"));
    await started.opened;
    equal(server.stats().sessions, 1);
    await stream.close();
    await until(() => ended.length === 1, "the handler is told");
    deepEqual([server.stats().sessions, server.stats().connections, server.stats().running], [0, 0, 0]);
    equal((await stream.post({ jsonrpc: "2.0", id: 2, method: "ping" })).status, 404);
  },
);

proves("transport:sse:post-method-405", sse, "each of the two has one method", async (t) => {
  const { url, post } = await serve(t);
  for (const [at, method, allow] of [
    [url, "POST", "GET"],
    [url, "DELETE", "GET"],
    [post, "GET", "POST"],
    [post, "PUT", "POST"],
  ] as const) {
    const refused = await fetch(at, { method });
    deepEqual([refused.status, refused.headers.get("allow")], [405, allow]);
  }
});

proves("hosting:http:body-limit", sse, "too much is refused", async (t) => {
  const { url } = await serve(t, {}, { limits: { maxBodyBytes: 200 } });
  const stream = await SseStream.open(t, url);
  equal((await stream.post(" ".repeat(201))).status, 413);
  equal((await stream.post(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}`.padEnd(200))).status, 202);
});

proves("hosting:http:body-limit", sse, "a batch above its limit is refused", async (t) => {
  const { url } = await serve(t, {}, { limits: { maxBatchItems: 2 } });
  const stream = await SseStream.open(t, url);
  await stream.initialize();
  const ping = (id: number) => ({ jsonrpc: "2.0", id, method: "ping" });
  const refused = await stream.post([1, 2, 3].map(ping));
  equal(refused.status, 400);
  match(await refused.text(), /limits\.maxBatchItems/);
});

proves(
  ["hosting:http:sse-headers-flushed", "hosting:http:sse-cache-headers", "hosting:http:keepalive-comments"],
  sse,
  "headers at once, and a comment when it is quiet",
  async (t) => {
    const clock = new FakeClock();
    const { url } = await serve(t, { keepAliveMs: 1000 }, { clock });
    const stream = await SseStream.open(t, url);
    equal(stream.response.status, 200);
    equal(stream.response.headers.get("cache-control"), "no-cache, no-transform");
    for (let n = 0; n < 3; n++) {
      clock.advance(1000);
      equal((await stream.next())?.raw, ":");
    }
    await stream.close();
    for (const keepAliveMs of [0, 2 ** 31]) {
      const quiet = new FakeClock();
      const { url } = await serve(
        t,
        { keepAliveMs },
        {
          clock: quiet,
          limits: { sessionIdleMs: Number.POSITIVE_INFINITY, sessionSetupMs: Number.POSITIVE_INFINITY },
        },
      );
      await SseStream.open(t, url);
      equal(quiet.pending, 0);
    }
  },
);

proves("hosting:http:events-flushed", sse, "an event is read while its handler waits", async (t) => {
  const read = gate();
  const server = new McpServer(me, { http: { sse: true } }).tool("tell", {}, async (_, ctx) => {
    ctx.progress(1);
    await read.opened;
    return "told";
  });
  const running = await serveHttp(server);
  t.after(() => running.close());
  const stream = await SseStream.open(t, new URL("/sse", running.url));
  await stream.initialize();
  await stream.post({ ...call(1, "tell"), params: { name: "tell", _meta: { progressToken: "p" } } });
  equal((await stream.message()).method, "notifications/progress");
  read.open();
  equal((await stream.message()).result.content[0].text, "told");
});

proves(
  ["hosting:node:backpressure", "hosting:node:backpressure-close"],
  sse,
  "a sender waits for its reader, and is let go when the reader leaves",
  async (t) => {
    const TOTAL = 400;
    let sent = 0;
    let stalledAt = gate<number>();
    const finished: string[] = [];
    const data = "y".repeat(100_000);
    const server = new McpServer(me, { http: { sse: true } }).tool("flood", {}, async (_, ctx) => {
      for (let n = 1; n <= TOTAL && !ctx.signal.aborted; n++) {
        const waiting = ctx.notify("notifications/message", { level: "info", data: { n, data } });
        sent = n;
        if (waiting instanceof Promise) {
          stalledAt.open(n);
          await waiting;
        }
      }
      finished.push(!ctx.signal.aborted ? "all" : "left");
      return "flooded";
    });
    const running = await serveHttp(server);
    t.after(() => running.close());
    const stream = await SseStream.open(t, new URL("/sse", running.url));
    await stream.initialize();
    const flood = (id: number) => ({ ...call(id, "flood"), params: { name: "flood", _meta: { progressToken: id } } });
    await stream.post(flood(1));
    ok((await stalledAt.opened) < TOTAL / 2, "the sender ran ahead of its reader");
    let last = 0;
    for (let message = await stream.message(); message.id !== 1; message = await stream.message()) {
      equal(message.params.data.n, last + 1);
      last = message.params.data.n;
    }
    deepEqual([last, finished], [TOTAL, ["all"]]);
    stalledAt = gate<number>();
    await stream.post(flood(2));
    await stalledAt.opened;
    await stream.close();
    await until(() => finished.length === 2, "the waiting sender is let go");
    equal(finished[1], "left");
    ok(sent < TOTAL);
  },
);

proves(
  "transport:sse:server-transport",
  {},
  "it is served with this package alone, and marked as deprecated",
  async () => {
    const { readFile } = await import("node:fs/promises");
    const declared = await readFile(new URL("../../../../dist/server/options.d.ts", import.meta.url), "utf8");
    match(declared, /@deprecated[^*]*\*\/\s*readonly sse\?/s);
  },
);

proves("lifecycle:initialize:repeated-rejected", { wire: "legacy-sse" }, "the first handshake stands", async (t) => {
  const server = new McpServer(me, { http: { sse: true } }).tool("who", {}, (_, ctx) => JSON.stringify(ctx.client));
  const running = await serveHttp(server);
  t.after(() => running.close());
  const stream = await SseStream.open(t, new URL("/sse", running.url));
  await stream.initialize({ roots: {} });
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: { sampling: {} },
    clientInfo: { name: "other", version: "9" },
  };
  equal((await stream.request(2, "initialize", params)).error?.code, -32600);
  const { result } = await stream.request(3, "tools/call", { name: "who" });
  deepEqual(JSON.parse(result.content[0].text), {
    version: "2024-11-05",
    capabilities: { roots: {} },
    info: { name: "raw", version: "1" },
  });
});
