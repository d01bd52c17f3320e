import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { PassThrough } from "node:stream";
import type { TestContext } from "node:test";
import type { ProtocolVersion } from "bowline/client";
import { connect } from "bowline/client";
import { createStdioServerChannel, serveHttp } from "bowline/node";
import { McpServer, type Server, toolResult } from "bowline/server";
import { channelWires, eachWire, httpWires } from "../../support/each-wire.js";
import { HttpScript } from "../../support/http-script.js";
import { enveloped, initialize } from "../../support/raw-client.js";
import { MODERN_VERSION, RawClient, RawPeer, scriptedServers, toolText } from "../../support/raw-peer.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const EVERY_KIND = 'plain ü e\u0301 \u2028\u2029 💡👩‍👩‍👧 \u0000\n\r\t"\\ \ud7ff \ufeff';

verifies("protocol:jsonrpc:utf8", eachWire, async ({ connect: dial }) => {
  const server = new McpServer(me).tool(
    "echo",
    { input: { type: "object" } },
    (args) => (args as { text: string }).text,
  );
  const client = await dial(server);
  equal((await client.callTool("echo", { text: EVERY_KIND })).text, EVERY_KIND);
});

proves("protocol:jsonrpc:utf8", { wire: "modern-stdio" }, "characters split between chunks", async (t) => {
  await splitOverPipe(t, "modern");
});

proves("protocol:jsonrpc:utf8", { wire: "legacy-stdio" }, "characters split between chunks", async (t) => {
  await splitOverPipe(t, "legacy");
});

/** The bytes of both sides arrive one by one. */
async function splitOverPipe(t: { after(fn: () => unknown): void }, era: "modern" | "legacy"): Promise<void> {
  const server = new McpServer(me).tool(
    "echo",
    { input: { type: "object" } },
    (args) => (args as { text: string }).text,
  );
  const [up, upward, down, downward] = Array.from({ length: 4 }, () => new PassThrough()) as [
    PassThrough,
    PassThrough,
    PassThrough,
    PassThrough,
  ];
  for (const [whole, split] of [
    [up, upward],
    [down, downward],
  ] as const) {
    whole.on("data", (chunk: Buffer) => {
      for (const byte of chunk) split.write(Buffer.of(byte));
    });
  }
  await server.accept(createStdioServerChannel({ input: upward, output: down }));
  const client = await connect({ channel: createStdioServerChannel({ input: downward, output: up }) }, { era });
  t.after(async () => {
    await client.close();
    await server.close();
  });
  equal((await client.callTool("echo", { text: EVERY_KIND })).text, EVERY_KIND);
}

verifies("protocol:jsonrpc:utf8", "a body whose characters are split between chunks", httpWires, async (world, t) => {
  const server = new McpServer(me).tool(
    "echo",
    { input: { type: "object" } },
    (args) => (args as { text: string }).text,
  );
  const post = await poster(world.transport, server, t);
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const call = { name: "echo", arguments: { text: EVERY_KIND } };
  let message: object = enveloped(1, "tools/call", call);
  if (world.era === "modern") {
    Object.assign(headers, { "mcp-protocol-version": MODERN_VERSION, "mcp-method": "tools/call", "mcp-name": "echo" });
  } else {
    const opened = await post(headers, new Blob([JSON.stringify({ jsonrpc: "2.0", ...initialize(0) })]).stream());
    headers["mcp-session-id"] = opened.headers.get("mcp-session-id") ?? "";
    await opened.text();
    message = { id: 1, method: "tools/call", params: call };
  }
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const text = await (await post(headers, body)).text();
  const data = text.startsWith("{")
    ? text
    : text
        .split("\n")
        .find((line) => line.startsWith("data: {"))
        ?.slice(6);
  deepEqual(JSON.parse(data ?? "").result.content, [{ type: "text", text: EVERY_KIND }]);
});

type Post = (headers: Record<string, string>, body: ReadableStream<Uint8Array>) => Promise<Response>;

