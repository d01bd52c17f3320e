import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Client, type ClientOptions, connect } from "bowline/client";
import { FakeClock } from "../../support/fake-clock.js";
import { DISCOVERED, HttpScript, type Received } from "../../support/http-script.js";
import { settled } from "../../support/http-transports.js";
import { proves } from "../../support/verifies.js";

const sse = { wire: "sse" };
const HELLO = { protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo: { name: "old", version: "1" } };

/** A server that speaks the old transport alone: POSTs to its stream's address are refused. */
async function oldServer(t: TestContext): Promise<HttpScript> {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  script.onRequest = (r) => {
    if (r.method === "POST" && r.path === "/mcp?key=1") r.status(405, "no");
  };
  return script;
}

const say = (stream: Received, message: unknown) => stream.raw(`event: message\ndata: ${JSON.stringify(message)}\n\n`);

/** Answers a posted request on the stream. */
function answer(stream: Received, posted: Received, result: object): void {
  posted.status(202);
  say(stream, { jsonrpc: "2.0", id: posted.message.id, result });
}

/** Connects through the whole dance; the stream and the client are the test's own. */
async function session(t: TestContext, options: ClientOptions = {}, endpoint = "/post?s=1") {
  const script = await oldServer(t);
  const connecting = connect(script.url, { era: "legacy", ...options });
  const stream = (await script.next("GET")).stream().raw(`event: endpoint\ndata: ${endpoint}\n\n`);
  const isPost = (method: string) => (r: Received) => r.rpcMethod === method && r.path.startsWith("/post");
  answer(stream, await script.next(isPost("initialize")), HELLO);
  (await script.next(isPost("notifications/initialized"))).status(202);
  const client: Client = await connecting;
  t.after(() => client.close());
  return { script, stream, client };
}

proves("client-transport:sse:waits-for-endpoint", sse, "nothing is posted before the stream says where", async (t) => {
  for (const [endpoint, path] of [
    ["/root?s=1", "/root?s=1"],
    ["relative?s=2", "/relative?s=2"],
    ["?s=3", "/mcp?s=3"],
    ["absolute", "/absolute?s=4"],
  ] as const) {
    const script = await oldServer(t);
    const connecting = connect(script.url, { era: "legacy" });
    const stream = (await script.next("GET")).stream().raw(": hold on\n\n");
    await settled();
    equal(script.received.length, 2);
    const data = endpoint === "absolute" ? new URL(path, script.url).href : endpoint;
    stream.raw(`event: endpoint\ndata: ${data}\n\n`);
    const posted = await script.next((r) => r.rpcMethod === "initialize" && r.path !== "/mcp?key=1");
    equal(posted.path, path);
    answer(stream, posted, HELLO);
    const ready = await script.next("notifications/initialized");
    equal(ready.path, path);
    ready.status(202);
    await (await connecting).close();
  }
});

proves("client-transport:sse:waits-for-endpoint", sse, "where a stream was moved to is where it is from", async (t) => {
  for (const fetch of [undefined, (url: URL, init: RequestInit) => globalThis.fetch(url, init)]) {
    const script = await oldServer(t);
    const connecting = connect(script.url, { era: "legacy", ...(fetch && { fetch }) });
    const moved = await script.next("GET");
    moved.response.writeHead(307, { location: "/v1/stream" }).end();
    const stream = (await script.next((r) => r.path === "/v1/stream")).stream().raw("event: endpoint\ndata: post\n\n");
    const posted = await script.next((r) => r.rpcMethod === "initialize" && r.path === "/v1/post");
    answer(stream, posted, HELLO);
    (await script.next("notifications/initialized")).status(202);
    await (await connecting).close();
  }
});

