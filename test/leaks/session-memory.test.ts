import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { takeCensus } from "../support/census.js";
import { LegacyEndpoint, messages, status, until } from "../support/legacy-endpoint.js";
import { modernRequest, VERSION } from "../support/modern-request.js";

const MB = 1024 * 1024;
/** Text of 2 MB that is some 40 MB of objects once it is parsed. */
const junk = () => Array.from({ length: 700_000 }, () => ({}));

async function grownBy(work: () => Promise<unknown>): Promise<number> {
  const before = await takeCensus();
  const kept = await work();
  const { heap } = await takeCensus();
  ok(kept !== undefined, "what was opened is still held");
  return (heap - before.heap) / MB;
}

test("a session keeps little of a large handshake", async () => {
  const endpoint = new LegacyEndpoint();
  const grown = await grownBy(async () => {
    for (let n = 0; n < 4; n++) await endpoint.open("2025-11-25", { unknown: junk() });
    return endpoint;
  });
  equal(endpoint.stats.sessions, 4);
  ok(grown < 10, `4 sessions keep ${grown.toFixed(1)} MB`);
});

test("a subscription of a session keeps nothing of the request that asked for it", async (t) => {
  const server = new McpServer({ name: "s", version: "1" }).resource("note://{id}", { name: "n" }, () => "");
  const running = await serveHttp(server, { port: 0 });
  t.after(() => running.close());
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const post = async (id: number, method: string, params: object) => {
    const response = await fetch(running.url, {
      method: "POST",
      headers,
      body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
    });
    const text = await response.text();
    ok(text.includes('"result"'), text);
    return response;
  };
  const clientInfo = { name: "c", version: "1" };
  const opened = await post(0, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  headers["mcp-session-id"] = opened.headers.get("mcp-session-id") ?? "";
  const grown = await grownBy(async () => {
    for (let n = 1; n <= 4; n++) await post(n, "resources/subscribe", { uri: `note://${n}`, _meta: { junk: junk() } });
    return running;
  });
  equal(server.stats().subscriptions, 4);
  ok(grown < 10, `4 subscriptions keep ${grown.toFixed(1)} MB`);
});

test("cancellations of unknown calls are forgotten by time, and never keep long ids", async () => {
  const clock = new FakeClock();
  const endpoint = new LegacyEndpoint({}, { clock });
  const client = await endpoint.open();
  const grown = await grownBy(async () => {
    for (let n = 0; n < 10; n++) await status(client.cancel(`${n}${"x".repeat(3 * MB)}`), 202);
    return endpoint;
  });
  ok(grown < 10, `10 cancellations keep ${grown.toFixed(1)} MB`);
  const before = clock.pending;
  await status(client.cancel("short"), 202);
  await status(client.cancel("another"), 202);
  equal(clock.pending, before + 1, "all wait on one timer");
  clock.advance(10_000);
  equal(clock.pending, before, "nothing waits after their time");
});

test("a subscription of the newer version is refused where it brings more than it needs", async () => {
  const endpoint = new LegacyEndpoint();
  endpoint.server.resource("note://{id}", { name: "n" }, () => "");
  const notifications = { resourceSubscriptions: ["note://1"] };
  const ask = (params: object, meta?: Record<string, unknown>) => {
    const { body, headers } = modernRequest("subscriptions/listen", { params: { ...params }, ...(meta && { meta }) });
    return endpoint.send("POST", body, { headers: { ...headers, "mcp-protocol-version": VERSION } });
  };
  for (const refused of [
    ask({ notifications, junk: "x".repeat(10_000) }),
    ask({ notifications: { ...notifications, topic: "x".repeat(10_000) } }),
    ask({ notifications }, { "com.example/junk": "x".repeat(10_000) }),
  ]) {
    await status(refused, 400);
    ok(refused.body().includes("limits.maxClientChars"), refused.body());
  }
  await status(ask({ notifications: { resourceSubscriptions: [`note://${"x".repeat(20_000)}`] } }), 400);
  const opened = ask({ notifications });
  await until(() => opened.status === 200);
  await endpoint.server.close();
});

test("a GET stream keeps nothing of the GETs that its client was refused", async () => {
  const endpoint = new LegacyEndpoint({}, { clock: new FakeClock() });
  const client = await endpoint.open();
  const stream = client.get();
  await until(() => stream.status === 200, "the stream");
  const refuse = async (times: number) => {
    for (let n = 0; n < times; n++) {
      stream.chunks.length = 0;
      const second = client.get();
      await until(() => messages(stream).length === 1, "the ping");
      await status(client.post({ jsonrpc: "2.0", id: messages(stream)[0]?.id, result: {} }), 202);
      await status(second, 409);
      endpoint.reports.length = 0;
    }
    return client;
  };
  await refuse(1_000);
  const grown = await grownBy(() => refuse(6_000));
  ok(grown < 1, `6000 refused GETs keep ${grown.toFixed(2)} MB`);
});
