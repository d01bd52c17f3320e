import { deepEqual, equal, match } from "node:assert/strict";
import { gate } from "../../support/gate.js";
import { answer, blocks, messages, settle, status, textOf, until } from "../../support/legacy-endpoint.js";
import { at, NodesWorld } from "../../support/nodes-world.js";
import { proves } from "../../support/verifies.js";

const wire = "legacy-http";

/** Lets time pass in steps, so that everything that waits for it can go on. */
async function pass(world: NodesWorld, ms: number, step = 500): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    world.clock.advance(step);
    await settle();
  }
}

proves(
  "cluster:node:death",
  { wire },
  "a call of a process that dies ends with an error for the client that resumes it",
  async (t) => {
    const world = new NodesWorld(t, { resumable: true });
    const started = gate();
    let aborted = false;
    const one = world.node(({ server }) =>
      server.tool("wait", {}, async (_args, { signal }) => {
        signal.addEventListener("abort", () => {
          aborted = true;
        });
        started.open();
        await new Promise(() => {});
        return "";
      }),
    );
    const other = world.node();
    const client = await one.endpoint.open();
    await settle();
    const call = client.call(7, "wait");
    await started.opened;
    const first = blocks(call)[0]?.id;
    const resumed = at(other, client).get(first);
    await settle();
    await pass(world, 1_000);
    world.state.cut(one.cluster);
    await pass(world, 30_000);
    await resumed.done;
    const [message] = messages(resumed);
    equal(message?.id, 7);
    match(message?.error?.message ?? "", /process that served this request has died/);
    world.state.mend(one.cluster);
    await pass(world, 15_000);
    equal(aborted, false, "the process notices it at its next message");
  },
);

proves(
  "cluster:stream:fenced",
  { wire },
  "a process that was thought dead is cut off and its call aborted at its next message",
  async (t) => {
    const world = new NodesWorld(t, { resumable: true });
    const [started, more] = [gate(), gate()];
    const seen: string[] = [];
    const one = world.node(({ server }) =>
      server.tool("wait", {}, async (_args, ctx) => {
        ctx.signal.addEventListener("abort", () => seen.push("aborted"));
        started.open();
        await more.opened;
        await ctx.progress(1);
        await settle();
        return "late";
      }),
    );
    const other = world.node();
    const client = await one.endpoint.open();
    await status(at(other, client).request(1, "ping"), 200);
    const call = client.call(7, "wait");
    await started.opened;
    await pass(world, 1_000);
    world.state.cut(one.cluster);
    await pass(world, 30_000);
    world.state.mend(one.cluster);
    await settle();
    more.open();
    await call.done;
    deepEqual([messages(call), seen], [[], ["aborted"]]);
  },
);

proves(
  ["cluster:session:idle", "cluster:session:end-once"],
  { wire },
  "an unused session ends once, for all processes",
  async (t) => {
    const ends: string[] = [];
    const world = new NodesWorld(
      t,
      { sessions: { onEnd: (id) => void ends.push(id) } },
      { limits: { sessionIdleMs: 8_000 } },
    );
    const [one, other] = [world.node(), world.node()];
    const client = await one.endpoint.open();
    await status(at(other, client).request(1, "ping"), 200);
    await pass(world, 6_000);
    await status(client.request(2, "ping"), 200);
    await pass(world, 6_000);
    deepEqual(ends, [], "a session in use does not end");
    await pass(world, 8_000);
    deepEqual(ends, [client.id]);
    await status(client.request(3, "ping"), 404);
    await status(at(other, client).request(3, "ping"), 404);
  },
);

proves("cluster:session:idle", { wire }, "a session at work does not end", async (t) => {
  const world = new NodesWorld(t, {}, { limits: { sessionIdleMs: 8_000 } });
  const done = gate();
  const one = world.node(({ server }) =>
    server.tool("wait", {}, async () => {
      await done.opened;
      return "done";
    }),
  );
  world.node();
  const client = await one.endpoint.open();
  const call = client.call(1, "wait");
  await pass(world, 60_000);
  done.open();
  await call.done;
  equal(textOf(messages(call)[0]), "done");
});

proves(
  "cluster:session:idle",
  { wire },
  "a session whose client sends nothing after the handshake ends early",
  async (t) => {
    const ends: string[] = [];
    const world = new NodesWorld(t, { sessions: { onEnd: (id) => void ends.push(id) } });
    const [one] = [world.node(), world.node()];
    const opened = one.endpoint.initialize();
    await status(opened, 200);
    await pass(world, 90_000, 5_000);
    deepEqual(ends, [opened.headers["mcp-session-id"]]);
  },
);

proves(
  "cluster:session:caps",
  { wire },
  "the number of sessions is limited over all processes, and the one unused longest makes room",
  async (t) => {
    const limits = { maxSessionsPerPrincipal: 2, sessionIdleMs: 100_000 };
    const world = new NodesWorld(t, {}, { limits });
    const [one, other] = [world.node(), world.node()];
    const from = { principal: "ada" };
    const first = await one.endpoint.open(undefined, {}, from);
    await pass(world, 60_000, 5_000);
    const second = await other.endpoint.open(undefined, {}, from);
    await one.endpoint.open(undefined, {}, from);
    await status(at(other, first, from).request(1, "ping"), 404);
    await status(at(one, second, from).request(1, "ping"), 200);
    const refused = await status(other.endpoint.initialize("2025-11-25", from), 503);
    match(refused.body(), /limits\.maxSessionsPerPrincipal/);
  },
);

