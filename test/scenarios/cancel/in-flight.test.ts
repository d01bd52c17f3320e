import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { McpServer } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { eachWire, type RecordedClient, type World } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

/** Whether a call is cancelled by leaving its exchange instead of by a message. */
const byLeaving = ({ era, transport }: World) => era === "modern" && (transport === "node" || transport === "fetch");

const cancellations = (client: RecordedClient) => client.wire.notifications("client", "notifications/cancelled");

verifies(
  ["protocol:cancel:abort-signal", "protocol:cancel:in-flight", "protocol:cancel:handler-abort-propagates"],
  eachWire,
  async (world) => {
    const started = gate();
    const stopped = gate<unknown>();
    const server = new McpServer(me)
      .tool("wait", {}, async (_, ctx) => {
        started.open();
        const reason = await aborted(ctx.signal);
        stopped.open(reason);
        throw reason;
      })
      .tool("next", {}, () => "still here");
    const client = await world.connect(server);
    const abort = new AbortController();
    const call = client.callTool("wait", {}, { signal: abort.signal });
    await started.opened;
    abort.abort("enough");
    await rejects(call, (reason) => reason === "enough");
    const reason = await stopped.opened;
    ok(reason instanceof Error);
    if (!byLeaving(world)) equal(reason.message, "enough");
    equal((await client.callTool("next")).text, "still here");
    equal(client.wire.responsesTo("tools/call").length, 1);
    equal(client.pending, 0);
  },
);

verifies("protocol:cancel:abort-signal", "does not wait for the peer", eachWire, async ({ connect }) => {
  const started = gate();
  const release = gate();
  const server = new McpServer(me).tool("stubborn", {}, async () => {
    started.open();
    await release.opened;
  });
  const client = await connect(server);
  const abort = new AbortController();
  const call = client.callTool("stubborn", {}, { signal: abort.signal });
  await started.opened;
  let settled = false;
  const caught = call.catch(() => {
    settled = true;
  });
  abort.abort(new Error("now"));
  for (let turn = 0; turn < 20 && !settled; turn++) await Promise.resolve();
  ok(settled, "the rejection takes no turn of the event loop");
  await caught;
  release.open();
});

verifies("protocol:cancel:already-aborted", eachWire, async ({ connect }) => {
  const client = await connect(new McpServer(me).tool("never", {}, () => "ran"));
  const before = client.wire.frames.length;
  const reason = new Error("too late");
  await rejects(client.callTool("never", {}, { signal: AbortSignal.abort(reason) }), (error) => error === reason);
  await client.listTools();
  deepEqual(
    client.wire.frames.slice(before).flatMap(({ from, message }) => (from === "client" ? [message?.method] : [])),
    ["tools/list"],
  );
  equal(client.pending, 0);
});

verifies("protocol:cancel:exactly-once", "several causes at once", eachWire, async (world) => {
  const clock = new FakeClock();
  const started = gate();
  const stopped = gate<unknown>();
  const server = new McpServer(me)
    .tool("wait", {}, async (_, ctx) => {
      started.open();
      stopped.open(await aborted(ctx.signal));
    })
    .tool("next", {}, () => "ok");
  const client = await world.connect(server, { clock });
  const abort = new AbortController();
  const call = client.callTool("wait", {}, { signal: abort.signal, timeoutMs: 1000, deadlineMs: 1000 });
  await started.opened;
  clock.advance(1000);
  abort.abort("as well");
  await rejects(call, { code: "timeout" });
  await stopped.opened;
  await client.callTool("next");
  equal(cancellations(client).length, byLeaving(world) ? 0 : 1);
  equal(client.wire.exchanges.filter(({ gone }) => gone).length <= 1, true);
});

verifies("protocol:cancel:exactly-once", "none for a call that has settled", eachWire, async ({ connect }) => {
  const client = await connect(new McpServer(me).tool("quick", {}, () => "done"));
  const abort = new AbortController();
  equal((await client.callTool("quick", {}, { signal: abort.signal })).text, "done");
  abort.abort("late");
  await client.callTool("quick");
  equal(cancellations(client).length, 0);
  equal(client.wire.exchanges.filter(({ method, gone, ended }) => method === "POST" && gone && !ended).length, 0);
});

verifies("protocol:cancel:abort-scoped", eachWire, async ({ connect }) => {
  const started = [gate(), gate(), gate(), gate()];
  const release = gate();
  const reasons: unknown[] = [];
  const server = new McpServer(me).tool("wait", { input: { type: "object" } }, async (args, ctx) => {
    const { n } = args as { n: number };
    started[n]?.open();
    ctx.signal.addEventListener("abort", () => reasons.push(n));
    await Promise.race([release.opened, aborted(ctx.signal)]);
    return `answer ${n}`;
  });
  const client = await connect(server);
  const [one, shared] = [new AbortController(), new AbortController()];
  const calls = [one, new AbortController(), shared, shared].map(({ signal }, n) => {
    return client.callTool("wait", { n }, { signal });
  });
  await Promise.all(started.map(({ opened }) => opened));
  one.abort("only me");
  await rejects(calls[0] as Promise<unknown>, (reason) => reason === "only me");
  shared.abort("both of us");
  for (const call of calls.slice(2)) await rejects(call, (reason) => reason === "both of us");
  release.open();
  equal((await calls[1])?.text, "answer 1");
  ok(!reasons.includes(1));
});

verifies("protocol:cancel:server-survives", eachWire, async ({ connect }) => {
  const running = new Set<number>();
  const full = gate();
  const empty = gate();
  const server = new McpServer(me)
    .tool("wait", { input: { type: "object" } }, async (args, ctx) => {
      const { n } = args as { n: number };
      if (running.add(n).size === 10) full.open();
      await aborted(ctx.signal);
      if (running.delete(n) && running.size === 0) empty.open();
    })
    .tool("next", {}, () => "serving");
  const client = await connect(server);
  const abort = new AbortController();
  const calls = Array.from({ length: 10 }, (_, n) => client.callTool("wait", { n }, { signal: abort.signal }));
  await full.opened;
  abort.abort("all");
  const settled = await Promise.allSettled(calls);
  ok(settled.every(({ status }) => status === "rejected"));
  await empty.opened;
  equal((await client.callTool("next")).text, "serving");
});