async function poster(transport: string, server: Server, t: TestContext): Promise<Post> {
  t.after(() => server.close());
  const init = (headers: Record<string, string>, body: ReadableStream<Uint8Array>) =>
    ({ method: "POST", headers, body, duplex: "half" }) as RequestInit;
  if (transport === "fetch") return (...given) => server.fetch(new Request("http://localhost/mcp", init(...given)));
  const running = await serveHttp(server, { port: 0 });
  t.after(() => running.close());
  return (...given) => fetch(running.url, init(...given));
}

proves("protocol:jsonrpc:utf8", { wire: "modern-http" }, "characters split between chunks", async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  const client = await connect(script.url, { versions: [MODERN_VERSION] });
  t.after(() => client.close());
  for (const streamed of [false, true]) {
    const call = client.callTool("echo");
    const received = await script.next("tools/call");
    const body = JSON.stringify({ jsonrpc: "2.0", id: received.message.id, result: toolText(EVERY_KIND) });
    if (streamed) received.stream();
    else received.response.writeHead(200, { "content-type": "application/json" });
    for (const byte of Buffer.from(streamed ? `data: ${body}\n\n` : body)) {
      await new Promise((written) => received.response.write(Buffer.of(byte), written));
    }
    received.end();
    equal((await call).text, EVERY_KIND);
  }
});

verifies("protocol:message:unknown-members-ignored", channelWires, async (world) => {
  const server = new McpServer(me).tool("echo", {}, () => toolResult({ content: [], extra: { kept: 1 } } as never));
  const client = await RawClient.open(world, server);
  const params = client.params({ name: "echo", arguments: {}, unknownParam: [1] }, { "com.example/x": 1 });
  const answered = client.peer.answerTo(1);
  client.peer.send({ id: 1, method: "tools/call", params, unknownMember: { a: 1 }, result: undefined });
  deepEqual((await answered).result?.extra, { kept: 1 });
});

verifies("protocol:message:unknown-members-ignored", "in results", scriptedServers, async ({ peer, connect: dial }) => {
  const client = await dial();
  const call = client.request("tools/call", { name: "x" });
  const { id } = await peer.asked("tools/call");
  peer.send({ id, unknownMember: 1, result: { ...toolText("hi"), future: { nested: [true] } } });
  deepEqual(((await call) as { future?: unknown }).future, { nested: [true] });
});

const HOSTILE = ["constructor", "__proto__", "toString", "hasOwnProperty", "prototype"];

verifies("protocol:message:prototype-safe", channelWires, async (world) => {
  const metas: unknown[] = [];
  const server = new McpServer(me)
    .tool("meta", { input: { type: "object" } }, (_, ctx) => {
      metas.push(ctx.meta);
      return "ok";
    })
    .prompt("p", {}, () => "x")
    .resource("note://{id}", { name: "n" }, ({ id }) => id);
  const client = await RawClient.open(world, server);
  for (const name of HOSTILE) {
    equal((await client.request(1, name)).error?.code, -32601, name);
    equal((await client.request(1, "tools/call", { name, arguments: {} })).error?.code, -32602, name);
    equal((await client.request(1, "prompts/get", { name })).error?.code, -32602, name);
    client.notify(name, {});
  }
  const hostile = '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}';
  const modern =
    `"io.modelcontextprotocol/protocolVersion":"${MODERN_VERSION}",` +
    '"io.modelcontextprotocol/clientCapabilities":{"extensions":{"__proto__":{}}},';
  const meta = `{${world.era === "modern" ? modern : ""}${hostile}}`;
  const answered = client.peer.answerTo(2);
  client.peer.send(
    `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"meta","arguments":{${hostile}},"inputResponses":{"__proto__":{"action":"accept"}},"_meta":${meta}}}`,
  );
  ok((await answered).result, JSON.stringify(await answered));
  const [seen] = metas as [Record<string, unknown>];
  deepEqual(Object.getOwnPropertyDescriptor(seen, "__proto__")?.value, { polluted: true });
  equal(({} as { polluted?: unknown }).polluted, undefined);
});

