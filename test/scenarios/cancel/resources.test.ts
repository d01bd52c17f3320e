import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { getEventListeners } from "node:events";
import { McpServer, RpcError } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { until as turnsUntil } from "../../support/census.js";
import { eachWire } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

verifies("protocol:cancel:frees-resources", eachWire, async ({ connect, transport }) => {
  const rounds = transport === "memory" ? 100 : 10;
  const clock = new FakeClock();
  let running = 0;
  let changed = gate();
  const server = new McpServer(me)
    .tool("wait", {}, async (_, ctx) => {
      running++;
      changed.open();
      void ctx.progress(1);
      await aborted(ctx.signal);
      running--;
      changed.open();
    })
    .tool("next", {}, () => "ok");
  const until = async (count: number) => {
    while (running !== count) {
      changed = gate();
      if (running !== count) await changed.opened;
    }
  };
  const client = await connect(server, { clock });
  await client.callTool("next");
  const timers = clock.pending;
  for (let round = 0; round < rounds; round++) {
    const abort = new AbortController();
    const options = { signal: abort.signal, onProgress: () => {} };
    const calls = Array.from({ length: 100 }, () => client.callTool("wait", {}, options));
    await until(100);
    abort.abort("enough");
    for (const { status } of await Promise.allSettled(calls)) equal(status, "rejected");
    equal(getEventListeners(abort.signal, "abort").length, 0);
    await until(0);
  }
  await client.callTool("next");
  equal(client.pending, 0);
  await client.wire.until(({ exchanges }) => exchanges.every((e) => e.method !== "POST" || e.ended || e.gone));
  const { running: held, streams } = server.stats();
  deepEqual({ held, streams: Math.max(0, streams - 1) }, { held: 0, streams: 0 });
  // What tells of a cancellation over HTTP lets go of its timer when the server has taken it, and this side has heard so.
  await turnsUntil("nothing is timed any more", () => clock.pending <= timers);
});

verifies("protocol:cancel:listener-cleanup", eachWire, async ({ connect }, t) => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on("warning", onWarning);
  t.after(() => process.off("warning", onWarning));
  const server = new McpServer(me)
    .tool("quick", {}, () => "ok")
    .tool("fails", {}, () => {
      throw new RpcError(4001, "no");
    });
  const client = await connect(server);
  const { signal } = new AbortController();
  for (let batch = 0; batch < 10; batch++) {
    const calls = Array.from({ length: 99 }, () => client.callTool("quick", {}, { signal }));
    await rejects(client.callTool("fails", {}, { signal }), { rpcCode: 4001 });
    await Promise.all(calls);
  }
  for (let n = 0; n < 20; n++) await (await client.watch({ toolsListChanged: true }, { signal })).close();
  equal(getEventListeners(signal, "abort").length, 0);
  await new Promise((resolve) => setImmediate(resolve));
  deepEqual(
    warnings.filter(({ name }) => name === "MaxListenersExceededWarning"),
    [],
  );
});

verifies("protocol:cancel:uncooperative-handler", eachWire, async ({ connect }) => {
  const reported: unknown[] = [];
  const bug = new TypeError("a bug, not the cancellation");
  const started = [gate(), gate(), gate()];
  const cancelled = [gate(), gate(), gate()];
  const release = gate();
  const ended = gate();
  let left = 3;
  const server = new McpServer(me, { onError: (error) => reported.push(error) })
    .method("vendor/stubborn", {}, async (params, ctx) => {
      const { n } = params as { n: 0 | 1 | 2 };
      ctx.signal.addEventListener("abort", () => cancelled[n]?.open());
      started[n]?.open();
      try {
        await release.opened;
        if (n === 1) throw bug;
        if (n === 2) throw ctx.signal.reason;
        return { late: true };
      } finally {
        if (--left === 0) ended.open();
      }
    })
    .method("vendor/next", {}, () => ({ ok: true }));
  const client = await connect(server);
  const abort = new AbortController();
  const calls = [0, 1, 2].map((n) => client.request("vendor/stubborn", { n }, { signal: abort.signal }));
  await Promise.all(started.map(({ opened }) => opened));
  abort.abort("stop");
  for (const { status } of await Promise.allSettled(calls)) equal(status, "rejected");
  await Promise.all(cancelled.map(({ opened }) => opened));
  release.open();
  await ended.opened;
  equal((await client.request("vendor/next")).ok, true);
  equal(client.wire.responsesTo("vendor/stubborn").length, 0);
  deepEqual(reported, [bug]);
  ok(client.pending === 0);
});
