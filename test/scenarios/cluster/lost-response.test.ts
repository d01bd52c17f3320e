import { deepEqual, equal } from "node:assert/strict";
import type { TestContext } from "node:test";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";
import { createMemoryState } from "bowline/testing";
import { gate } from "../../support/gate.js";
import { proves } from "../../support/verifies.js";

const wire = { wire: "modern-fetch" };
const stateKeys = [{ id: "k", secret: new Uint8Array(32).fill(1) }];

/** Two nodes of a deployment whose tool asks for a quantity and counts its orders. */
function openNodes(t: TestContext, order: () => unknown) {
  const state = createMemoryState();
  return [0, 1].map(() => {
    const cluster = state.node();
    const server = new McpServer({ name: "depot", version: "1" }, { cluster, stateKeys });
    t.after(() => server.close().then(() => cluster.close()));
    return server.tool("order", {}, async (_, ctx) => {
      const answer = await ctx.elicit("How many?", { type: "object", properties: { count: { type: "number" } } });
      await ctx.step("order", order);
      return `ordered ${answer.action === "accept" ? answer.content?.count : 0}`;
    });
  });
}

/** Connects a client whose requests go to `send`. It answers each question. */
async function client(t: TestContext, send: (request: Request) => Promise<Response>) {
  const onElicit = () => ({ action: "accept" as const, content: { count: 3 } });
  const client = await connect("http://localhost/mcp", {
    era: "modern",
    fetch: (url, init) => send(new Request(url, init)),
    onElicit,
  });
  t.after(() => client.close());
  return client;
}

const isSecondRound = async (request: Request) => (await request.clone().text()).includes('"requestState"');

proves(
  "cluster:round:once",
  wire,
  "a client whose response is lost repeats the request on another node and gets its result",
  async (t) => {
    let orders = 0;
    const [one, other] = openNodes(t, () => ++orders);
    const served: string[] = [];
    const caller = await client(t, async (request) => {
      const isSecond = await isSecondRound(request);
      const response = await (one as McpServer).fetch(request.clone());
      if (!isSecond) return response;
      served.push(await response.text());
      const again = await (other as McpServer).fetch(request);
      served.push(await again.clone().text());
      return again;
    });
    const result = await caller.callTool("order", {});
    deepEqual(result.content, [{ type: "text", text: "ordered 3" }]);
    equal(orders, 1);
    equal(served[0], served[1], "the other node gives the same response");
  },
);

proves(
  "cluster:round:steps",
  wire,
  "a client whose connection is lost while the round runs repeats the request on another node",
  async (t) => {
    let orders = 0;
    const [ordering, delivered] = [gate(), gate()];
    const [one, other] = openNodes(t, async () => {
      orders++;
      ordering.open();
      await delivered.opened;
    });
    const caller = await client(t, async (request) => {
      if (!(await isSecondRound(request))) return (one as McpServer).fetch(request);
      const lost = new AbortController();
      const first = (one as McpServer).fetch(new Request(request.clone(), { signal: lost.signal }));
      await ordering.opened;
      lost.abort();
      first.catch(() => undefined);
      const again = (other as McpServer).fetch(request);
      delivered.open();
      return again;
    });
    const result = await caller.callTool("order", {});
    deepEqual(result.content, [{ type: "text", text: "ordered 3" }]);
    equal(orders, 1);
  },
);
