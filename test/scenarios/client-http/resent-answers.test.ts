import { deepEqual, equal, notEqual, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import { type CallOptions, type ClientOptions, connect, type RpcError } from "bowline/client";
import { McpServer } from "bowline/server";
import { createMemoryState, FakeClock } from "bowline/testing";
import { answerAll, type Received, scripted } from "../../support/http-script.js";
import { proves } from "../../support/verifies.js";

const id = "client-transport:http:answers-resent";
const modern = { wire: "modern-http" };
const legacy = { wire: "legacy-http" };
const stateKeys = [{ id: "k", secret: new Uint8Array(32).fill(1) }];
const accept = { action: "accept" as const, content: { count: 3 } };
const done = { resultType: "complete", content: [{ type: "text", text: "done" }] };
const question = {
  method: "elicitation/create",
  params: { mode: "form", message: "How many?", requestedSchema: { type: "object", properties: {} } },
};

/** Refuses a request. By default as a server that ran nothing of it, and asks for it again after a time. */
function refuse(received: Received, status = 503, headers: Record<string, string> = { "retry-after": "7" }): void {
  const error = { code: -32005, message: "away" };
  received.json({ jsonrpc: "2.0", id: received.message.id, error }, status, headers);
}

/** A server of 2026-07-28 that asks in the first round. `second` answers the attempts at the second one. */
async function openShop(
  t: TestContext,
  second: (received: Received, attempt: number) => void,
  options: ClientOptions = {},
) {
  const clock = new FakeClock();
  let [questions, attempts] = [0, 0];
  const { script, connectTo } = await scripted(
    t,
    answerAll((received) => {
      if (received.message.params.requestState !== undefined) return second(received, ++attempts);
      received.result({ resultType: "input_required", requestState: "s", inputRequests: { k: question } });
    }),
  );
  const onElicit = () => {
    questions++;
    return accept;
  };
  const client = await connectTo({ era: "modern", clock, onElicit, ...options });
  return {
    clock,
    call: (limits?: CallOptions) => client.callTool("t", {}, limits),
    questions: () => questions,
    rounds: () => script.all("tools/call").flatMap(({ message }) => (message.params.requestState ? [message] : [])),
  };
}

/** Resolves when the client has waited as often for the time that the server asked for. Rejects if its call fails before. */
async function waits(clock: FakeClock, times: number, call: Promise<unknown>, ms = 7_000): Promise<void> {
  const pauses = () => clock.delays.filter((delay) => delay === ms).length;
  while (pauses() < times) await Promise.race([clock.started(clock.delays.length + 1), call]);
}

proves(id, modern, "a round that was refused is sent again when the server says", async (t) => {
  const shop = await openShop(t, (received, attempt) => {
    if (attempt === 1) refuse(received);
    else received.result(done);
  });
  const call = shop.call();
  await waits(shop.clock, 1, call);
  shop.clock.advance(6_999);
  await new Promise(setImmediate);
  equal(shop.rounds().length, 1);
  shop.clock.advance(1);
  equal((await call).text, "done");
  equal(shop.questions(), 1);
  const [first, again] = shop.rounds();
  deepEqual(again.params, first.params);
  notEqual(again.id, first.id);
});

proves(id, modern, "a cluster that is away for a moment costs neither the answer nor the steps", async (t) => {
  const clock = new FakeClock();
  const state = createMemoryState();
  const cluster = state.node();
  const server = new McpServer({ name: "depot", version: "1" }, { cluster, stateKeys });
  t.after(() => server.close().then(() => cluster.close()));
  const counts = { prices: 0, orders: 0, questions: 0 };
  server.tool("order", {}, async (_, ctx) => {
    const price = await ctx.step("price", () => ++counts.prices);
    await ctx.elicit("How many?", { type: "object", properties: { count: { type: "number" } } });
    await ctx.step("order", () => ++counts.orders);
    return `ordered for ${price}`;
  });
  const client = await connect("http://localhost/mcp", {
    era: "modern",
    clock,
    fetch: async (url, init) => {
      const response = await server.fetch(new Request(url, init));
      if (response.status === 503) state.mend(cluster);
      return response;
    },
    onElicit: () => {
      counts.questions++;
      state.cut(cluster);
      return accept;
    },
  });
  t.after(() => client.close());
  const endless = Number.POSITIVE_INFINITY;
  const call = client.callTool("order", {}, { timeoutMs: endless, deadlineMs: endless });
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  call.then(over, over);
  for (; !isOver; clock.advance(100)) await new Promise(setImmediate);
  equal((await call).text, "ordered for 1");
  deepEqual(counts, { prices: 1, orders: 1, questions: 1 });
});

proves(id, modern, "a round is sent again at most maxResends times", async (t) => {
  const shop = await openShop(t, (received) => refuse(received), { limits: { maxResends: 2 } });
  const call = shop.call();
  const failed = rejects(call, (error: RpcError) => error.rpcCode === -32005 && !error.retrySafe);
  for (const times of [1, 2]) {
    await waits(shop.clock, times, call);
    shop.clock.advance(7_000);
  }
  await failed;
  equal(shop.rounds().length, 3);
});

proves(id, modern, "a call does not wait beyond its deadline, and ends with its signal", async (t) => {
  const shop = await openShop(t, (received) => refuse(received));
  await rejects(shop.call({ deadlineMs: 6_000 }), (error: RpcError) => error.rpcCode === -32005 && !error.retrySafe);
  equal(shop.rounds().length, 1);
  const given = new AbortController();
  const call = shop.call({ signal: given.signal });
  await waits(shop.clock, 1, call);
  given.abort(new Error("enough"));
  await rejects(call, /enough/);
  equal(shop.rounds().length, 2);
});

proves(id, modern, "a server that names a long time does not hold a call for as long", async (t) => {
  const shop = await openShop(t, (received, attempt) => {
    if (attempt === 1) refuse(received, 503, { "retry-after": "86400" });
    else received.result(done);
  });
  const endless = Number.POSITIVE_INFINITY;
  const call = shop.call({ timeoutMs: endless, deadlineMs: endless });
  await waits(shop.clock, 1, call, 30_000);
  shop.clock.advance(30_000);
  equal((await call).text, "done");
});

for (const [what, status, headers] of [
  ["a refusal that names no time", 503, {}],
  ["a failure", 500, { "retry-after": "1" }],
] as const) {
  proves(id, modern, `${what} may come from a handler, and is not repeated`, async (t) => {
    const shop = await openShop(t, (received) => refuse(received, status, headers));
    await rejects(shop.call(), (error: RpcError) => error.rpcCode === -32005 && !error.retrySafe);
    equal(shop.rounds().length, 1);
  });
}

proves(id, legacy, "an answer that was refused is sent again when the server says", async (t) => {
  const clock = new FakeClock();
  let posts = 0;
  const { script, connectTo } = await scripted(
    t,
    answerAll((received) => {
      const { message } = received;
      if (message.method === "tools/call")
        return void received.stream().event({ jsonrpc: "2.0", id: "q", ...question });
      if (++posts < 6) return received.json("", 503, { "retry-after": "30" });
      received.status(202);
      const [call] = script.all("tools/call");
      call?.resultEvent(done).end();
    }),
  );
  let questions = 0;
  const onElicit = () => {
    questions++;
    return accept;
  };
  const client = await connectTo({ era: "legacy", clock, onElicit });
  const call = client.callTool("t", {}, { timeoutMs: Number.POSITIVE_INFINITY });
  for (const times of [1, 2, 3, 4, 5]) {
    await waits(clock, times, call, 30_000);
    clock.advance(30_000);
  }
  equal((await call).text, "done");
  deepEqual([questions, posts], [1, 6]);
});