proves("client-transport:sse:waits-for-endpoint", sse, "no endpoint, no connection", async (t) => {
  for (const how of ["end", "cut", "silence"] as const) {
    const script = await oldServer(t);
    const clock = new FakeClock();
    const connecting = connect(script.url, { era: "legacy", clock });
    const failed = rejects(connecting, { name: "ConnectionError", status: how === "cut" ? undefined : 405 });
    const stream = (await script.next("GET")).stream();
    if (how === "silence") {
      stream.raw("event: message\ndata: {}\n\n");
      while (clock.pending < 2) await settled();
      clock.advance(5000);
      await stream.gone;
    } else stream[how]();
    await failed;
    equal(script.all("POST").length, 1);
  }
  ok(await session(t));
});

proves("client-transport:sse:endpoint-same-origin", sse, "messages go to no other origin", async (t) => {
  const other = await new HttpScript().start();
  t.after(() => other.stop());
  for (const endpoint of [
    new URL("/post", other.url).href,
    "https://127.0.0.1/post",
    "//evil.example/post",
    "http://",
  ]) {
    const script = await oldServer(t);
    const connecting = connect(script.url, { era: "legacy", headers: { authorization: "secret" } });
    const failed = rejects(connecting, { name: "ConnectionError" });
    const stream = (await script.next("GET")).stream().raw(`event: endpoint\ndata: ${endpoint}\n\n`);
    await failed;
    await stream.gone;
    equal(script.all("POST").length, 1);
  }
  equal(other.received.length, 0);
});

proves("client-transport:sse:stream-lost", sse, "with the stream goes the connection", async (t) => {
  for (const how of ["end", "cut"] as const) {
    const closes: unknown[] = [];
    const { script, stream, client } = await session(t, { onClose: (reason) => closes.push(reason) });
    const pending = [client.callTool("a"), client.callTool("b")];
    const failed = pending.map((call) => rejects(call, { name: "ConnectionError", delivery: "sent" }));
    for (const _ of pending) (await script.next((r) => r.rpcMethod === "tools/call")).status(202);
    stream[how]();
    await Promise.all(failed);
    equal(closes.length, 1);
    ok(closes[0] instanceof Error);
    await rejects(client.callTool("c"), { name: "ConnectionError", delivery: "not_sent" });
    equal(script.all("GET").length, 1);
  }
});

proves("client-transport:sse:post-failure", sse, "a refused POST fails its own call alone", async (t) => {
  const { script, stream, client } = await session(t);
  const other = client.callTool("other");
  const posted = await script.next("tools/call");
  for (const status of [400, 404, 500]) {
    const failed = rejects(client.callTool("refused"), { name: "ConnectionError", status });
    (await script.next("tools/call")).status(status, "no");
    await failed;
  }
  answer(stream, posted, { content: [{ type: "text", text: "fine" }] });
  equal((await other).text, "fine");
});

proves("client-transport:sse:legacy-only", sse, "there is nothing newer on this transport", async (t) => {
  const script = await oldServer(t);
  const connecting = connect(script.url);
  const stream = (await script.next("GET")).stream().raw("event: endpoint\ndata: /post\n\n");
  answer(stream, await script.next((r) => r.path === "/post"), HELLO);
  (await script.next("notifications/initialized")).status(202);
  const client = await connecting;
  const called = client.callTool("t");
  answer(stream, await script.next("tools/call"), { content: [] });
  await called;
  const posted = script.received.filter((r) => r.path === "/post");
  deepEqual(
    posted.map((r) => r.rpcMethod),
    ["initialize", "notifications/initialized", "tools/call"],
  );
  ok(!JSON.stringify(posted.map((r) => [r.message, r.headers])).includes("io.modelcontextprotocol"));
  ok(posted.every((r) => r.headers["mcp-method"] === undefined));
  equal(client.era, "legacy");
  await client.close();
});

