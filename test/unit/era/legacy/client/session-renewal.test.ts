import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ConnectionError, connect } from "bowline/client";
import { HttpScript, type Received } from "../../../../support/http-script.js";

const HELLO = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };

test("a call that learns of a lost session after a failed handshake waits for the next one", async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  script.onRequest = (received: Received) => {
    if (received.rpcMethod === "notifications/initialized") received.status(202);
    if (received.method === "GET") received.status(405);
  };
  const connecting = connect(script.url, { era: "legacy" });
  (await script.next("initialize")).result(HELLO, { "mcp-session-id": "first" });
  const client = await connecting;
  t.after(() => client.close());

  const [early, late] = [client.callTool("early"), client.callTool("late")];
  const calls = [await script.next("tools/call"), await script.next("tools/call")];
  const callOf = (name: string) => calls.find(({ message }) => message.params.name === name) as Received;
  callOf("early").status(404);
  (await script.next("initialize")).status(503);
  await rejects(early, ConnectionError);

  callOf("late").status(404);
  const next = await script.next(({ message }) => message?.id !== undefined);
  equal(next.rpcMethod, "initialize");
  next.result(HELLO, { "mcp-session-id": "second" });
  const again = await script.next("tools/call");
  equal(again.headers["mcp-session-id"], "second");
  again.result({ content: [{ type: "text", text: "there" }] });
  equal((await late).text, "there");
});

test("a watch after a failed handshake waits for the next handshake", async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  script.onRequest = (received: Received) => {
    if (received.rpcMethod === "notifications/initialized") received.status(202);
    if (received.method === "GET") received.status(405);
  };
  const hello = { ...HELLO, capabilities: { tools: {}, resources: { subscribe: true } } };
  const connecting = connect(script.url, { era: "legacy" });
  (await script.next("initialize")).result(hello, { "mcp-session-id": "first" });
  const client = await connecting;
  t.after(() => client.close());
  const lost = client.callTool("lost");
  (await script.next("tools/call")).status(404);
  (await script.next("initialize")).status(503);
  await rejects(lost, ConnectionError);

  const watching = client.watch({ resources: ["a:b"] });
  const next = await script.next(({ message }) => message?.id !== undefined);
  equal(next.rpcMethod, "initialize");
  next.result(hello, { "mcp-session-id": "second" });
  const subscribe = await script.next("resources/subscribe");
  equal(subscribe.headers["mcp-session-id"], "second");
  subscribe.result({});
  const unwatched = (await watching).close();
  (await script.next("resources/unsubscribe")).result({});
  await unwatched;
});

test("a call that is given up while it waits for a handshake ends at once", async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  script.onRequest = (received: Received) => {
    if (received.rpcMethod === "notifications/initialized") received.status(202);
    if (received.method === "GET") received.status(405);
  };
  const connecting = connect(script.url, { era: "legacy" });
  (await script.next("initialize")).result(HELLO, { "mcp-session-id": "first" });
  const client = await connecting;
  t.after(() => client.close());
  const lost = client.callTool("lost");
  (await script.next("tools/call")).status(404);
  (await script.next("initialize")).status(503);
  await rejects(lost, ConnectionError);

  const abort = new AbortController();
  const waiting = [
    client.callTool("waits", {}, { signal: abort.signal }),
    client.watch({ toolsListChanged: true }, { signal: abort.signal }),
  ];
  const handshake = await script.next("initialize");
  abort.abort("enough");
  for (const call of waiting) await rejects(call, /^enough$/);
  handshake.status(503);
});

test("a call that learns of a lost session while the next one is set up begins no other session", async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  script.onRequest = (received: Received) => {
    if (received.rpcMethod === "notifications/initialized") received.status(202);
    if (received.rpcMethod === "ping") received.result({});
    if (received.method === "GET") received.status(405);
  };
  const hello = { ...HELLO, capabilities: { tools: {}, resources: { subscribe: true } } };
  const connecting = connect(script.url, { era: "legacy" });
  (await script.next("initialize")).result(hello, { "mcp-session-id": "first" });
  const client = await connecting;
  t.after(() => client.close());
  const watching = client.watch({ resources: ["a:b"] });
  (await script.next("resources/subscribe")).result({});
  const watch = await watching;

  const calls = [client.callTool("early"), client.callTool("late")];
  const [first, second] = [await script.next("tools/call"), await script.next("tools/call")];
  first.status(404);
  (await script.next("initialize")).result(hello, { "mcp-session-id": "second" });
  const subscribe = await script.next("resources/subscribe");
  second.status(404);
  await client.ping();
  subscribe.result({});
  for (let count = 0; count < calls.length; count++) (await script.next("tools/call")).result({ content: [] });
  await Promise.all(calls);

  const after = client.callTool("after");
  const next = await script.next(({ message }) => message?.id !== undefined && message.method !== "ping");
  deepEqual([next.rpcMethod, next.headers["mcp-session-id"]], ["tools/call", "second"]);
  next.result({ content: [] });
  await after;
  const unwatched = watch.close();
  (await script.next("resources/unsubscribe")).result({});
  await unwatched;
});
