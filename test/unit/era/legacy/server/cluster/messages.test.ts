import { deepEqual, equal, ok } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Cluster } from "bowline/cluster";
import { gate } from "../../../../../support/gate.js";
import { type LegacyEndpoint, messages, settle, status, until } from "../../../../../support/legacy-endpoint.js";
import { at, NodesWorld, replaceParts } from "../../../../../support/nodes-world.js";

const LONG = "x".repeat(100_000);
/** Longest message that a client can make a process send to the others. */
const MOST = 4_096;

/** A world that notes the length of each message between processes. */
function measured(t: TestContext) {
  const world = new NodesWorld(t);
  const sent: string[] = [];
  const wrap = ({ bus }: Cluster): Partial<Cluster> => ({
    bus: replaceParts(bus, {
      publish: (topic, text) => {
        sent.push(text);
        return bus.publish(topic, text);
      },
    }),
  });
  const longest = () => Math.max(0, ...sent.map(({ length }) => length));
  return { sent, longest, node: (define?: (endpoint: LegacyEndpoint) => void) => world.node(define, wrap) };
}

test("a cancellation is forwarded without what other processes do not need", async (t) => {
  const { node, sent, longest } = measured(t);
  const [started, ended] = [gate(), gate()];
  let reason = "";
  const one = node(({ server }) =>
    server.tool("wait", {}, async (_args, { signal }) => {
      signal.addEventListener("abort", () => {
        reason = String(signal.reason?.message);
        ended.open();
      });
      started.open();
      await ended.opened;
      return "";
    }),
  );
  const client = await one.endpoint.open();
  client.call(1, "wait");
  await started.opened;
  const params = { requestId: 1, reason: `enough ${LONG}`, _meta: { extra: LONG }, extra: LONG };
  await status(at(node(), client).post({ jsonrpc: "2.0", method: "notifications/cancelled", params }), 202);
  await ended.opened;
  ok(reason.includes("enough"));
  ok(
    sent.some((text) => text.includes("cancelled")),
    "it was forwarded",
  );
  ok(longest() < MOST, `${longest()} characters`);
});

test("a cancellation whose id no request can have is not forwarded", async (t) => {
  const { node, sent } = measured(t);
  const client = await node().endpoint.open();
  const before = sent.length;
  for (const requestId of [LONG, {}, undefined]) {
    const params = { requestId };
    await client.post({ jsonrpc: "2.0", method: "notifications/cancelled", params }).done;
  }
  await settle();
  equal(sent.length, before);
});

test("progress of a question is forwarded without what the handler does not get", async (t) => {
  const { node, longest } = measured(t);
  const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;
  const heard: unknown[] = [];
  const one = node(({ server }) =>
    server.tool("ask", {}, async (_args, ctx) => {
      await ctx.request(
        "elicitation/create",
        { message: "Name?", requestedSchema: form } as never,
        {
          onProgress: (progress: unknown) => void heard.push(progress),
        } as never,
      );
      return "";
    }),
  );
  const client = await one.endpoint.open("2025-11-25", { elicitation: {} });
  const call = client.call(1, "ask");
  await until(() => messages(call).length === 1, "the question");
  const other = node();
  const [question] = messages(call);
  const progressToken = (question?.params?._meta as { readonly progressToken?: unknown } | undefined)?.progressToken;
  const params = { progressToken, progress: 1, total: 2, message: LONG, _meta: { extra: LONG }, extra: LONG };
  await status(at(other, client).post({ jsonrpc: "2.0", method: "notifications/progress", params }), 202);
  await until(() => heard.length > 0, "the progress");
  ok(longest() < MOST, `${longest()} characters`);
});

test("a malformed response is forwarded without its text", async (t) => {
  const { node, longest } = measured(t);
  const one = node(({ server }) =>
    server.tool("ask", {}, async (_args, ctx) => {
      await ctx.elicit("Name?", { type: "object", properties: { name: { type: "string" } } });
      return "";
    }),
  );
  const client = await one.endpoint.open("2025-11-25", { elicitation: {} });
  const call = client.call(1, "ask");
  await until(() => messages(call).length === 1, "the question");
  const id = messages(call)[0]?.id;
  await at(node(), client).post({ jsonrpc: "2.0", id, result: LONG, [LONG]: LONG } as never).done;
  await call.done;
  ok(longest() < MOST, `${longest()} characters`);
});

test("a subscription to a long URI is announced without it, and other processes know it", async (t) => {
  const { node, longest } = measured(t);
  const define = ({ server }: LegacyEndpoint) => server.resource("x:{+rest}", { name: "x" }, () => "x");
  const [one, other] = [node(define), node(define)];
  const uri = `x:${"y".repeat(10_000)}`;
  const client = await one.endpoint.open();
  const stream = at(other, client).get();
  await until(() => stream.status === 200, "the stream");
  await settle();
  await status(client.request(1, "resources/subscribe", { uri }), 200);
  await settle();
  ok(longest() < MOST, `${longest()} characters`);
  other.endpoint.server.changes.resourceUpdated(uri);
  await until(() => messages(stream).length > 0, "the change");
  deepEqual(messages(stream)[0]?.params, { uri });
  await status(client.request(2, "resources/unsubscribe", { uri }), 200);
  await settle();
  other.endpoint.server.changes.resourceUpdated(uri);
  await settle();
  equal(messages(stream).length, 1);
});