proves(
  [
    "client-transport:http:sse-parser",
    "client-transport:http:sse-comment-ignored",
    "client-transport:http:sse-bad-event",
  ],
  sse,
  "odd but lawful streams are read, bad events are skipped and told",
  async (t) => {
    const problems: Error[] = [];
    const heard: string[] = [];
    const { script, stream, client } = await session(t, {
      onError: (problem) => problems.push(problem),
      onNotification: ({ method }) => void heard.push(method),
    });
    const note = (name: string) => `{"jsonrpc":"2.0","method":"notifications/${name}"}`;
    const text = [
      `:\r\n: keepalive\r\n\r\nevent: message\r\ndata: ${note("a")}\r\n\r\n`,
      `event:message\rdata:${note("b")}\r\r`,
      `unknown: field\nid: a\0b\nretry: soon\ndata: {"jsonrpc":"2.0",\ndata: "method":"notifications/c"}\n\n`,
      "event: message\ndata: garbage\n\n",
      "event: other\ndata: not for us\n\n",
      `event: message\ndata: ${note("d\u00e9\u{1f600}")}\n\n`,
    ].join("");
    for (const byte of new TextEncoder().encode(text)) stream.raw(new Uint8Array([byte]));
    const called = client.callTool("t");
    answer(stream, await script.next("tools/call"), { content: [] });
    await called;
    deepEqual(
      heard,
      ["a", "b", "c", "d\u00e9\u{1f600}"].map((name) => `notifications/${name}`),
    );
    equal(problems.length, 1);
    const lost = rejects(client.callTool("t"), { name: "ConnectionError", delivery: "sent" });
    const last = await script.next("tools/call");
    last.status(202);
    stream
      .raw(`event: message\ndata: {"jsonrpc":"2.0","id":${JSON.stringify(last.message.id)},"result":{"content":[]}}\n`)
      .end();
    await lost;
  },
);

proves("client-transport:http:custom-headers", sse, "they go along with everything", async (t) => {
  const { script, stream, client } = await session(t, { headers: { "X-Tenant": "7", authorization: "Bearer x" } });
  const called = client.callTool("t");
  answer(stream, await script.next("tools/call"), { content: [] });
  await called;
  ok(script.received.length >= 5);
  for (const r of script.received) {
    deepEqual([r.headers["x-tenant"], r.headers.authorization], ["7", "Bearer x"], `${r.method} ${r.path}`);
  }
});

proves(
  "client-transport:http:cross-origin-redirect",
  sse,
  "nothing follows a redirect to another origin",
  async (t) => {
    const other = await new HttpScript().start();
    t.after(() => other.stop());
    const { script, stream, client } = await session(t, { headers: { authorization: "secret" } });
    for (const status of [301, 307, 308]) {
      const failed = rejects(client.callTool("t"), { name: "ConnectionError", status });
      const posted = await script.next("tools/call");
      posted.response.writeHead(status, { location: new URL("/post", other.url).href }).end();
      await failed;
    }
    equal(other.received.length, 0);
    const called = client.callTool("same");
    const moved = await script.next("tools/call");
    moved.response.writeHead(308, { location: "/post/moved" }).end();
    const followed = await script.next("tools/call");
    deepEqual([followed.method, followed.path, followed.message], ["POST", "/post/moved", moved.message]);
    answer(stream, followed, { content: [] });
    await called;
    const refusing = await oldServer(t);
    const failed = rejects(connect(refusing.url, { era: "legacy" }), { status: 405 });
    (await refusing.next("GET")).response.writeHead(307, { location: new URL("/sse", other.url).href }).end();
    await failed;
    equal(other.received.length, 0);
  },
);

