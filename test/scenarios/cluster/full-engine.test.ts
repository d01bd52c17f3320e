import { deepEqual, equal, match } from "node:assert/strict";
import type { TestContext } from "node:test";
import type { ClusterFailure } from "bowline/cluster";
import { withoutRoom } from "../../support/full-cluster.js";
import { aborted, gate } from "../../support/gate.js";
import { answer, blocks, isDone, messages, settle, status, textOf, until } from "../../support/legacy-endpoint.js";
import { at, NodesWorld } from "../../support/nodes-world.js";
import { proves } from "../../support/verifies.js";

const wire = "legacy-http";
const FORM = { type: "object", properties: {} } as const;
/** Time for which a response waits for its event log. */
const WAIT_MS = 5_000;

/** Two nodes whose engine refuses what `refusal` tells. The tool `work` reports progress when it goes on, and ends. */
function open(t: TestContext, http: { readonly resumable?: boolean } = { resumable: true }) {
  const world = new NodesWorld(t, http);
  const [reached, goOn] = [gate(), gate()];
  const engine = { refusal: (_text: string): ClusterFailure | undefined => undefined };
  const counts = { ran: 0, aborted: 0 };
  const node = () =>
    world.node(
      ({ server }) => {
        server.tool("echo", {}, () => String(++counts.ran));
        server.tool("work", {}, async (_args, ctx) => {
          ctx.signal.addEventListener("abort", () => counts.aborted++);
          reached.open();
          await goOn.opened;
          await ctx.progress(1, 2, "half");
          await ctx.progress(2, 2, "all");
          return "worked";
        });
        server.tool("late", {}, async () => {
          await goOn.opened;
          return "late";
        });
        server.tool("wait", {}, async (_args, ctx) => {
          reached.open();
          throw await aborted(ctx.signal);
        });
        server.tool("sample", {}, async (_args, ctx) => {
          const { content } = await ctx.sample({ messages: [], maxTokens: 1 });
          return [content].flat();
        });
        server.tool("ask", {}, async (_args, ctx) => (await ctx.elicit("sure?", FORM)).action);
      },
      (cluster) => withoutRoom(cluster, (text) => engine.refusal(text)),
    );
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      world.clock.advance(100);
      await settle();
    }
  };
  return { nodes: [node(), node()] as const, engine, counts, reached, goOn, pass };
}

proves(
  "cluster:engine-full:refusals",
  { wire },
  "a full engine refuses what needs room with 503 and Retry-After, and nothing runs",
  async (t) => {
    const { nodes, engine, counts } = open(t);
    const [one, other] = nodes;
    const client = await one.endpoint.open("2025-11-25", { elicitation: {} });
    const asking = client.call(1, "ask");
    await until(() => messages(asking).length > 0, "the question");
    const { id } = messages(asking)[0] ?? {};
    const accept = { jsonrpc: "2.0", id, result: { action: "accept", content: {} } };
    engine.refusal = () => "unavailable";
    const refusals = {
      call: client.call(2, "echo"),
      handshake: other.endpoint.initialize(),
      stream: client.get(),
      "call at another node": at(other, client).call(3, "echo"),
      answer: at(other, client).post(accept),
    };
    for (const [what, exchange] of Object.entries(refusals)) {
      const { headers } = await status(exchange, 503);
      equal(headers["retry-after"], "1", what);
    }
    equal(counts.ran, 0);
    await status(client.notify("notifications/cancelled", { requestId: 99 }), 202);
    engine.refusal = () => undefined;
    await status(at(other, client).post(accept), 202);
    await asking.done;
    equal(textOf(messages(asking).at(-1)), "accept");
    equal(textOf(await answer(client.call(4, "echo"))), "1");
    await at(other, await other.endpoint.open()).call(5, "echo").done;
    equal(counts.ran, 2);
  },
);

proves(
  "cluster:engine-full:refusals",
  { wire },
  "a batch with an answer that cannot be stored is refused as a whole",
  async (t) => {
    const { nodes, engine } = open(t);
    const [one, other] = nodes;
    const client = await one.endpoint.open("2025-03-26", { elicitation: {}, sampling: {} });
    const asking = client.call(1, "sample");
    await until(() => messages(asking).length > 0, "the question");
    const { id } = messages(asking)[0] ?? {};
    const result = { role: "assistant", content: { type: "text", text: "sampled" }, model: "m" };
    const batch = [{ jsonrpc: "2.0", id, result }];
    engine.refusal = () => "unavailable";
    await status(at(other, client).post(batch), 503);
    engine.refusal = () => undefined;
    await status(at(other, client).post(batch), 202);
    await asking.done;
    equal(textOf(messages(asking).at(-1)), "sampled");
  },
);

proves(
  "cluster:engine-full:refusals",
  { wire },
  "a log level that cannot be stored is refused as a full server refuses",
  async (t) => {
    const { nodes, engine } = open(t, {});
    const client = await nodes[0].endpoint.open();
    engine.refusal = () => "unavailable";
    const { error } = await answer(client.request(1, "logging/setLevel", { level: "debug" }));
    deepEqual([error?.code, error?.data], [-32005, { limit: "cluster", retryAfterMs: 1_000, refused: true }]);
    engine.refusal = () => undefined;
    deepEqual((await answer(client.request(2, "logging/setLevel", { level: "debug" }))).result, {});
  },
);

