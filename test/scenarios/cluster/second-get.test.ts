import { deepEqual, equal } from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Logs } from "bowline/cluster";
import { gate } from "../../support/gate.js";
import { blocks, messages, settle, status, textOf, until } from "../../support/legacy-endpoint.js";
import { at, type Node, NodesWorld, replaceParts } from "../../support/nodes-world.js";
import { proves } from "../../support/verifies.js";

const wire = "legacy-http";
const TOOLS = "notifications/tools/list_changed";
const methods = (exchange: Parameters<typeof messages>[0]) => messages(exchange).map(({ method }) => method);

function open(t: TestContext, resumable: boolean): [NodesWorld, Node, Node] {
  const world = new NodesWorld(t, { resumable });
  const node = () =>
    world.node(({ server }) => {
      server
        .tool("quick", {}, () => "done")
        .tool("wait", {}, (_args, ctx) => {
          void ctx.progress(1);
          return new Promise<string>((resolve) => ctx.signal.addEventListener("abort", () => resolve("aborted")));
        });
    });
  return [world, node(), node()];
}

for (const resumable of [false, true]) {
  const name = resumable ? "with an event log" : "without an event log";

  proves(
    ["cluster:standalone:second-get", "cluster:standalone:newest"],
    { wire },
    `409 in the process that has a live stream, 200 in another (${name})`,
    async (t) => {
      const [, one, other] = open(t, resumable);
      const client = await one.endpoint.open();
      const first = client.get();
      await settle();
      for (const node of [one, other]) {
        const asked = messages(first).length;
        const second = client.get();
        await until(() => messages(first).length > asked, "the ping");
        const ping = messages(first).at(-1);
        equal(ping?.method, "ping");
        await status(at(node, client).post({ jsonrpc: "2.0", id: ping?.id, result: {} }), 202);
        await status(second, 409);
      }
      one.endpoint.server.tool("b", {}, () => "b");
      await until(() => methods(first).includes(TOOLS), "the change");
      const elsewhere = at(other, client).get();
      await first.done;
      one.endpoint.server.tool("c", {}, () => "c");
      await until(() => methods(elsewhere).includes(TOOLS), "the next change");
    },
  );

  proves(
    "cluster:standalone:second-get",
    { wire },
    `a stream whose client does not answer gives way (${name})`,
    async (t) => {
      const [world, one] = open(t, resumable);
      const client = await one.endpoint.open();
      const dead = client.get();
      await settle();
      const second = client.get();
      await until(() => methods(dead).includes("ping"), "the ping");
      world.clock.advance(5_000);
      await dead.done;
      await until(() => methods(second).includes(TOOLS), "the change that may have been missed");
      equal(methods(second).includes("ping"), false);
    },
  );
}

proves("cluster:stream:nothing-left", { wire }, "answered, failed and cancelled, in both processes", async (t) => {
  const [, one, other] = open(t, true);
  const client = await one.endpoint.open();
  const calls = [client.call(1, "quick"), client.request(2, "made/up"), client.call(3, "wait")];
  await until(() => messages(calls[2] as (typeof calls)[0]).length === 1, "the progress");
  await status(at(other, client).cancel(3), 202);
  for (const call of calls) {
    await call.done;
    for (const node of [one, other])
      equal((await status(at(node, client).get(blocks(call).at(-1)?.id), 204)).body(), "");
  }
  // What is left of a stream that is over comes before its end.
  const cancelled = calls[2] as (typeof calls)[0];
  const resumed = await status(at(other, client).get(blocks(cancelled)[0]?.id), 200);
  deepEqual(methods(resumed), ["notifications/progress"]);
  deepEqual([one.endpoint.stats.streams, other.endpoint.stats.streams], [0, 0]);
});

proves(
  "cluster:stream:resume-anywhere",
  { wire },
  "a response that is stored while the stream is looked at",
  async (t) => {
    const world = new NodesWorld(t, { resumable: true });
    const release = gate();
    const one = world.node(({ server }) => {
      server.tool("slow", {}, async () => {
        await release.opened;
        return "done";
      });
    });
    const other = world.node(undefined, ({ logs }) => {
      const readAfter: Logs["readAfter"] = async (log, stream, id) => {
        const entries = await logs.readAfter(log, stream, id);
        release.open();
        await settle();
        return entries;
      };
      return { logs: replaceParts(logs, { readAfter }) };
    });
    const client = await one.endpoint.open();
    const call = client.call(1, "slow");
    await until(() => blocks(call).length === 1, "the position");
    call.disconnect();
    const resumed = await status(at(other, client).get(blocks(call)[0]?.id), 200);
    equal(textOf(messages(resumed).at(-1)), "done");
  },
);

proves("cluster:stream:nothing-left", { wire }, "a quiet stream repeats the position, in both processes", async (t) => {
  const [, one, other] = open(t, true);
  const client = await one.endpoint.open();
  const call = client.call(1, "wait");
  await until(() => messages(call).length === 1, "the progress");
  call.disconnect();
  const id = blocks(call).at(-1)?.id;
  for (const node of [one, other]) {
    const resumed = at(node, client).get(id);
    await until(() => blocks(resumed).length > 0, "the position");
    deepEqual(blocks(resumed), [{ id, data: "" }]);
    resumed.disconnect();
  }
  await status(client.cancel(1), 202);
});

proves("hosting:resume:bad-event-id", { wire }, "in the processes of a cluster", async (t) => {
  const [, one, other] = open(t, true);
  const client = await one.endpoint.open();
  for (const node of [one, other, one]) {
    const stream = at(node, client).get("gnonsense");
    await until(() => methods(stream).includes(TOOLS), "the change that may have been missed");
    await settle();
    const heard = methods(stream).length;
    other.endpoint.server.changes.toolsChanged();
    await until(() => methods(stream).length > heard, "the change");
    await status(at(node, client).get("cnonsense"), 204);
  }
});
