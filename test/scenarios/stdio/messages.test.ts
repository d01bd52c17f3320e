import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { PassThrough } from "node:stream";
import { connect } from "bowline/client";
import { createStdioClientChannel, createStdioServerChannel } from "bowline/node";
import { McpServer } from "bowline/server";
import { WireRecorder } from "bowline/testing";
import * as z from "zod";
import { ChannelLog } from "../../support/channel-log.js";
import { createPipePair, modernStdio, stdioWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { callOf, RawEnd, requestOf, resultOf, speaking } from "../../support/raw-peer.js";
import { child, NEVER } from "../../support/server-child.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const KEY = "io.modelcontextprotocol/subscriptionId";

proves("transport:stdio:backpressure", { wire: "stdio" }, "a sender waits for a slow reader", async () => {
  const channel = createStdioClientChannel({ ...child("deaf"), stderr: "ignore", shutdown: NEVER });
  const log = await ChannelLog.open(channel);
  await log.received(1);
  const frames = Array.from({ length: 200 }, (_, index) => `{"n":${index},"pad":"${"x".repeat(65_536)}"}`);
  let accepted = 0;
  // The sender waits for room, as the contract asks.
  const sends = (async () => {
    for (const frame of frames) {
      accepted++;
      await channel.send(frame);
    }
  })();
  await new Promise(setImmediate);
  ok(accepted < 10, `${accepted} frames were taken while nobody read`);
  process.kill(channel.pid!, "SIGUSR2");
  await sends;
  deepEqual((await log.received(201)).slice(1), frames);
  await channel.close();
});

verifies("transport:stdio:backpressure", "concurrent calls keep their order", stdioWires, async ({ era }, t) => {
  const raw = new RawEnd();
  const [client] = await Promise.all([connect({ channel: raw.near }, speaking(era)), raw.greetClient(era)]);
  t.after(() => client.close());
  const pad = "x".repeat(65_536);
  const calls = Array.from({ length: 200 }, (_, n) => client.callTool("any", { n, pad }));
  for (let n = 0; n < 200; n++) {
    const { id, params } = await raw.until(({ method }) => method === "tools/call");
    equal((params!.arguments as { n: number }).n, n);
    raw.write(resultOf(era, id, String(n)));
  }
  deepEqual(
    (await Promise.all(calls)).map(({ text }) => text),
    Array.from({ length: 200 }, (_, n) => String(n)),
  );
});

verifies(
  "transport:stdio:backpressure",
  "a server stops reading while its answers are not taken",
  stdioWires,
  async ({ era }, t) => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    let ran = 0;
    const server = new McpServer(me).tool("big", {}, () => {
      ran++;
      return "x".repeat(100_000);
    });
    await server.accept(createStdioServerChannel({ input, output, limits: { maxUnwrittenBytes: 1_000_000 } }));
    t.after(() => server.close());
    const clientInfo = { name: "raw", version: "1.0.0" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    if (era === "legacy") {
      input.write(`${JSON.stringify({ jsonrpc: "2.0", id: "greeting", method: "initialize", params })}\n`);
      input.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
    }
    const calls = 200;
    for (let id = 0; id < calls; id++) {
      input.write(`${JSON.stringify(callOf(era, id, "big"))}\n`);
      await new Promise(setImmediate);
    }
    ok(ran < 30, `${ran} calls were taken while nobody read`);
    let answered = era === "legacy" ? -1 : 0;
    for await (const chunk of output) {
      for (const byte of chunk as Buffer) if (byte === 10) answered++;
      if (answered === calls) break;
    }
    equal(ran, calls);
  },
);

verifies("transport:stdio:listen-correlation", modernStdio, async (_, t) => {
  const raw = new RawEnd();
  const client = await connect({ channel: raw.near }, speaking("modern"));
  t.after(() => client.close());
  const filter = { toolsListChanged: true, resources: ["note://1"] };
  const opening = [client.watch(filter), client.watch(filter)];
  const [first, second] = [await raw.next(), await raw.next()];
  const send = (method: string, id: unknown, params: object = {}) =>
    raw.write({ jsonrpc: "2.0", method, params: { ...params, _meta: { [KEY]: id } } });
  const notifications = { toolsListChanged: true, resourceSubscriptions: ["note://1"] };
  send("notifications/subscriptions/acknowledged", second.id, { notifications });
  send("notifications/subscriptions/acknowledged", first.id, { notifications });
  const [one, two] = (await Promise.all(opening)).map((watch) => watch[Symbol.asyncIterator]());
  send("notifications/resources/updated", second.id, { uri: "note://1" });
  send("notifications/tools/list_changed", "unknown");
  send("notifications/tools/list_changed", first.id);
  deepEqual((await two?.next())?.value, { kind: "resource", uri: "note://1" });
  deepEqual((await one?.next())?.value, { kind: "tools" });
  // What comes next for each is what is sent next to it: nothing of the other's is in between.
  send("notifications/tools/list_changed", second.id);
  send("notifications/resources/updated", first.id, { uri: "note://1" });
  deepEqual((await two?.next())?.value, { kind: "tools" });
  deepEqual((await one?.next())?.value, { kind: "resource", uri: "note://1" });
});

verifies(["transport:stdio:cancel-stops-messages", "transport:stdio:cancel-stops-work"], modernStdio, async (_, t) => {
  const started = gate();
  const stopped = gate<unknown>();
  const release = gate();
  const over = gate();
  const server = new McpServer(me)
    .tool("deaf", {}, async (_args, ctx) => {
      started.open();
      stopped.open(await aborted(ctx.signal));
      await release.opened;
      await ctx.progress(1);
      await ctx.log("error", "too late");
      over.open();
      return "too late";
    })
    .tool("hi", {}, () => "hi");
  const raw = new RawEnd();
  await server.accept(raw.near);
  t.after(() => server.close());
  const call = callOf("modern", 1, "deaf") as { params: { _meta: object } };
  const _meta = { ...call.params._meta, progressToken: 1, "io.modelcontextprotocol/logLevel": "debug" };
  raw.write({ ...call, params: { ...call.params, _meta } });
  await started.opened;
  raw.write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1, reason: "changed my mind" } });
  equal(((await stopped.opened) as Error).message, "changed my mind");
  release.open();
  await over.opened;
  raw.write(callOf("modern", 2, "hi"));
  await raw.until(({ id }) => id === 2);
  deepEqual(
    raw.messages.map(({ id }) => id),
    [2],
  );
});

