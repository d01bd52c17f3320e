import { equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ConnectionError, connect } from "bowline/client";
import { HttpScript, type Received } from "../../../../support/http-script.js";

const INITIALIZED = "notifications/initialized";
const hello = (protocolVersion: string) => ({
  protocolVersion,
  capabilities: { tools: {} },
  serverInfo: { name: "s", version: "1" },
});

for (const [how, lose] of [
  ["lost", (received: Received) => received.cut()],
  ["refused by a busy server", (received: Received) => received.status(503)],
] as const) {
  test(`a handshake whose notifications/initialized is ${how} has failed`, { timeout: 30_000 }, async (t) => {
    const script = await new HttpScript().start();
    t.after(() => script.stop());
    script.onRequest = (received: Received) => {
      if (received.rpcMethod === "initialize") received.result(hello("2025-11-25"), { "mcp-session-id": "s" });
      else if (received.rpcMethod === INITIALIZED) lose(received);
      else received.status(200);
    };
    await rejects(connect(script.url, { era: "legacy" }), ConnectionError);
    equal(script.all("DELETE").length, 1, "the session is ended");
  });
}

test("a handshake over HTTP+SSE whose notifications/initialized is lost has failed", { timeout: 30_000 }, async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  let stream: Received | undefined;
  script.onRequest = (received: Received) => {
    if (received.method === "GET") stream = received.stream().raw("event: endpoint\ndata: /post\n\n");
    else if (received.path !== "/post") received.status(405);
    else if (received.rpcMethod === INITIALIZED) received.cut();
    else {
      const { id } = received.message;
      received.status(202);
      const answer = { jsonrpc: "2.0", id, result: hello("2024-11-05") };
      stream?.raw(`event: message\ndata: ${JSON.stringify(answer)}\n\n`);
    }
  };
  await rejects(connect(script.url, { era: "legacy" }), ConnectionError);
  await stream?.gone;
});

test("a handshake over HTTP+SSE that is refused leaves no stream open", { timeout: 30_000 }, async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  let stream: Received | undefined;
  script.onRequest = (received: Received) => {
    if (received.method === "GET") stream = received.stream().raw("event: endpoint\ndata: /post\n\n");
    else if (received.path !== "/post") received.status(405);
    else {
      received.status(202);
      const answer = { jsonrpc: "2.0", id: received.message.id, error: { code: -32603, message: "not today" } };
      stream?.raw(`event: message\ndata: ${JSON.stringify(answer)}\n\n`);
    }
  };
  await rejects(connect(script.url, { era: "legacy" }), /not today/);
  await stream?.gone;
});

test("a server that refuses notifications/initialized is used all the same", async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  script.onRequest = (received: Received) => {
    if (received.rpcMethod === "initialize") received.result(hello("2025-11-25"), { "mcp-session-id": "s" });
    else if (received.rpcMethod === "tools/call") received.result({ content: [] });
    else received.status(received.method === "DELETE" ? 200 : 405);
  };
  const client = await connect(script.url, { era: "legacy" });
  t.after(() => client.close());
  equal((await client.callTool("any")).isError, false);
});

test("a session whose notifications/initialized is lost is not used, and the next call opens another", async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  let sessions = 0;
  script.onRequest = (received: Received) => {
    const session = received.headers["mcp-session-id"];
    if (received.rpcMethod === "initialize")
      received.result(hello("2025-11-25"), { "mcp-session-id": `${++sessions}` });
    else if (received.rpcMethod === INITIALIZED) session === "2" ? received.cut() : received.status(202);
    else if (received.rpcMethod !== "tools/call") received.status(received.method === "DELETE" ? 200 : 405);
    else if (session === "3") received.result({ content: [] });
    else received.status(404);
  };
  const client = await connect(script.url, { era: "legacy" });
  t.after(() => client.close());
  await rejects(client.callTool("any"), ConnectionError);
  equal((await client.callTool("any")).isError, false);
  equal(sessions, 3);
});
