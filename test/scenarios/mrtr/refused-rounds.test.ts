import { deepEqual, equal, rejects } from "node:assert/strict";
import { type ClientOptions, RpcError } from "bowline/client";
import { McpServer } from "bowline/server";
import { createMemoryState, FakeClock } from "bowline/testing";
import { until } from "../../support/census.js";
import { modernChannels, type World } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { verifies } from "../../support/verifies.js";

const id = "client-transport:http:answers-resent";
const stateKeys = [{ id: "k", secret: new Uint8Array(32).fill(1) }];
const me = { name: "depot", version: "1" };
const accept = { action: "accept" as const, content: {} };
const endless = { timeoutMs: Number.POSITIVE_INFINITY, deadlineMs: Number.POSITIVE_INFINITY };
const form = { type: "object", properties: {} } as const;

/** Tool that asks once between two steps. */
function depot(options: ConstructorParameters<typeof McpServer>[1]) {
  const counts = { prices: 0, orders: 0 };
  const server = new McpServer(me, options).tool("order", {}, async (_, ctx) => {
    const price = await ctx.step("price", () => ++counts.prices);
    await ctx.elicit("Sure?", form);
    await ctx.step("order", () => ++counts.orders);
    return `ordered for ${price}`;
  });
  return { server, counts };
}

/** Calls the tool, and lets time pass for the client. `onRefused` is called when a round was refused. */
async function order({ connect }: World, server: McpServer, options: ClientOptions, onRefused: () => void) {
  const clock = new FakeClock();
  const client = await connect(server, { clock, ...options });
  const call = client.callTool("order", {}, endless);
  let [isOver, refusals] = [false, 0];
  const over = () => {
    isOver = true;
  };
  call.then(over, over);
  await until("the call has ended", () => {
    const refused = client.wire.responsesTo("tools/call").filter(({ error }) => error?.code === -32005).length;
    if (refused > refusals) onRefused();
    refusals = refused;
    clock.advance(100);
    return isOver;
  });
  return { result: await call, refusals, clock };
}

verifies(id, "a round that an engine away refuses is sent again on a channel", modernChannels, async (world, t) => {
  const state = createMemoryState();
  const cluster = state.node();
  t.after(() => cluster.close());
  const { server, counts } = depot({ cluster, stateKeys, onError: () => {} });
  let questions = 0;
  const onElicit = () => {
    questions++;
    state.cut(cluster);
    return accept;
  };
  const { result, refusals, clock } = await order(world, server, { onElicit }, () => state.mend(cluster));
  equal(result.text, "ordered for 1");
  deepEqual([questions, counts, refusals], [1, { prices: 1, orders: 1 }, 1]);
  equal(clock.delays.includes(1_000), true, "the client waits as long as the server says");
});

verifies(id, "a round that a server at its limit refuses is sent again", modernChannels, async (world) => {
  const [begun, leave] = [gate(), gate()];
  const { server, counts } = depot({ limits: { maxCalls: 1 } });
  server.tool("busy", {}, async () => {
    begun.open();
    await leave.opened;
    return "left";
  });
  const other = await world.connect(server);
  let busy: Promise<unknown> | undefined;
  const onElicit = async () => {
    busy ??= other.callTool("busy", {}, endless);
    await begun.opened;
    return accept;
  };
  const { result } = await order(world, server, { onElicit }, () => leave.open());
  equal(result.text, "ordered for 1");
  deepEqual(counts, { prices: 1, orders: 1 });
  await busy;
});

for (const [what, data] of [
  ["without a time", undefined],
  ["with a time that is no number", { retryAfterMs: "1000" }],
  ["with a time", { retryAfterMs: 1 }],
  ["like that of a limit", { limit: "l", retryAfterMs: 1 }],
  ["that another server sent", { limit: "l", retryAfterMs: 1, refused: true }],
] as const)
  verifies(id, `an error -32005 ${what} may come from a handler, and ends the call`, modernChannels, async (world) => {
    let runs = 0;
    const server = new McpServer(me).tool("order", {}, async (_, ctx) => {
      await ctx.elicit("Sure?", form);
      runs++;
      throw new RpcError(-32005, "my own", data);
    });
    const client = await world.connect(server, { onElicit: () => accept });
    await rejects(client.callTool("order"), (error: RpcError) => error.rpcCode === -32005 && !error.retrySafe);
    equal(runs, 1);
  });

verifies(id, "a round is sent again on a channel at most maxResends times", modernChannels, async (world, t) => {
  const state = createMemoryState();
  const cluster = state.node();
  t.after(() => cluster.close());
  const { server, counts } = depot({ cluster, stateKeys, onError: () => {} });
  const onElicit = () => {
    state.cut(cluster);
    return accept;
  };
  let refusals = 0;
  const failed = order(world, server, { limits: { maxResends: 2 }, onElicit }, () => refusals++);
  await rejects(failed, (error: RpcError) => error.rpcCode === -32005 && !error.retrySafe);
  deepEqual([counts, refusals], [{ prices: 1, orders: 0 }, 3]);
});