verifies("transport:stdio:listen-teardown", modernStdio, async () => {
  const started = gate();
  const server = new McpServer(me)
    .tool("wait", {}, async (_args, ctx) => {
      started.open();
      await aborted(ctx.signal);
    })
    .resource("note://1", { name: "note" }, () => "text");
  const raw = new RawEnd();
  await server.accept(raw.near);
  const notifications = { toolsListChanged: true };
  for (const id of ["a", 2]) raw.write(requestOf("modern", id, "subscriptions/listen", { notifications }));
  for (let acknowledged = 0; acknowledged < 2; acknowledged++) await raw.next();
  raw.write(callOf("modern", 3, "wait"));
  await started.opened;
  await server.close();
  const closing = raw.messages.slice(2);
  for (const id of ["a", 2]) {
    const about = closing.filter((message) => message.id === id || message.params?.requestId === id);
    equal(about.length, 2);
    deepEqual((about[0]!.result!._meta as Record<string, unknown>)[KEY], id);
    equal(about[1]?.method, "notifications/cancelled");
  }
  deepEqual(
    closing.filter(({ method }) => method === "notifications/cancelled").map(({ params }) => params?.requestId),
    ["a", 2],
  );
});

proves("transport:stdio:listen-teardown", { wire: "modern-stdio" }, "a client takes either sign alone", async (t) => {
  for (const sign of ["result", "cancelled"]) {
    const raw = new RawEnd();
    const client = await connect({ channel: raw.near }, speaking("modern"));
    t.after(() => client.close());
    const opening = client.watch({ toolsListChanged: true });
    const { id } = await raw.next();
    const _meta = { [KEY]: id };
    const params = { notifications: { toolsListChanged: true }, _meta };
    raw.write({ jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params });
    const watch = await opening;
    if (sign === "result") raw.write({ jsonrpc: "2.0", id, result: { resultType: "complete", _meta } });
    else raw.write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    deepEqual(await watch[Symbol.asyncIterator]().next(), { done: true, value: undefined });
    equal(watch.ended, "graceful");
  }
});

verifies("transport:stdio:era-cached", modernStdio, async (_, t) => {
  const server = new McpServer(me).tool("hi", {}, () => "hi");
  t.after(() => server.close());
  const dial = async (options: Parameters<typeof connect>[1]) => {
    const [ours, theirs] = createPipePair();
    await server.accept(theirs);
    const wire = new WireRecorder();
    const client = await connect({ channel: wire.channel(ours) }, options);
    t.after(() => client.close());
    return { client, wire };
  };
  const { client, wire } = await dial({});
  for (let call = 0; call < 10; call++) await client.callTool("hi");
  equal(wire.requests("server/discover").length, 1);
  const again = await dial({});
  equal(again.wire.requests("server/discover").length, 1);
  const informed = await dial({ prior: client.prior });
  equal((await informed.client.callTool("hi")).text, "hi");
  equal(informed.wire.requests("server/discover").length, 0);
});

