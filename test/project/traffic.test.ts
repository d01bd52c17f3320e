import { deepEqual } from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { createArrayExchange } from "#src/testing/array-exchange.js";
import { createPipePair, eachWire } from "../support/each-wire.js";
import { modernRequest } from "../support/modern-request.js";
import { initialize } from "../support/plain-http.js";
import { SseStream } from "../support/sse-stream.js";
import { watchTraffic } from "../support/traffic.js";

const me = { name: "watched", version: "1" };
const request = (headers: Record<string, string>, body?: object) =>
  new Request("http://localhost/mcp", {
    method: body === undefined ? "GET" : "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

for (const { name, open } of eachWire) {
  test(`a client and a server are seen on ${name}`, async (t) => {
    const seen = watchTraffic();
    const world = await open(t);
    const client = await world.connect(new McpServer(me).tool("echo", {}, () => "hi"));
    await client.callTool("echo");
    const eras = new Set(seen().flatMap((wire) => (wire.includes("-") ? [wire.split("-")[0]] : [])));
    deepEqual([...eras], [world.era]);
    deepEqual(seen().includes(name), true, seen().join());
  });
}

test("an exchange is of the era of its message, else of its headers", async (t) => {
  const server = new McpServer(me);
  t.after(() => server.close());
  const ask = async (sent: Request) => {
    const seen = watchTraffic();
    await (await server.fetch(sent)).body?.cancel();
    return seen();
  };
  const { body } = modernRequest("server/discover");
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  deepEqual(await ask(request({ "mcp-protocol-version": "2025-11-25" }, body)), ["modern-fetch"]);
  deepEqual(await ask(request({}, initialize().body as object)), ["legacy-fetch"]);
  deepEqual(await ask(request({ "mcp-protocol-version": "2026-07-28" })), ["modern-fetch"]);
  deepEqual(await ask(request({ "mcp-session-id": "unknown" })), ["legacy-fetch"]);
  deepEqual(await ask(request({}, [ping])), ["legacy-fetch"]);
  deepEqual(await ask(request({})), ["fetch"]);
  deepEqual(
    await ask(new Request("http://localhost/.well-known/x", request({ "mcp-protocol-version": "2025-11-25" }))),
    ["fetch"],
  );
});

test("a request without a version does not make a modern test a legacy one", async (t) => {
  const server = new McpServer(me);
  t.after(() => server.close());
  const seen = watchTraffic();
  const { headers, body } = modernRequest("tools/list");
  const bare = { headers: { ...headers, "mcp-protocol-version": undefined }, body: { ...body, params: {} } };
  for (const sent of [{ headers, body }, bare]) {
    const exchange = createArrayExchange(sent);
    server.handle(exchange);
    await exchange.done;
  }
  deepEqual(seen(), ["http", "modern-http"]);
});

test("what each test saw is its own", async () => {
  const first = watchTraffic();
  const [ours, theirs] = createPipePair();
  await theirs.open({ onFrame() {}, onProblem() {}, onClose() {} });
  await ours.open({ onFrame() {}, onProblem() {}, onClose() {} });
  const second = watchTraffic();
  await ours.send(JSON.stringify(initialize().body));
  deepEqual([first(), second()], [[], ["legacy-stdio"]]);
  await ours.close();
});

test("a child process is stdio, and its lines are read", async () => {
  const seen = watchTraffic();
  const child = execFile(process.execPath, ["-e", "process.stdin.resume()"]);
  deepEqual(seen(), ["stdio"]);
  child.stdin?.end(`${JSON.stringify(modernRequest("tools/list").body)}\n`);
  await once(child, "exit");
  deepEqual(seen(), ["modern-stdio", "stdio"]);
});

test("the transport of 2024-11-05 is told from its successor", async (t) => {
  const running = await serveHttp(new McpServer(me, { warnDeprecated: false, http: { sse: { path: "/events" } } }));
  t.after(() => running.close());
  const seen = watchTraffic();
  const client = await connect(running.url, { era: "legacy" });
  await client.close();
  deepEqual(seen().includes("legacy-sse"), false);
  await SseStream.open(t, new URL("/events", running.url));
  deepEqual(seen().includes("legacy-sse"), true);
});
