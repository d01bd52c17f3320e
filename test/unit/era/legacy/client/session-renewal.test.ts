import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ConnectionError, connect } from "bowline/client";
import { until } from "../../../../support/census.js";
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

/** A server of two sessions, whose GET stream is open in the first one, and a client without watches. */
async function createListener(t: TestContext, ping: (received: Received) => void) {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  let sessions = 0;
  script.onRequest = (received: Received) => {
    const hello = { ...HELLO, capabilities: { tools: { listChanged: true } } };
    if (received.rpcMethod === "initialize") received.result(hello, { "mcp-session-id": String(++sessions) });
    else if (received.rpcMethod === "ping") ping(received);
    else if (received.method === "POST") received.status(202);
    else if (received.method === "DELETE") received.status(204);
  };
  const problems: string[] = [];
  const onError = ({ message }: Error) => void problems.push(message);
  const schedule = (reconnect: () => void) => void setImmediate(reconnect);
  const connecting = connect(script.url, { era: "legacy", onError, reconnect: { schedule } });
  (await script.next("GET")).stream().raw("id: e1\ndata:\n\n").end();
  const client = await connecting;
  t.after(() => client.close());
  (await script.next("GET")).status(404);
  await until("the loss", () => problems.length === 1);
  return { script, client, problems };
}

test("a watch of lists alone opens a new session if the GET stream has found the old one lost", async (t) => {
  const lost = (received: Received) =>
    received.headers["mcp-session-id"] === "1" ? received.status(404) : received.result({});
  const { script, client } = await createListener(t, lost);
  const watching = client.watch({ toolsListChanged: true });
  const own = (await script.next("GET")).stream();
  equal(own.headers["mcp-session-id"], "2");
  const watch = await watching;
  deepEqual(watch.honoured, { toolsListChanged: true });
  own.notify("notifications/tools/list_changed", {});
  for await (const { kind } of watch) if (kind === "tools") break;
});

test("a GET stream that is not found in the new session either is none", async (t) => {
  const lost = (received: Received) =>
    received.headers["mcp-session-id"] === "1" ? received.status(404) : received.result({});
  const { script, client, problems } = await createListener(t, lost);
  const watching = client.watch({ toolsListChanged: true });
  (await script.next("GET")).status(404);
  deepEqual((await watching).honoured, {});
  match(problems.at(-1) ?? "", /watch.honoured is empty/);
  equal(script.all("initialize").length, 2);
});

test("a server without pings shows by its refusal that the session is alive", async (t) => {
  const noPing = (received: Received) =>
    received.json({ jsonrpc: "2.0", id: received.message.id, error: { code: -32601, message: "Method not found" } });
  const { script, client } = await createListener(t, noPing);
  const watching = client.watch({ toolsListChanged: true });
  const again = await script.next("GET");
  equal(again.headers["mcp-session-id"], "1");
  again.stream();
  deepEqual((await watching).honoured, { toolsListChanged: true });
});

test("a session that a call has found lost, and whose successor has no GET stream, is told", async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  let sessions = 0;
  script.onRequest = (received: Received) => {
    const hello = { ...HELLO, capabilities: { tools: { listChanged: true } } };
    const isFirst = received.headers["mcp-session-id"] === "1";
    if (received.rpcMethod === "initialize") received.result(hello, { "mcp-session-id": String(++sessions) });
    else if (received.method === "GET") isFirst ? received.stream() : received.status(404);
    else if (received.method === "DELETE") received.status(204);
    else if (received.message.id === undefined) received.status(202);
    else if (isFirst) received.status(404);
    else received.result({ content: [] });
  };
  const problems: string[] = [];
  const client = await connect(script.url, { era: "legacy", onError: ({ message }) => problems.push(message) });
  t.after(() => client.close());
  const watch = await client.watch({ toolsListChanged: true });
  deepEqual(watch.honoured, { toolsListChanged: true });
  await client.callTool("any");
  deepEqual(watch.honoured, {});
  match(problems.join("\n"), /watch.honoured is empty/);
});
