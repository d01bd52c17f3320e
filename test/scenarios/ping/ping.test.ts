import { deepEqual, equal, ok } from "node:assert/strict";
import { ConnectionError } from "bowline/client";
import { McpServer } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { legacyChannels, legacyWires, modernWires } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { RawClient, RawPeer, scriptedLegacy } from "../../support/raw-peer.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const pings = { intervalMs: 1000, timeoutMs: 200 };

verifies("ping:client-to-server", legacyWires, async ({ connect }) => {
  const client = await connect(new McpServer(me));
  await client.ping();
  const [request] = client.wire.requests("ping");
  const [response, ...more] = client.wire.responsesTo("ping");
  equal(more.length, 0);
  deepEqual(response, { jsonrpc: "2.0", id: request?.id as number, result: {} });
});

verifies("ping:server-to-client", scriptedLegacy, async ({ peer, connect }) => {
  await connect();
  for (const id of [0, "ping"]) {
    peer.send({ id, method: "ping" });
    deepEqual(await peer.answerTo(id), { jsonrpc: "2.0", id, result: {} });
  }
});

verifies("ping:server-to-client", "during a call", legacyWires, async ({ connect }) => {
  const server = new McpServer(me).tool("check", {}, (_, ctx) => ctx.request("ping"));
  const client = await connect(server);
  deepEqual((await client.callTool("check")).structured, {});
});

verifies("ping:prompt", legacyChannels, async (world) => {
  const entered = gate();
  const release = gate();
  let running = 0;
  const server = new McpServer(me).tool("block", {}, async () => {
    if (++running === 10) entered.open();
    await release.opened;
  });
  const peer = await RawPeer.open(await world.channel(server));
  const ping = async (id: string) => {
    peer.send({ id, method: "ping" });
    deepEqual((await peer.answerTo(id)).result, {});
  };
  await ping("before");
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  peer.send({ id: 0, method: "initialize", params });
  await peer.answerTo(0);
  await ping("between");
  peer.send({ method: "notifications/initialized" });
  for (let n = 1; n <= 10; n++) peer.send({ id: n, method: "tools/call", params: { name: "block" } });
  await entered.opened;
  await ping("busy");
  ok([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].every((id) => peer.answersTo(id).length === 0));
  release.open();
});

verifies("ping:prompt", "by a client", scriptedLegacy, async ({ peer, connect }) => {
  const entered = gate();
  const release = gate();
  let running = 0;
  await connect({
    onSample: async () => {
      if (++running === 10) entered.open();
      await release.opened;
      return { role: "assistant", model: "m", content: { type: "text", text: "" } };
    },
  });
  for (let n = 1; n <= 10; n++) {
    peer.send({ id: n, method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } });
  }
  await entered.opened;
  peer.send({ id: "ping", method: "ping" });
  deepEqual((await peer.answerTo("ping")).result, {});
  release.open();
});

verifies(["ping:keepalive", "ping:timeout-is-failure"], "of a client", scriptedLegacy, async ({ peer, connect }) => {
  const clock = new FakeClock();
  const problems: Error[] = [];
  const logged: string[] = [];
  const told = gate();
  const client = await connect({
    clock,
    pings,
    logger: { error: (message) => logged.push(message) },
    onError: (error) => {
      problems.push(error);
      told.open();
    },
  });
  const sent = () => peer.messages.filter(({ method }) => method === "ping").length;
  clock.advance(999);
  equal(sent(), 0);
  for (const round of [1, 2, 3]) {
    const timers = clock.delays.length;
    clock.advance(round === 1 ? 1 : 1000);
    const { id } = await peer.asked("ping");
    equal(sent(), round);
    peer.send({ id, result: {} });
    // The scope's timer, and then the next wait.
    await clock.started(timers + 2);
  }
  equal(problems.length, 0);
  clock.advance(1000);
  await peer.asked("ping");
  const timers = clock.delays.length;
  clock.advance(199);
  equal(sent(), 4);
  clock.advance(1);
  await told.opened;
  ok(problems[0] instanceof ConnectionError && problems[0].message.includes("200"));
  equal(logged.length, 1);
  await clock.started(timers + 1);
  await client.close();
  clock.advance(100_000);
  equal(clock.pending, 0);
  equal(sent(), 4);
});

verifies(["ping:keepalive", "ping:timeout-is-failure"], "of a server", legacyChannels, async (world) => {
  const clock = new FakeClock();
  const problems: unknown[] = [];
  const told = gate();
  const server = new McpServer(me, {
    clock,
    pings,
    onError: (error) => {
      problems.push(error);
      told.open();
    },
  });
  const { peer } = await RawClient.open(world, server);
  await clock.started(1);
  clock.advance(1000);
  const { id } = await peer.asked("ping");
  peer.send({ id, result: {} });
  await clock.started(3);
  clock.advance(1000);
  await peer.asked("ping");
  clock.advance(200);
  await told.opened;
  ok(problems[0] instanceof ConnectionError);
  await clock.started(5);
  await peer.close();
  await server.close();
  const before = peer.messages.length;
  clock.advance(100_000);
  equal(peer.messages.length, before);
});

verifies("ping:keepalive", "one at a time, however slow the answer is", scriptedLegacy, async ({ peer, connect }) => {
  const clock = new FakeClock();
  await connect({ clock, pings: { intervalMs: 100, timeoutMs: 10_000 } });
  const sent = () => peer.messages.filter(({ method }) => method === "ping").length;
  clock.advance(100);
  const { id } = await peer.asked("ping");
  clock.advance(5000);
  equal(sent(), 1);
  const timers = clock.delays.length;
  peer.send({ id, result: {} });
  await clock.started(timers + 1);
  equal(sent(), 1);
  clock.advance(100);
  await peer.asked("ping");
  equal(sent(), 2);
});

verifies("ping:keepalive", "never without pings", modernWires, async ({ connect }) => {
  const clock = new FakeClock();
  const server = new McpServer(me, { clock, pings }).tool("one", {}, () => "1");
  const client = await connect(server, { clock, pings });
  await client.callTool("one");
  clock.advance(100_000);
  await client.callTool("one");
  for (const { message } of client.wire.frames) ok(message?.method !== "ping");
});
