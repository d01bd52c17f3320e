import { equal } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { connect } from "bowline/client";
import { FakeClock } from "../../../../support/fake-clock.js";
import { HttpScript, type Received } from "../../../../support/http-script.js";
import { LEGACY } from "../../../../support/http-transports.js";

/** A server that opens sessions, has no stream of its own, and leaves DELETE to the test. */
async function sessions(t: TestContext, onDelete: (received: Received) => void): Promise<HttpScript> {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  const serverInfo = { name: "s", version: "1" };
  let opened = 0;
  script.onRequest = (received) => {
    const hello = { protocolVersion: LEGACY, capabilities: { tools: {} }, serverInfo };
    if (received.rpcMethod === "initialize") received.result(hello, { "mcp-session-id": `s${opened++}` });
    else if (received.method === "GET") received.status(405);
    else if (received.method === "DELETE") onDelete(received);
    else received.status(202);
  };
  return script;
}

test("every session of many clients that close together is ended, however long the server takes for all", async (t) => {
  const waiting: Received[] = [];
  const clock = new FakeClock();
  const script = await sessions(t, (received) => void waiting.push(received));
  const clients = await Promise.all(Array.from({ length: 200 }, () => connect(script.url, { era: "legacy", clock })));
  let closed = 0;
  const closing = clients.map((client) => client.close().then(() => closed++));
  for (let answered = 0; answered < 200; answered++) {
    while (waiting.length === 0) await new Promise(setImmediate);
    clock.advance(900);
    waiting.shift()?.status(200);
    while (closed === answered) await new Promise(setImmediate);
    equal(closed, answered + 1);
  }
  await Promise.all(closing);
  equal(new Set(script.all("DELETE").map(({ headers }) => headers["mcp-session-id"])).size, 200);
  equal(clock.pending, 0);
});

test("a server that does not answer holds no client up for longer than the courtesy", async (t) => {
  const clock = new FakeClock();
  const script = await sessions(t, () => {});
  const options = { era: "legacy" as const, clock, limits: { courtesyMs: 300 } };
  const clients = await Promise.all(Array.from({ length: 100 }, () => connect(script.url, options)));
  const closing = Promise.all(clients.map((client) => client.close()));
  while (script.all("DELETE").length < 64) await new Promise(setImmediate);
  clock.advance(300);
  await closing;
  equal(clock.pending, 0);
});
