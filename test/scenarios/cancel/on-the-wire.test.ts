import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { connect } from "bowline/client";
import { McpServer, type ServerInterceptor } from "bowline/server";
import { createChannelPair, FakeClock, WireRecorder } from "bowline/testing";
import { channelWires, eachWire, legacyHttp, modernWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { sessionWorld } from "../../support/http-transports.js";
import { RawClient, scriptedServers, toolText } from "../../support/raw-peer.js";
import { StuckChannel } from "../../support/stuck-channel.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

function waiting() {
  const started = gate();
  const stopped = gate<unknown>();
  const server = new McpServer(me)
    .tool("wait", {}, async (_, ctx) => {
      started.open();
      stopped.open(await aborted(ctx.signal));
    })
    .tool("next", {}, () => "next");
  return { server, started, stopped };
}

for (const era of ["modern", "legacy"] as const) {
  proves(
    "protocol:cancel:write-started",
    { wire: `${era}-memory` },
    "the cancellation follows the request",
    async (t) => {
      const { server, stopped } = waiting();
      const wire = new WireRecorder();
      const [ours, theirs] = createChannelPair();
      await server.accept(theirs);
      t.after(() => server.close());
      const channel = new StuckChannel(wire.channel(ours));
      const client = await connect({ channel }, { era });
      t.after(() => client.close());
      const before = wire.frames.length;
      channel.stick();
      const abort = new AbortController();
      const call = client.callTool("wait", {}, { signal: abort.signal });
      while (channel.waiting === 0) await Promise.resolve();
      abort.abort("gave up");
      await rejects(call, (reason) => reason === "gave up");
      equal(wire.frames.length, before);
      channel.release();
      equal(((await stopped.opened) as Error).message, "gave up");
      deepEqual(
        wire.frames.slice(before).flatMap(({ from, message }) => (from === "client" ? [message?.method] : [])),
        ["tools/call", "notifications/cancelled"],
      );
    },
  );

  proves("protocol:cancel:bounded-write", { wire: `${era}-memory` }, "a pipe that takes nothing", async (t) => {
    const { server } = waiting();
    const clock = new FakeClock();
    const [ours, theirs] = createChannelPair();
    await server.accept(theirs);
    t.after(() => server.close());
    const channel = new StuckChannel(ours);
    const client = await connect({ channel }, { era, clock });
    channel.stick();
    const abort = new AbortController();
    const abandoned = client.callTool("wait", {}, { signal: abort.signal });
    const late = client.callTool("wait", {}, { timeoutMs: 50 });
    while (channel.waiting < 2) await Promise.resolve();
    abort.abort("gave up");
    await rejects(abandoned, (reason) => reason === "gave up");
    clock.advance(50);
    await rejects(late, { code: "timeout" });
    equal(client.pending, 0);
    await client.close();
    equal(clock.pending, 0);
  });
}

proves("protocol:cancel:bounded-write", { wire: "legacy-http" }, "a POST that is never taken", async (t) => {
  const clock = new FakeClock();
  const { script, link, call } = await sessionWorld(t, { clock, limits: { courtesyMs: 100 } });
  const abort = new AbortController();
  const answered = call({}, { signal: abort.signal });
  const received = await script.next("tools/call");
  abort.abort("enough");
  await rejects(answered, (reason) => reason === "enough");
  const stuck = await script.next("notifications/cancelled");
  clock.advance(100);
  await stuck.gone;
  await received.gone;
  equal(link.open, 1, "the session's own stream is all that is left");
});

verifies("protocol:cancel:frame-shape", [...channelWires, ...legacyHttp], async ({ connect: dial }) => {
  const reasons = ["plain words", new Error("an error's words"), { no: "words" }, undefined];
  for (const id of [0, "", "7", 7]) {
    for (const reason of reasons) {
      const { server, started, stopped } = waiting();
      const client = await dial(server);
      const abort = new AbortController();
      const call = client.callTool("wait", {}, { id, signal: abort.signal });
      await started.opened;
      abort.abort(reason);
      await rejects(call, (error) => error === abort.signal.reason);
      await stopped.opened;
      const [frame, ...more] = client.wire.notifications("client", "notifications/cancelled");
      equal(more.length, 0);
      equal(frame?.params?.requestId, id);
      if (typeof reason === "string") equal(frame?.params?.reason, reason);
      else if (reason instanceof Error) equal(frame?.params?.reason, reason.message);
      else ok(["string", "undefined"].includes(typeof frame?.params?.reason));
      ok(frame !== undefined && !("id" in frame));
      await client.close();
    }
  }
});

verifies("protocol:cancel:unknown-id-ignored", eachWire, async ({ connect: dial }) => {
  const problems: unknown[] = [];
  const server = new McpServer(me, { onError: (error) => problems.push(error) }).tool("quick", {}, () => "ok");
  const client = await dial(server, { onError: (error) => problems.push(error) });
  await client.callTool("quick", {}, { id: 77 });
  const before = client.wire.frames.filter(({ from }) => from === "server").length;
  await client.notify("notifications/cancelled", { requestId: 999, reason: "nobody" });
  await client.notify("notifications/cancelled", { requestId: 77, reason: "over" });
  equal((await client.callTool("quick")).text, "ok");
  equal(client.wire.frames.filter(({ from }) => from === "server").length, before + 1);
  deepEqual(problems, []);
});

verifies("protocol:cancel:unknown-id-ignored", "by a client", scriptedServers, async ({ peer, connect: dial }) => {
  const problems: unknown[] = [];
  const client = await dial({ onError: (error) => problems.push(error) });
  const call = client.request("vendor/call");
  const { id } = await peer.asked("vendor/call");
  const frames = client.wire.frames.filter(({ from }) => from === "client").length;
  peer.send({ method: "notifications/cancelled", params: { requestId: 4711 } });
  peer.send({ method: "notifications/cancelled", params: { requestId: id } });
  peer.send({ id, result: { still: "served" } });
  equal((await call).still, "served");
  equal(client.wire.frames.filter(({ from }) => from === "client").length, frames);
  deepEqual(problems, []);
});

verifies("protocol:cancel:malformed-ignored", channelWires, async (world) => {
  const started = gate();
  const release = gate();
  let cancelled = false;
  const server = new McpServer(me).tool("wait", {}, async (_, ctx) => {
    ctx.signal.addEventListener("abort", () => {
      cancelled = true;
    });
    started.open();
    await release.opened;
    return "whole";
  });
  const client = await RawClient.open(world, server);
  const answered = client.request(1, "tools/call", { name: "wait", arguments: {} });
  await started.opened;
  client.notify("notifications/cancelled");
  for (const requestId of [undefined, null, true, 1.5, {}, [1], "01", "1.0"]) {
    client.notify("notifications/cancelled", { requestId });
  }
  await client.barrier();
  equal(cancelled, false);
  release.open();
  ok((await answered).result !== undefined);
});

verifies("protocol:cancel:malformed-ignored", "over HTTP", legacyHttp, async ({ connect: dial }) => {
  const started = gate();
  const release = gate();
  const server = new McpServer(me).tool("wait", {}, async (_, ctx) => {
    started.open();
    await release.opened;
    return ctx.signal.aborted ? "aborted" : "whole";
  });
  const client = await dial(server);
  const call = client.callTool("wait", {}, { id: 1 });
  await started.opened;
  await client.notify("notifications/cancelled");
  for (const requestId of [null, true, 1.5, {}, [1]]) await client.notify("notifications/cancelled", { requestId });
  release.open();
  equal((await call).text, "whole");
});

verifies("protocol:request-id:coerced-cancel", channelWires, async (world) => {
  const seen: unknown[] = [];
  let full = gate();
  const server = new McpServer(me).tool("wait", {}, async (_, ctx) => {
    ctx.signal.addEventListener("abort", () => seen.push(ctx.requestId));
    full.open();
    await aborted(ctx.signal);
  });
  const client = await RawClient.open(world, server);
  for (const [id, spelt] of [
    [7, "7"],
    ["8", 8],
    [-7, "-7"],
  ]) {
    full = gate();
    client.send(id, "tools/call", { name: "wait", arguments: {} });
    await full.opened;
    client.notify("notifications/cancelled", { requestId: spelt });
    await client.barrier();
    equal(seen.pop(), id);
  }
  for (const id of [1, "1"]) {
    full = gate();
    client.send(id, "tools/call", { name: "wait", arguments: {} });
    await full.opened;
  }
  for (const id of ["1", 1]) {
    client.notify("notifications/cancelled", { requestId: id });
    await client.barrier();
    deepEqual(seen.splice(0), [id]);
  }
});

verifies("protocol:cancel:reason-logged", [...channelWires, ...legacyHttp], async ({ connect: dial }) => {
  const logged: [string, Record<string, unknown> | undefined][] = [];
  const started = gate();
  const stopped = gate();
  const server = new McpServer(me, { logger: { debug: (message, fields) => logged.push([message, fields]) } }).tool(
    "wait",
    {},
    async (_, ctx) => {
      started.open();
      await aborted(ctx.signal);
      stopped.open();
    },
  );
  const client = await dial(server);
  const abort = new AbortController();
  const call = client.callTool("wait", {}, { id: "the-id", signal: abort.signal });
  await started.opened;
  abort.abort("changed my mind");
  await rejects(call, /^changed my mind$/);
  await stopped.opened;
  await client.listTools();
  const entry = logged.find(([, fields]) => fields?.id === "the-id");
  deepEqual(entry?.[1], { method: "tools/call", id: "the-id", reason: "changed my mind" });
});

verifies("protocol:cancel:late-response-ignored", scriptedServers, async ({ peer, connect: dial }) => {
  const problems: unknown[] = [];
  const client = await dial({ onError: (error) => problems.push(error) });
  for (const answer of [{ result: toolText("late") }, { error: { code: -32800, message: "Request cancelled" } }]) {
    const abort = new AbortController();
    const call = client.callTool("any", {}, { signal: abort.signal });
    const { id } = await peer.asked("tools/call");
    abort.abort("enough");
    await rejects(call, (reason) => reason === "enough");
    await peer.asked("notifications/cancelled");
    peer.send({ id, ...answer });
  }
  const next = client.callTool("next");
  const { id } = await peer.asked("tools/call");
  peer.send({ id, result: toolText("next") });
  equal((await next).text, "next");
  deepEqual(problems, []);
});

verifies(
  "protocol:cancel:in-flight",
  "by a notification of one's own",
  eachWire,
  async ({ connect: dial, era, transport }) => {
    const { server, started, stopped } = waiting();
    const problems: unknown[] = [];
    const client = await dial(server, { onError: (error) => problems.push(error) });
    const call = client.callTool("wait", {}, { id: 7 });
    const ended = rejects(call, { name: "AbortError", message: "by hand" });
    await started.opened;
    // Only the very id is one's own call; the other spelling is for the server to judge, or nobody's.
    if (era === "modern" && (transport === "node" || transport === "fetch")) {
      await client.notify("notifications/cancelled", { requestId: "7" });
      equal(client.pending, 1);
    }
    await client.notify("notifications/cancelled", { requestId: 7, reason: "by hand" });
    await ended;
    equal(client.pending, 0);
    await stopped.opened;
    const isPosted = era === "legacy" || transport === "memory" || transport === "stdio";
    const told = client.wire.notifications("client", "notifications/cancelled");
    deepEqual(
      told.map(({ params }) => params),
      isPosted ? [{ requestId: 7, reason: "by hand" }] : [],
    );
    equal((await client.callTool("next")).text, "next");
    deepEqual(problems, []);
  },
);

verifies("protocol:cancel:discover-not-cancelled", "asked for by hand", modernWires, async ({ connect: dial }) => {
  const [asked, release] = [gate(), gate()];
  let isHeld = false;
  const hold: ServerInterceptor = async (call, next) => {
    if (isHeld && call.method === "server/discover") {
      asked.open();
      await release.opened;
    }
    return next(call);
  };
  const server = new McpServer(me, { interceptors: [hold] }).tool("next", {}, () => "next");
  const client = await dial(server);
  isHeld = true;
  const abort = new AbortController();
  const discovering = client.discover({ signal: abort.signal, cache: "refresh" });
  const ended = rejects(discovering, (reason) => reason === "enough");
  await asked.opened;
  abort.abort("enough");
  await ended;
  release.open();
  equal((await client.callTool("next")).text, "next");
  deepEqual(client.wire.notifications("client", "notifications/cancelled"), []);
});
