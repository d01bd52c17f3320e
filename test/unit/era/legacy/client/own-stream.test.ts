import { equal } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { connect } from "bowline/client";
import { gate } from "../../../../support/gate.js";
import { HttpScript, type Received } from "../../../../support/http-script.js";

const HELLO = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "s", version: "1" } };
const NOTE = "notifications/com.example/note";

/** A client whose own stream was open once and has ended, and which comes back at once. */
async function createListener(t: TestContext) {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  script.onRequest = (received: Received) => {
    if (received.rpcMethod === "initialize") received.result(HELLO, { "mcp-session-id": "s" });
    else if (received.method === "POST") received.status(202);
    else if (received.method === "DELETE") received.status(200);
  };
  const heard = gate();
  const client = connect(script.url, {
    era: "legacy",
    reconnect: { schedule: (reconnect) => void setImmediate(reconnect) },
    notifications: { [NOTE]: () => heard.open() },
  });
  t.after(async () => (await client).close());
  (await script.next("GET")).stream().raw("id: e1\ndata:\n\n").end();
  await client;
  return { heard: heard.opened, next: () => script.next("GET") };
}

test("a stream whose last event is not kept any more begins anew", async (t) => {
  const { heard, next } = await createListener(t);
  const resumed = await next();
  equal(resumed.headers["last-event-id"], "e1");
  resumed.status(400, "no such event");
  const again = await next();
  equal(again.headers["last-event-id"], undefined);
  again.stream().notify(NOTE, {});
  await heard;
});

test("a stream that the server takes for open still is asked for again", async (t) => {
  const { heard, next } = await createListener(t);
  for (let time = 0; time < 5; time++) (await next()).status(409, "open already");
  const again = await next();
  equal(again.headers["last-event-id"], "e1");
  again.stream().notify(NOTE, {});
  await heard;
});

test("the stream of a call that the server takes for open still is asked for again", async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  script.onRequest = (received: Received) => {
    if (received.rpcMethod === "initialize") received.result(HELLO, { "mcp-session-id": "s" });
    else if (received.rpcMethod === "tools/call") received.stream().raw("id: c1\ndata:\n\n").end();
    else if (received.method === "POST") received.status(202);
    else if (received.method === "DELETE") received.status(200);
    else if (received.headers["last-event-id"] === undefined) received.status(405);
  };
  const client = await connect(script.url, {
    era: "legacy",
    reconnect: { schedule: (reconnect) => void setImmediate(reconnect) },
  });
  t.after(() => client.close());
  const call = client.callTool("slow");
  const resumed = () => script.next(({ headers }) => headers["last-event-id"] === "c1");
  (await Promise.race([resumed(), call as Promise<never>])).status(409, "open already");
  const { id } = (await script.next("tools/call")).message;
  const again = await Promise.race([resumed(), call as Promise<never>]);
  again.stream().event({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "done" }] } });
  equal((await call).text, "done");
});
