import { equal, ok, rejects } from "node:assert/strict";
import { ConnectionError, connect, McpError } from "bowline/client";
import { type Channel, McpServer } from "bowline/server";
import { createChannelPair, FakeClock } from "bowline/testing";
import { systemClock } from "#src/call/clock.js";
import { Client } from "#src/client/client.js";
import { ClientCore } from "#src/client/runtime.js";
import { defaultValidator } from "#src/schema/json-schema/validator.js";
import { channelWires, eachWire, legacyWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { RawClient, scriptedServers } from "../../support/raw-peer.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const CLOSED = ["protocol:error:connection-closed", "typescript:protocol:error:connection-closed"];
const question = { messages: [], maxTokens: 1 };

/** A tool that blocks until its signal fires, three at a time. */
function blocking(most = 3) {
  const full = gate();
  const reasons: unknown[] = [];
  const all = gate();
  let entered = 0;
  const server = new McpServer(me).tool("wait", {}, async (_, ctx) => {
    if (++entered === most) full.open();
    reasons.push(await aborted(ctx.signal));
    if (reasons.length === most) all.open();
  });
  return { server, full, reasons, all };
}

verifies(CLOSED, "by this side", eachWire, async ({ connect: dial }) => {
  const { server, full } = blocking();
  const clock = new FakeClock();
  const closes: unknown[] = [];
  const client = await dial(server, { clock, onClose: (reason) => closes.push(reason) });
  const calls = [1, 2, 3].map(() => client.callTool("wait"));
  await full.opened;
  const outcomes = Promise.allSettled(calls);
  await client.close();
  for (const outcome of await outcomes) {
    ok(outcome.status === "rejected" && outcome.reason instanceof ConnectionError);
    equal(outcome.reason.code, "connection_error");
  }
  equal(closes.length, 1);
  equal(client.pending, 0);
  equal(clock.pending, 0);
});

verifies(CLOSED, "by the other side", scriptedServers, async ({ peer, connect: dial }) => {
  const clock = new FakeClock();
  const closes: unknown[] = [];
  const client = await dial({ clock, onClose: (reason) => closes.push(reason) });
  const calls = [1, 2, 3].map(() => client.callTool("wait"));
  for (const _ of calls) await peer.asked("tools/call");
  const outcomes = Promise.allSettled(calls);
  await peer.close();
  for (const outcome of await outcomes) {
    ok(outcome.status === "rejected" && outcome.reason instanceof ConnectionError);
  }
  equal(closes.length, 1);
  equal(clock.pending, 0);
  await client.close();
  equal(closes.length, 1);
});

for (const era of ["modern", "legacy"] as const) {
  proves(CLOSED, { wire: `${era}-stdio` }, "by a process that is killed", async (t) => {
    const program = `
      import { McpServer } from "bowline/server";
      import { serveStdio } from "bowline/node";
      const server = new McpServer({ name: "child", version: "1" })
        .tool("pid", {}, () => String(process.pid))
        .tool("wait", {}, async (_, ctx) => { await ctx.progress(1); await new Promise(() => {}); });
      await serveStdio(server);`;
    let closes = 0;
    const client = await connect(
      { command: process.execPath, args: ["--input-type=module", "-e", program], stderr: "ignore" },
      { era, onClose: () => closes++ },
    );
    t.after(() => client.close());
    const pid = Number((await client.callTool("pid")).text);
    const entered = [gate(), gate(), gate()];
    const calls = entered.map(({ open }) => client.callTool("wait", {}, { onProgress: () => open() }));
    await Promise.all(entered.map(({ opened }) => opened));
    const outcomes = Promise.allSettled(calls);
    process.kill(pid, "SIGKILL");
    for (const outcome of await outcomes) {
      ok(outcome.status === "rejected" && outcome.reason instanceof ConnectionError);
      equal(outcome.reason.exitSignal, "SIGKILL");
    }
    equal(closes, 1);
  });
}

verifies("typescript:protocol:error:not-connected", eachWire, async ({ connect: dial }) => {
  const closed = await dial(new McpServer(me).tool("one", {}, () => "1"));
  await closed.close();
  const frames = closed.wire.frames.length;
  for (const client of [
    closed,
    Reflect.construct(Client, [new ClientCore({}, systemClock, async () => defaultValidator)]),
  ]) {
    for (const use of [
      () => client.callTool("one"),
      () => client.listTools(),
      () => client.tools().all(),
      () => client.prompts().all(),
      () => client.getPrompt("p"),
      () => client.resources().all(),
      () => client.resourceTemplates().all(),
      () => client.readResource("a:b"),
      () => client.complete({ type: "ref/prompt", name: "p" }, { name: "a", value: "" }),
      () => client.setLogLevel("info"),
      () => client.watch({ toolsListChanged: true }),
      () => client.request("vendor/x"),
      () => client.ping(),
    ]) {
      const used: Promise<unknown> = use();
      await rejects(used, (error) => error instanceof ConnectionError && error.message.startsWith("Not connected"));
    }
  }
  equal(closed.wire.frames.length, frames);
});

verifies("protocol:error:reconnect-no-stale-timers", eachWire, async ({ connect: dial }) => {
  const { server, full } = blocking();
  const clock = new FakeClock();
  const options = { clock, timeoutMs: 1000 };
  const first = await dial(server, options);
  const calls = [1, 2, 3].map(() => first.callTool("wait"));
  const outcomes = Promise.allSettled(calls);
  await full.opened;
  await first.close();
  await outcomes;
  const fresh = new McpServer(me).tool("one", {}, () => "1");
  const second = await dial(fresh, options);
  clock.advance(10_000);
  equal((await second.callTool("one")).text, "1");
  equal(second.wire.notifications("client", "notifications/cancelled").length, 0);
  equal(second.pending, 0);
  for (const { from, message } of second.wire.frames) ok(from === "server" || message?.params?.requestId === undefined);
});

verifies("protocol:close:aborts-handlers", "the client goes", eachWire, async ({ connect: dial }) => {
  const { server, full, reasons, all } = blocking();
  const client = await dial(server);
  const outcomes = Promise.allSettled([1, 2, 3].map(() => client.callTool("wait")));
  await full.opened;
  await client.close();
  await outcomes;
  await all.opened;
  for (const reason of reasons) ok(reason instanceof ConnectionError, String(reason));
});

verifies("protocol:close:aborts-handlers", "the server closes", eachWire, async ({ connect: dial }) => {
  const { server, full, reasons, all } = blocking();
  const client = await dial(server);
  const outcomes = Promise.allSettled([1, 2, 3].map(() => client.callTool("wait")));
  await full.opened;
  await server.close();
  await all.opened;
  for (const reason of reasons) {
    ok(reason instanceof McpError && ["server_closing", "connection_error"].includes(reason.code), String(reason));
  }
  for (const { status } of await outcomes) equal(status, "rejected");
});

verifies("protocol:close:aborts-handlers", "of a client", legacyWires, async ({ connect: dial }) => {
  const asked = gate();
  const stopped = gate<unknown>();
  const server = new McpServer(me).tool("ask", {}, (_, ctx) => ctx.sample(question).then(String, String));
  const client = await dial(server, {
    onSample: async (_, { signal }) => {
      asked.open();
      const reason = await aborted(signal);
      stopped.open(reason);
      throw reason;
    },
  });
  const call = client.callTool("ask").catch(() => {});
  await asked.opened;
  await client.close();
  ok((await stopped.opened) instanceof ConnectionError);
  await call;
});

verifies("protocol:close:answers-in-flight", channelWires, async (world) => {
  const { server, full } = blocking(1);
  const client = await RawClient.open(world, server);
  const answered = client.request(1, "tools/call", { name: "wait", arguments: {} });
  await full.opened;
  await server.close();
  equal((await answered).error?.code, -32603);
  await client.peer.closed;
  equal(client.peer.answersTo(1).length, 1);
});

for (const era of ["modern", "legacy"] as const) {
  proves("protocol:close:answers-in-flight", { wire: `${era}-memory` }, "a wedged channel", async () => {
    const clock = new FakeClock();
    const entered = gate();
    const server = new McpServer(me, { clock }).tool("wait", {}, async (_, ctx) => {
      entered.open();
      await aborted(ctx.signal);
    });
    const [ours, theirs] = createChannelPair();
    const wedged: Channel = {
      open: (events) => theirs.open(events),
      send: (text) => theirs.send(text),
      close: () => new Promise(() => {}),
    };
    const served = await server.accept(wedged);
    const client = await connect({ channel: ours }, { era });
    const call = client.callTool("wait").catch((error: unknown) => error);
    await entered.opened;
    const closing = server.close();
    await clock.started(1);
    clock.advance(5_000);
    await closing;
    await served.closed;
    ok((await call) instanceof Error);
    await client.close();
  });
}

verifies("protocol:close:notify-dropped", eachWire, async ({ connect: dial }) => {
  const kept = gate<{ notify(method: string): unknown }>();
  const server = new McpServer(me).tool("keep", {}, (_, ctx) => {
    kept.open(ctx);
    return "kept";
  });
  const client = await dial(server);
  await client.callTool("keep");
  await client.close();
  const frames = client.wire.frames.length;
  await client.notify("vendor/late", { a: 1 });
  await (await kept.opened).notify("vendor/late");
  await server.close();
  await (await kept.opened).notify("vendor/later");
  equal(client.wire.frames.length, frames);
});

verifies(
  "protocol:close:notify-dropped",
  "the other side has gone",
  scriptedServers,
  async ({ peer, connect: dial }) => {
    const gone = gate();
    const client = await dial({ onClose: () => gone.open() });
    await peer.close();
    await gone.opened;
    const frames = client.wire.frames.length;
    await client.notify("vendor/late");
    equal(client.wire.frames.length, frames);
  },
);

verifies("protocol:close:idempotent", "of a client", eachWire, async ({ connect: dial }) => {
  let closes = 0;
  const server = new McpServer(me).tool("one", {}, () => "1");
  const client = await dial(server, {
    onClose: () => {
      closes++;
      void client.close();
    },
  });
  await client.callTool("one");
  await Promise.all([client.close(), client.close()]);
  await client.close();
  equal(closes, 1);
});

verifies(
  "protocol:close:idempotent",
  "from a handler of a server",
  eachWire,
  async ({ connect: dial, transport, era }) => {
    const done = gate();
    const server: McpServer = new McpServer(me);
    server.tool("stop", {}, async () => {
      await Promise.all([server.close(), server.close()]);
      done.open();
      return "stopped";
    });
    const client = await dial(server);
    const isStream = era === "legacy" && (transport === "node" || transport === "fetch");
    const failure = isStream ? { delivery: "answer_lost" } : { rpcCode: -32603 };
    await rejects(client.callTool("stop"), failure);
    await done.opened;
    await server.close();
  },
);

verifies("protocol:close:idempotent", "from a handler of a client", legacyWires, async ({ connect: dial }) => {
  let closes = 0;
  const done = gate();
  const server = new McpServer(me).tool("ask", {}, (_, ctx) => ctx.sample(question).then(String, String));
  const client = await dial(server, {
    onClose: () => closes++,
    onSample: async () => {
      await client.close();
      done.open();
      return { role: "assistant", model: "m", content: { type: "text", text: "" } };
    },
  });
  await rejects(client.callTool("ask"), (error) => error instanceof ConnectionError);
  await done.opened;
  equal(closes, 1);
});