for (const wire of ["http", "sse"]) {
  proves(
    "flow:compat:streamable-then-sse-fallback",
    { wire },
    "newest first, and the old way only where it fits",
    async (t) => {
      for (const status of [400, 404, 405]) {
        const script = await oldServer(t);
        script.onRequest = (r) => {
          if (r.method === "POST" && r.path === "/mcp?key=1") r.status(status, "no");
        };
        const connecting = connect(script.url);
        const stream = (await script.next("GET")).stream().raw("event: endpoint\ndata: /post\n\n");
        const order = script.received.map((r) => r.rpcMethod ?? r.method);
        deepEqual(order, ["server/discover", "initialize", "GET"]);
        answer(stream, await script.next((r) => r.path === "/post"), HELLO);
        (await script.next("notifications/initialized")).status(202);
        const client = await connecting;
        const called = client.callTool("t");
        answer(stream, await script.next("tools/call"), { content: [] });
        await called;
        await client.close();
      }
      for (const status of [401, 403, 406, 500, 503]) {
        const script = await oldServer(t);
        script.onRequest = (r) => r.status(status, "no");
        await rejects(connect(script.url), { name: "ConnectionError", status });
        equal(script.all("GET").length, 0, String(status));
      }
      const unsupported = { code: -32022, message: "Unsupported", data: { supported: ["2099-01-01"] } };
      const modern = await oldServer(t);
      modern.onRequest = (r) => r.json({ jsonrpc: "2.0", id: r.message?.id, error: unsupported }, 400);
      await rejects(connect(modern.url), { code: "no_common_version" });
      equal(modern.all("GET").length, 0);
      const later = await oldServer(t);
      later.onRequest = (r) => {
        if (r.rpcMethod === "server/discover") r.result(DISCOVERED);
        else r.json({ jsonrpc: "2.0", id: r.message?.id, error: { code: -32601, message: "no such" } }, 404);
      };
      const connected = await connect(later.url);
      t.after(() => connected.close());
      await rejects(connected.callTool("t"), { rpcCode: -32601 });
      equal(later.all("GET").length, 0);
      for (const reply of [
        (r: Received) => r.status(404, "nothing here"),
        (r: Received) => r.json({}),
        (r: Received) => r.stream().raw("data: {}\n\n").end(),
      ]) {
        const script = await oldServer(t);
        const failed = rejects(connect(script.url), (error: Error) => {
          match(error.message, /status 405/);
          return true;
        });
        reply(await script.next("GET"));
        await failed;
      }
    },
  );

  proves(
    "client-transport:http:legacy-accept-4xx",
    { wire },
    "other refusals count where that is wanted",
    async (t) => {
      for (const status of [406, 415]) {
        const script = await oldServer(t);
        script.onRequest = (r) => {
          if (r.method === "POST" && r.path === "/mcp?key=1") r.status(status, "no");
        };
        await rejects(connect(script.url, { era: "legacy" }), { status });
        equal(script.all("GET").length, 0);
        const connecting = connect(script.url, { era: "legacy", sse: "any-4xx" });
        const stream = (await script.next("GET")).stream().raw("event: endpoint\ndata: /post\n\n");
        answer(stream, await script.next((r) => r.path === "/post"), HELLO);
        (await script.next("notifications/initialized")).status(202);
        await (await connecting).close();
      }
      for (const status of [401, 403]) {
        const script = await oldServer(t);
        script.onRequest = (r) => r.status(status);
        await rejects(connect(script.url, { era: "legacy", sse: "any-4xx" }), { status });
        equal(script.all("GET").length, 0);
      }
    },
  );
}

proves("protocol:notifications:order", sse, "what comes in one piece is handed over in its order", async (t) => {
  const seen: unknown[] = [];
  const { script, stream, client } = await session(t, { onNotification: ({ params }) => void seen.push(params?.n) });
  const call = client.callTool("t", {}, { onProgress: ({ progress }) => seen.push(progress) });
  const posted = await script.next("tools/call");
  posted.status(202);
  const { id, params } = posted.message;
  const { progressToken } = params._meta;
  const messages = [
    { method: "notifications/x", params: { n: 1 } },
    { method: "notifications/x", params: { n: 2 } },
    { method: "notifications/progress", params: { progressToken, progress: 3 } },
    { id, result: { content: [] } },
  ];
  const event = (message: object) => `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
  stream.raw(messages.map(event).join(""));
  await call.then(() => seen.push("answer"));
  deepEqual(seen, [1, 2, 3, "answer"]);
});
