import { deepEqual, equal, ok } from "node:assert/strict";
import { z } from "zod";
import { gate } from "../../support/gate.js";
import { answer, blocks, messages, settle, status, textOf, until } from "../../support/legacy-endpoint.js";
import { at, NodesWorld } from "../../support/nodes-world.js";
import { proves } from "../../support/verifies.js";

const wire = "legacy-http";

for (const resumable of [false, true]) {
  const name = resumable ? "with an event log" : "without an event log";

  proves(
    ["cluster:session:any-node", "cluster:session:end-everywhere"],
    { wire },
    `any process serves a session (${name})`,
    async (t) => {
      const world = new NodesWorld(t, { resumable });
      const nodes = ["one", "other"].map((text) => world.node(({ server }) => server.tool("where", {}, () => text)));
      const [one, other] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
      const client = await one.endpoint.open();
      const reply = await answer(at(other, client).call(1, "where"));
      equal(textOf(reply), "other");
      equal(textOf(await answer(client.call(2, "where"))), "one");
      await status(at(other, client).delete(), 200);
      await settle();
      await status(client.call(3, "where"), 404);
      await status(at(other, client).call(4, "where"), 404);
      equal(one.endpoint.stats.sessions + other.endpoint.stats.sessions, 0);
    },
  );

  proves(
    "cluster:call:cancel-anywhere",
    { wire },
    `a cancellation reaches the process that runs the call (${name})`,
    async (t) => {
      const world = new NodesWorld(t, { resumable });
      const started = gate();
      const ended = gate();
      const one = world.node(({ server }) =>
        server.tool("wait", {}, async (_args, { signal }) => {
          signal.addEventListener("abort", () => ended.open());
          started.open();
          await ended.opened;
          return "late";
        }),
      );
      const other = world.node();
      const client = await one.endpoint.open();
      const call = client.call(1, "wait");
      await started.opened;
      await status(at(other, client).cancel(1), 202);
      await ended.opened;
      await call.done;
      deepEqual(messages(call), []);
    },
  );

  proves(
    ["cluster:question:answer-anywhere", "cluster:question:own-session"],
    { wire },
    `an answer reaches the process that asked (${name})`,
    async (t) => {
      const world = new NodesWorld(t, { resumable });
      const one = world.node(({ server }) =>
        server.tool("ask", {}, async (_args, ctx) => {
          const answer = await ctx.elicit("Name?", z.object({ name: z.string() }));
          return JSON.stringify(answer);
        }),
      );
      const other = world.node();
      const client = await one.endpoint.open("2025-11-25", { elicitation: {} });
      const call = client.call(1, "ask");
      await until(() => messages(call).length === 1, "the question");
      const [question] = messages(call);
      const result = { action: "accept", content: { name: "Ada" } };
      const strange = await other.endpoint.open("2025-11-25", { elicitation: {} });
      await status(strange.post({ jsonrpc: "2.0", id: question?.id, result: { action: "decline" } }), 202);
      await status(at(other, client).post({ jsonrpc: "2.0", id: question?.id, result }), 202);
      await call.done;
      ok(String(textOf(messages(call)[1])).includes("Ada"), call.body());
    },
  );
}

proves(
  "cluster:stream:resume-anywhere",
  { wire },
  "a stream is resumed in another process while its call runs",
  async (t) => {
    const world = new NodesWorld(t, { resumable: true });
    const [started, more] = [gate(), gate()];
    const one = world.node(({ server }) =>
      server.tool("steps", {}, async (_args, ctx) => {
        await ctx.progress(1);
        started.open();
        await more.opened;
        await ctx.progress(2);
        return "done";
      }),
    );
    const other = world.node();
    const client = await one.endpoint.open();
    const call = client.call(1, "steps");
    await started.opened;
    await until(() => messages(call).length === 1, "the first message");
    const last = blocks(call).at(-1)?.id;
    call.disconnect();
    const resumed = at(other, client).get(last);
    await settle();
    more.open();
    await resumed.done;
    deepEqual(
      messages(resumed).map(({ method, id }) => method ?? id),
      ["notifications/progress", 1],
    );
  },
);

proves("cluster:rate:all-nodes", { wire }, "the calls of a principal count in all processes", async (t) => {
  const world = new NodesWorld(t, {}, { rateLimit: { burst: 4, refillMs: 1_000 } });
  const [one, other] = [world.node(), world.node()];
  const from = { principal: "ada" };
  const client = await one.endpoint.open(undefined, {}, from);
  await status(at(other, client, from).request(1, "tools/list"), 200);
  await status(client.request(2, "tools/list"), 200);
  await status(at(other, client, from).request(3, "tools/list"), 200);
  equal((await answer(client.request(4, "tools/list"))).error?.code, -32005);
  equal((await answer(at(other, client, from).request(5, "tools/list"))).error?.code, -32005);
  world.clock.advance(1_000);
  await status(at(other, client, from).request(6, "tools/list"), 200);
});
