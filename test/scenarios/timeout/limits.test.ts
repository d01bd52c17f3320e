import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { RpcError, TimeoutError } from "bowline/client";
import { McpServer } from "bowline/server";
import { FakeClock } from "bowline/testing";
import * as z from "zod";
import { eachWire, legacyWires, modernWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { scriptedServers, tokenOf, toolText } from "../../support/raw-peer.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

/** A tool that waits to be cancelled, and tells when it began and when it was. */
function silent() {
  const state = { started: gate(), stopped: gate<unknown>() };
  const server = new McpServer(me)
    .tool("wait", {}, async (_, ctx) => {
      state.started.open();
      state.stopped.open(await aborted(ctx.signal));
    })
    .tool("next", {}, () => "next");
  return { server, state };
}

/** Runs a call and tells whether it has settled yet, after everything due has run. */
function watch(call: Promise<unknown>) {
  const seen = { settled: false };
  const done = () => {
    seen.settled = true;
  };
  call.then(done, done);
  return {
    async settled(): Promise<boolean> {
      await new Promise((resolve) => setImmediate(resolve));
      return seen.settled;
    },
  };
}

verifies(["protocol:timeout:basic", "errors:timeout:sdkerror-request-timeout"], eachWire, async ({ connect }) => {
  const { server, state } = silent();
  const clock = new FakeClock();
  const client = await connect(server, { clock });
  const call = client.callTool("wait", {}, { timeoutMs: 1000 });
  const watched = watch(call);
  await state.started.opened;
  clock.advance(999);
  equal(await watched.settled(), false);
  clock.advance(1);
  await rejects(call, (error) => {
    ok(error instanceof TimeoutError && !((error as unknown) instanceof RpcError));
    deepEqual([error.code, error.kind, error.afterMs], ["timeout", "idle", 1000]);
    return error.message.includes("tools/call") && error.message.includes("1000");
  });
  equal(client.pending, 0);
});

verifies("errors:timeout:sdkerror-request-timeout", "tells how far the call got", eachWire, async (world) => {
  const begun = gate();
  const server = new McpServer(me)
    .tool("wait", {}, async (_, ctx) => {
      begun.open();
      await aborted(ctx.signal);
    })
    .tool("report", {}, async (_, ctx) => {
      await ctx.progress(1);
      await aborted(ctx.signal);
    });
  const clock = new FakeClock();
  const client = await world.connect(server, { clock });
  const told = (call: Promise<unknown>) =>
    call.then(
      () => undefined,
      ({ name, delivery, retrySafe }) => [name, delivery, retrySafe],
    );
  const waiting = told(client.callTool("wait", {}, { timeoutMs: 1000 }));
  await begun.opened;
  clock.advance(1000);
  deepEqual(await waiting, ["TimeoutError", "sent", false]);
  // Over HTTP, the head of a stream tells that the server has the call.
  const reported = gate();
  const reporting = told(client.callTool("report", {}, { timeoutMs: 1000, onProgress: () => reported.open() }));
  await reported.opened;
  clock.advance(1000);
  const isHttp = world.transport === "node" || world.transport === "fetch";
  deepEqual(await reporting, ["TimeoutError", isHttp ? "answer_lost" : "sent", false]);
});

verifies("errors:timeout:sdkerror-request-timeout", "no code of a peer is one", scriptedServers, async (world) => {
  const client = await world.connect();
  for (const code of [-32001, -32000, 408, -32800]) {
    const call = client.callTool("any");
    const { id } = await world.peer.asked("tools/call");
    world.peer.send({ id, error: { code, message: "Request timed out" } });
    await rejects(call, (error) => error instanceof RpcError && !((error as unknown) instanceof TimeoutError));
  }
});

verifies("protocol:timeout:session-default", "of a client", eachWire, async ({ connect }) => {
  for (const [options, limit] of [
    [{}, 60_000],
    [{ timeoutMs: 5000 }, 5000],
  ] as const) {
    const { server, state } = silent();
    const clock = new FakeClock();
    const client = await connect(server, { clock, ...options });
    const call = client.callTool("wait");
    const watched = watch(call);
    await state.started.opened;
    clock.advance(limit - 1);
    equal(await watched.settled(), false);
    clock.advance(1);
    await rejects(call, { code: "timeout", afterMs: limit });
    await client.close();
  }
});

verifies("protocol:timeout:session-default", "of a server that asks", legacyWires, async ({ connect }) => {
  for (const [options, limit] of [
    [{}, 300_000],
    [{ limits: { askTimeoutMs: 5000 } }, 5000],
  ] as const) {
    const clock = new FakeClock();
    const asked = gate();
    const server = new McpServer(me, { clock, ...options }).tool("ask", {}, async (_, ctx) => {
      const reason = await ctx.elicit("Anybody?", z.object({})).catch((error: unknown) => error);
      return reason instanceof TimeoutError ? `${reason.code} ${reason.afterMs}` : "answered";
    });
    const client = await connect(server, {
      onElicit: async (_, { signal }) => {
        asked.open();
        throw await aborted(signal);
      },
    });
    const call = client.callTool("ask");
    const watched = watch(call);
    await asked.opened;
    clock.advance(limit - 1);
    equal(await watched.settled(), false);
    clock.advance(1);
    equal((await call).text, `timeout ${limit}`);
    await client.close();
  }
});

verifies("protocol:timeout:per-request", eachWire, async ({ connect }) => {
  const { server, state } = silent();
  const clock = new FakeClock();
  const client = await connect(server, { clock, timeoutMs: 1000 });
  const abort = new AbortController();
  const short = client.callTool("wait", {}, { timeoutMs: 10 });
  const long = client.callTool("wait", {}, { timeoutMs: 50_000 });
  const never = client.callTool("wait", {}, { timeoutMs: Number.POSITIVE_INFINITY, signal: abort.signal });
  await state.started.opened;
  const [longSeen, neverSeen] = [watch(long), watch(never)];
  clock.advance(10);
  await rejects(short, { code: "timeout", afterMs: 10 });
  clock.advance(49_989);
  equal(await longSeen.settled(), false);
  clock.advance(1);
  await rejects(long, { code: "timeout", afterMs: 50_000 });
  clock.advance(1e9);
  equal(await neverSeen.settled(), false);
  abort.abort("done waiting");
  await rejects(never, (reason) => reason === "done waiting");
});

verifies(["protocol:timeout:sends-cancellation", "protocol:timeout:session-survives"], eachWire, async (world) => {
  const { server, state } = silent();
  const clock = new FakeClock();
  const client = await world.connect(server, { clock });
  const call = client.callTool("wait", {}, { timeoutMs: 100 });
  await state.started.opened;
  clock.advance(100);
  await rejects(call, { code: "timeout" });
  ok((await state.stopped.opened) instanceof Error);
  equal((await client.callTool("next")).text, "next");
  const byLeaving = world.era === "modern" && (world.transport === "node" || world.transport === "fetch");
  equal(client.wire.notifications("client", "notifications/cancelled").length, byLeaving ? 0 : 1);
  equal(client.wire.responsesTo("tools/call").length, 1);
});

verifies(["protocol:timeout:reset-on-progress", "protocol:timeout:max-total"], eachWire, async ({ connect }) => {
  const clock = new FakeClock();
  const ticks: (() => void)[] = [];
  const ready = gate();
  const server = new McpServer(me).tool("slow", {}, async (_, ctx) => {
    let n = 0;
    ticks.push(() => void ctx.progress(++n));
    if (ticks.length === 2) ready.open();
    await aborted(ctx.signal);
  });
  const client = await connect(server, { clock });
  let heard = gate();
  let waiting = 2;
  const onProgress = () => {
    if (--waiting === 0) heard.open();
  };
  const idle = client.callTool("slow", {}, { timeoutMs: 100, deadlineMs: 1000, onProgress });
  const total = client.callTool("slow", {}, { timeoutMs: Number.POSITIVE_INFINITY, deadlineMs: 100, onProgress });
  const [idleSeen, totalSeen] = [watch(idle), watch(total)];
  await ready.opened;
  // Signs of life every half of the idle time: only the one limited by the total time ends.
  for (let elapsed = 50; elapsed < 1000; elapsed += 50) {
    clock.advance(50);
    equal(await totalSeen.settled(), elapsed >= 100, `total at ${elapsed}`);
    equal(await idleSeen.settled(), false, `idle at ${elapsed}`);
    heard = gate();
    waiting = elapsed >= 100 ? 1 : 2;
    for (const tick of ticks) tick();
    await heard.opened;
  }
  await rejects(total, { kind: "deadline", afterMs: 100 });
  clock.advance(50);
  await rejects(idle, { kind: "deadline", afterMs: 1000 });
});

verifies("protocol:timeout:reset-on-progress", "not by that of another", scriptedServers, async ({ peer, connect }) => {
  const clock = new FakeClock();
  const client = await connect({ clock });
  const heard = gate();
  const call = client.callTool("one", {}, { timeoutMs: 100, onProgress: () => {} });
  const other = client.callTool("two", {}, { timeoutMs: 1000, onProgress: () => heard.open() });
  const [, second] = [await peer.asked("tools/call"), await peer.asked("tools/call")];
  clock.advance(99);
  const token = tokenOf(second);
  peer.send({ method: "notifications/progress", params: { progressToken: token, progress: 1 } });
  peer.send({ method: "notifications/progress", params: { progressToken: "nobody's", progress: 1 } });
  await heard.opened;
  clock.advance(1);
  await rejects(call, { code: "timeout", kind: "idle" });
  peer.send({ id: second.id, result: toolText("fine") });
  equal((await other).text, "fine");
});

verifies("protocol:timeout:max-total", "by default", scriptedServers, async ({ peer, connect }) => {
  const clock = new FakeClock();
  const client = await connect({ clock });
  let heard = gate();
  const call = client.callTool("endless", {}, { onProgress: () => heard.open() });
  const failed = rejects(call, { code: "timeout", kind: "deadline", afterMs: 3_600_000 });
  const asked = await peer.asked("tools/call");
  const token = tokenOf(asked);
  const watched = watch(call);
  for (let minute = 1; minute <= 120 && !(await watched.settled()); minute++) {
    heard = gate();
    peer.send({ method: "notifications/progress", params: { progressToken: token, progress: minute } });
    await heard.opened;
    clock.advance(30_000);
  }
  await failed;
});

verifies("protocol:timeout:late-response-dropped", scriptedServers, async ({ peer, connect }) => {
  const problems: unknown[] = [];
  const clock = new FakeClock();
  const client = await connect({ clock, onError: (error) => problems.push(error) });
  const late = client.callTool("late", {}, { timeoutMs: 100 });
  const { id } = await peer.asked("tools/call");
  clock.advance(100);
  await rejects(late, { code: "timeout" });
  const call = client.callTool("right");
  const next = await peer.asked("tools/call");
  peer.send({ id, result: toolText("too late") });
  peer.send({ id, error: { code: -32603, message: "too late" } });
  peer.send({ id: next.id, result: toolText("right") });
  equal((await call).text, "right");
  deepEqual(problems, []);
});

verifies("protocol:timeout:listen-exempt", modernWires, async ({ connect }) => {
  const clock = new FakeClock();
  const server = new McpServer(me).tool("one", {}, () => "1");
  const client = await connect(server, { clock });
  const watching = await client.watch({ toolsListChanged: true });
  clock.advance(1e9);
  server.tool("two", {}, () => "2");
  const { value } = await watching[Symbol.asyncIterator]().next();
  deepEqual(value, { kind: "tools" });
  await watching.close();
});

verifies(
  "protocol:timeout:listen-exempt",
  "waiting for the acknowledgment is bounded",
  scriptedServers.filter(({ name }) => name.startsWith("modern")),
  async ({ peer, connect }) => {
    const clock = new FakeClock();
    const client = await connect({ clock, timeoutMs: 1000 });
    const opening = client.watch({ toolsListChanged: true });
    const { id } = await peer.asked("subscriptions/listen");
    clock.advance(1000);
    await rejects(opening, { code: "timeout" });
    equal((await peer.asked("notifications/cancelled")).params?.requestId, id);
    equal(client.pending, 0);
  },
);

verifies("protocol:timeout:mrtr-total", modernWires, async ({ connect }) => {
  const clock = new FakeClock();
  let asked = gate<AbortSignal>();
  const answers = [gate(), gate()];
  let round = 0;
  const server = new McpServer(me).tool("interview", {}, async (_, ctx) => {
    await ctx.elicit("First?", z.object({}));
    await ctx.elicit("Second?", z.object({}));
    return "all told";
  });
  const client = await connect(server, {
    clock,
    onElicit: async (_, { signal }) => {
      asked.open(signal);
      await Promise.race([answers[round++]?.opened, aborted(signal)]);
      return { action: "accept", content: {} };
    },
  });
  const call = client.callTool("interview", {}, { timeoutMs: 100, deadlineMs: 1000 });
  const failed = rejects(call, { code: "timeout", kind: "deadline", afterMs: 1000 });
  await asked.opened;
  clock.advance(600);
  asked = gate();
  answers[0]?.open();
  const signal = await asked.opened;
  clock.advance(400);
  await failed;
  ok(signal.aborted);
  answers[1]?.open();
  await client.listTools();
  equal(client.wire.requests("tools/call").length, 2);
});