verifies("transport:stdio:modern-only-names-versions", modernStdio, async (_, t) => {
  const server = new McpServer(me, { versions: ["2026-07-28"] }).tool("hi", {}, () => "hi");
  const raw = new RawEnd();
  await server.accept(raw.near);
  t.after(() => server.close());
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: me };
  raw.write({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const { error } = await raw.next();
  match(JSON.stringify(error), /2026-07-28/);
  raw.write(callOf("modern", 2, "hi"));
  deepEqual((await raw.next()).id, 2);
});

verifies("client-transport:stdio:param-headers-ignored", modernStdio, async (_, t) => {
  const raw = new RawEnd();
  const warned: string[] = [];
  const logger = { warn: (message: string) => void warned.push(message) };
  const client = await connect({ channel: raw.near }, { ...speaking("modern"), logger });
  t.after(() => client.close());
  const listing = client.listTools();
  const { id } = await raw.next();
  const properties = { region: { type: "object", "x-mcp-header": "not a header name" } };
  const tools = [
    { name: "marked", inputSchema: { type: "object", properties } },
    { name: "plain", inputSchema: { type: "object" } },
  ];
  raw.write({ jsonrpc: "2.0", id, result: { tools, resultType: "complete", ttlMs: 0, cacheScope: "private" } });
  deepEqual(
    (await listing).tools.map(({ name }) => name),
    ["marked", "plain"],
  );
  const sent: string[] = [];
  for (const name of ["marked", "plain"]) {
    const answer = client.callTool(name, { region: { of: "north" } }, { id: 7 });
    sent.push(JSON.stringify(await raw.next()));
    raw.write(resultOf("modern", 7, "done"));
    equal((await answer).text, "done");
  }
  equal(sent[0]?.replace('"marked"', '"plain"'), sent[1]);
  deepEqual(warned, []);
});

verifies("transport:modern:no-connection-state", modernStdio, async (_, t) => {
  const seen: unknown[] = [];
  const both = gate();
  const server = new McpServer(me).tool("look", { input: z.object({ n: z.number() }) }, async ({ n }, ctx) => {
    if (n === 2) both.open();
    await both.opened;
    seen.push([n, ctx.client.capabilities, ctx.client.info?.name]);
    return "seen";
  });
  const raw = new RawEnd();
  await server.accept(raw.near);
  t.after(() => server.close());
  const call = (n: number, meta: object) => {
    const message = callOf("modern", n, "look", { n }) as { params: { _meta: object } };
    return { ...message, params: { ...message.params, _meta: { ...message.params._meta, ...meta } } };
  };
  const prefix = "io.modelcontextprotocol";
  raw.write(
    call(1, {
      [`${prefix}/clientCapabilities`]: { sampling: {} },
      [`${prefix}/clientInfo`]: { name: "one", version: "1" },
    }),
    call(2, {
      [`${prefix}/clientCapabilities`]: { roots: {} },
      [`${prefix}/clientInfo`]: { name: "two", version: "1" },
    }),
    { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "look", arguments: { n: 3 } } },
  );
  const answers = [await raw.next(), await raw.next(), await raw.next()];
  deepEqual(seen.sort(), [
    [1, { sampling: {} }, "one"],
    [2, { roots: {} }, "two"],
  ]);
  ok(answers.find(({ id }) => id === 3)?.error !== undefined);
});

verifies(
  "transport:stdio:cancel-stops-work",
  "a client's abort reaches the handler of another process",
  modernStdio,
  async (_, t) => {
    const lines: string[] = [];
    const waiting = gate();
    const done = gate();
    const stderr = (line: string) => {
      lines.push(line);
      if (line === "waiting") waiting.open();
      if (line.startsWith("aborted")) done.open();
    };
    const client = await connect({ ...child("mcp-server"), stderr, shutdown: NEVER }, speaking("modern"));
    t.after(() => client.close());
    const abort = new AbortController();
    const call = client.callTool("wait", {}, { signal: abort.signal });
    await waiting.opened;
    abort.abort("enough");
    await rejects(call, (reason) => reason === "enough");
    await done.opened;
    ok(lines.includes("aborted enough"));
  },
);