proves("cluster:session:principal", { wire }, "a session of another principal is not found", async (t) => {
  const world = new NodesWorld(t);
  const [one, other] = [world.node(), world.node()];
  const client = await one.endpoint.open(undefined, {}, { principal: "ada" });
  await status(at(other, client, { principal: "eve" }).request(1, "ping"), 404);
  await status(at(other, client).request(1, "ping"), 404);
  await status(at(other, client, { principal: "ada" }).request(1, "ping"), 200);
  await status(at(other, client, { principal: "eve" }).request(2, "ping"), 404);
});

proves(
  ["cluster:engine-away:sessions", "cluster:engine-away:refusals"],
  { wire },
  "while the engine is away, sessions in use go on, and others are refused at once with a time to try again",
  async (t) => {
    const world = new NodesWorld(t);
    const [one, other] = [world.node(), world.node()];
    const client = await one.endpoint.open();
    world.state.cut(one.cluster);
    world.state.cut(other.cluster);
    await pass(world, 5_000);
    await status(client.request(1, "ping"), 200);
    const cold = await status(at(other, client).request(1, "ping"), 503);
    equal(cold.headers["retry-after"], "1");
    await status(other.endpoint.initialize(), 503);
    world.state.mend(one.cluster);
    world.state.mend(other.cluster);
    await settle();
    await status(at(other, client).request(2, "ping"), 200);
  },
);

proves(
  "cluster:drain:hand-over",
  { wire },
  "a process that shuts down leaves its sessions to the others",
  async (t) => {
    const ends: string[] = [];
    const world = new NodesWorld(t, { resumable: true, sessions: { onEnd: (id) => void ends.push(id) } });
    const done = gate();
    const one = world.node(({ server }) =>
      server.tool("wait", {}, async () => {
        await done.opened;
        return "done";
      }),
    );
    const other = world.node(({ server }) => server.tool("a", {}, () => "a"));
    const client = await one.endpoint.open();
    const listening = client.get();
    await until(() => blocks(listening).length > 0, "the stream");
    const call = client.call(1, "wait");
    await settle();
    const drained = one.endpoint.server.drain(10_000);
    await listening.done;
    equal(blocks(listening).at(-1)?.retry, "100");
    await status(client.get(blocks(listening)[0]?.id), 503);
    const resumed = at(other, client).get(blocks(listening)[0]?.id);
    done.open();
    await drained;
    equal(textOf(messages(call)[0]), "done");
    equal(textOf(await answer(at(other, client).call(2, "a"))), "a");
    other.endpoint.server.tool("b", {}, () => "b");
    await until(() => messages(resumed).length > 0, "a change");
    deepEqual(ends, []);
  },
);

proves(
  "cluster:standalone:broadcasts",
  { wire },
  "a process that shuts down stores messages to all clients until another one writes the stream, also after it has refused a GET",
  async (t) => {
    const world = new NodesWorld(t, { resumable: true }, { capabilities: { logging: true } });
    const done = gate();
    const one = world.node(({ server }) =>
      server.tool("wait", {}, async () => {
        await done.opened;
        return "done";
      }),
    );
    const other = world.node();
    await other.endpoint.open();
    const client = await one.endpoint.open();
    const listening = client.get();
    await until(() => blocks(listening).length > 0, "the stream");
    client.call(1, "wait");
    await settle();
    const drained = one.endpoint.server.drain(10_000);
    await listening.done;
    const last = blocks(listening)[0]?.id;
    await status(client.get(last), 503);
    other.endpoint.server.log("info", "meanwhile");
    await settle();
    const entries = await other.cluster.logs.readAfter(`session:${client.id}`, "get");
    equal(entries?.filter((entry) => entry.data.includes("meanwhile")).length, 1);
    const resumed = at(other, client).get(last);
    await until(() => resumed.status === 200, "the resumed stream");
    done.open();
    await drained;
    await settle();
    deepEqual(
      messages(resumed).flatMap(({ params }) => params?.data ?? []),
      ["meanwhile"],
    );
  },
);

proves(
  "cluster:drain:calls",
  { wire },
  "a call that a process cannot finish before it shuts down ends with an error",
  async (t) => {
    const world = new NodesWorld(t, { resumable: true });
    const started = gate();
    const one = world.node(({ server }) =>
      server.tool("wait", {}, async () => {
        started.open();
        await new Promise(() => {});
        return "";
      }),
    );
    const other = world.node();
    const client = await one.endpoint.open();
    const call = client.call(1, "wait");
    await started.opened;
    const resumed = at(other, client).get(blocks(call)[0]?.id);
    await settle();
    await one.endpoint.server.close();
    await resumed.done;
    match(messages(resumed)[0]?.error?.message ?? "", /shutting down/);
  },
);

proves(
  "cluster:call:early-cancel",
  { wire },
  "a cancellation may reach a process before the session and the request do",
  async (t) => {
    const world = new NodesWorld(t);
    let ran = 0;
    const one = world.node();
    const other = world.node(({ server }) => server.tool("run", {}, () => String(++ran)));
    await other.endpoint.open();
    const client = await one.endpoint.open();
    await status(client.cancel(5), 202);
    await settle();
    const call = at(other, client).call(5, "run");
    await call.done;
    equal(ran, 0);
  },
);