proves(
  "cluster:engine-full:running",
  { wire },
  "a call that runs gives its client all of it after a moment, and the log has all of it when there is room",
  async (t) => {
    const { nodes, engine, reached, goOn, pass } = open(t);
    const [one, other] = nodes;
    const client = await one.endpoint.open();
    const call = client.call(1, "work");
    await reached.opened;
    engine.refusal = () => "unavailable";
    goOn.open();
    await pass(WAIT_MS - 100);
    equal(await isDone(call), false);
    await pass(200);
    equal(await isDone(call), true);
    const told = (exchange: typeof call) => messages(exchange).map((each) => each.params?.message ?? textOf(each));
    deepEqual(told(call), ["half", "all", "worked"]);
    const first = blocks(call)[0]?.id;
    const resumed = at(other, client).get(first);
    await until(() => resumed.status === 200, "the resumption");
    equal(await isDone(resumed), false);
    engine.refusal = () => undefined;
    await pass(1_100);
    await resumed.done;
    deepEqual(told(resumed), ["half", "all", "worked"]);
    equal(one.endpoint.stats.streams, 0);
  },
);

proves(
  "hosting:http:cancel-releases-handler",
  { wire },
  "that waits until a full engine has stored a message",
  async (t) => {
    const { nodes, engine, counts, reached, goOn } = open(t);
    const client = await nodes[0].endpoint.open();
    const call = client.call(1, "work");
    await reached.opened;
    engine.refusal = () => "unavailable";
    goOn.open();
    await settle();
    equal(nodes[0].endpoint.stats.running, 1);
    await status(client.cancel(1), 202);
    await call.done;
    // No time passes.
    await until(() => nodes[0].endpoint.stats.running === 0, "the end of the handler");
    equal(counts.aborted, 1);
    engine.refusal = () => undefined;
  },
);

proves(
  "cluster:engine-full:running",
  { wire },
  "a batch whose last request is cancelled gives its client the other response after a moment",
  async (t) => {
    const { nodes, engine, reached, goOn, pass } = open(t);
    const client = await nodes[0].endpoint.open("2025-03-26");
    const requestOf = (id: number, name: string) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name } });
    const both = client.post([requestOf(1, "wait"), requestOf(2, "late")]);
    await reached.opened;
    engine.refusal = () => "unavailable";
    goOn.open();
    await settle();
    await status(client.cancel(1), 202);
    equal(await isDone(both), false);
    await pass(WAIT_MS + 100);
    equal(await isDone(both), true);
    deepEqual(
      messages(both).map(({ id }) => id),
      [2],
    );
    engine.refusal = () => undefined;
    await pass(1_100);
    equal(nodes[0].endpoint.stats.streams, 0);
  },
);

proves(
  "cluster:stream:always-ends",
  { wire },
  "a response that the engine refuses for good reaches its client, and others are told that it is not stored",
  async (t) => {
    const { nodes, engine, reached, goOn } = open(t);
    const [one, other] = nodes;
    const client = await one.endpoint.open();
    const call = client.call(1, "work");
    await reached.opened;
    engine.refusal = (text) => (text.includes('"worked"') ? "refused" : undefined);
    goOn.open();
    await call.done;
    equal(textOf(messages(call).at(-1)), "worked");
    const resumed = at(other, client).get(blocks(call)[0]?.id);
    await resumed.done;
    match(messages(resumed).at(-1)?.error?.message ?? "", /event log refused the response of this request/);
    equal(one.endpoint.stats.streams, 0);
  },
);

proves(
  "cluster:stream:always-ends",
  { wire },
  "a message that the engine refuses for good ends its call with an error, here and elsewhere",
  async (t) => {
    const { nodes, engine, counts, reached, goOn } = open(t);
    const [one, other] = nodes;
    const client = await one.endpoint.open();
    const call = client.call(1, "work");
    await reached.opened;
    engine.refusal = (text) => (text.includes("half") ? "refused" : undefined);
    goOn.open();
    await call.done;
    match(messages(call).at(-1)?.error?.message ?? "", /lost the stream of this request/);
    equal(counts.aborted, 1);
    const resumed = at(other, client).get(blocks(call)[0]?.id);
    await resumed.done;
    deepEqual(messages(resumed).at(-1), messages(call).at(-1));
  },
);

proves(
  "cluster:stream:always-ends",
  { wire },
  "a stream gets its end as soon as an engine that refused everything accepts one",
  async (t) => {
    const { nodes, engine, reached, goOn, pass } = open(t);
    const [one, other] = nodes;
    const client = await one.endpoint.open();
    const call = client.call(1, "work");
    await reached.opened;
    engine.refusal = () => "refused";
    goOn.open();
    await call.done;
    equal(messages(call).at(-1)?.error?.code, -32006);
    const resumed = at(other, client).get(blocks(call)[0]?.id);
    await until(() => resumed.status === 200, "the resumption");
    await pass(3_000);
    equal(await isDone(resumed), false);
    engine.refusal = () => undefined;
    await pass(1_100);
    await resumed.done;
    equal(messages(resumed).at(-1)?.error?.code, -32006);
  },
);