verifies("protocol:message:prototype-safe", "in a client", scriptedServers, async ({ era, peer, connect: dial }) => {
  const client = await dial({ methods: {}, notifications: {}, onError: () => {} });
  for (const method of HOSTILE) peer.send({ method, params: {} });
  if (era === "legacy") {
    for (const method of HOSTILE) {
      peer.send({ id: method, method });
      equal((await peer.answerTo(method)).error?.code, -32601);
    }
  }
  const call = client.request("constructor");
  const { id } = await peer.asked("constructor");
  peer.send(`{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","__proto__":{"polluted":true}}}`);
  const result = await call;
  deepEqual(Object.getOwnPropertyDescriptor(result, "__proto__")?.value, { polluted: true });
  equal(({} as { polluted?: unknown }).polluted, undefined);
});

verifies("protocol:batch:receive", legacyBatch(), async (world) => {
  const seen: unknown[] = [];
  const server = new McpServer(me)
    .tool("one", {}, () => "1")
    .onNotification("vendor/event", {}, (params) => void seen.push(params));
  const client = await RawClient.open(world, server, { version: "2025-03-26" });
  const answers = [client.peer.answerTo(1), client.peer.answerTo("two")];
  client.peer.send(
    JSON.stringify([
      { jsonrpc: "2.0", id: 1, method: "tools/list" },
      { jsonrpc: "2.0", method: "vendor/event", params: { n: 1 } },
      { jsonrpc: "2.0", id: "two", method: "tools/call", params: { name: "one" } },
    ]),
  );
  for (const answer of await Promise.all(answers)) ok(answer.result);
  deepEqual(seen, [{ n: 1 }]);
});

verifies("protocol:batch:initialize-excluded", legacyBatch(), async (world) => {
  const peer = await RawPeer.open(await world.channel(new McpServer(me).tool("one", {}, () => "1")));
  const params = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params };
  const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
  peer.send(JSON.stringify([initialize, list]));
  equal((await peer.answerTo(undefined)).error?.code, -32600);
  peer.send(JSON.stringify(list));
  equal((await peer.answerTo(2)).error?.code, -32600, "still not initialized");
  peer.send(JSON.stringify(initialize));
  ok((await peer.answerTo(1)).result);
  equal(peer.messages.length, 3);
});

verifies("protocol:batch:rejected", channelWires, async (world) => {
  for (const version of world.era === "legacy" ? ["2025-06-18", "2025-11-25"] : [MODERN_VERSION]) {
    let ran = 0;
    const server = new McpServer(me, { onError: () => {} }).method("vendor/run", {}, () => {
      ran++;
    });
    const client = await RawClient.open(world, server, { version });
    const request = { jsonrpc: "2.0", id: 1, method: "vendor/run", params: client.params() };
    const modern = {
      ...request,
      params: {
        _meta: {
          "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    };
    for (const batch of [[], [request], [modern], [request, modern]]) {
      client.peer.send(JSON.stringify(batch));
      equal((await client.peer.answerTo(undefined)).error?.code, -32600);
    }
    await client.barrier();
    equal(ran, 0);
    equal(client.peer.answersTo(1).length, 0);
    ok((await client.request(1, "vendor/run")).result);
  }
});

verifies("protocol:batch:never-sent", eachWire, async ({ connect: dial, era }) => {
  const versions = era === "legacy" ? ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] : [MODERN_VERSION];
  for (const version of versions) {
    const server = new McpServer(me).tool("one", {}, async (_, ctx) => {
      await ctx.progress(1);
      return "1";
    });
    const client = await dial(server, { versions: [version as ProtocolVersion] });
    equal(client.version, version);
    await Promise.all(Array.from({ length: 20 }, () => client.callTool("one", {}, { onProgress: () => {} })));
    for (const { text } of client.wire.frames) ok(text.startsWith("{"), text);
    await client.close();
  }
  await rejects(dial(new McpServer(me), { versions: ["1999-01-01" as ProtocolVersion] }), { code: "unknown_version" });
});

function legacyBatch() {
  return channelWires.filter(({ name }) => name.startsWith("legacy"));
}
