import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import {
  type LegacyEndpoint,
  messages,
  settle,
  status,
  textOf,
  until,
} from "../../../../../support/legacy-endpoint.js";
import { at, NodesWorld, replaceParts } from "../../../../../support/nodes-world.js";

const schema = z.object({ name: z.string() });
const result = { action: "accept", content: { name: "Ada" } };

/** Waits for the end of a response, and fails if it does not come. */
async function ended(exchange: Parameters<typeof messages>[0]): Promise<void> {
  let isOver = false;
  exchange.done.then(() => {
    isOver = true;
  });
  await until(() => isOver, "the end of the response");
}

test("a process that asks is listed, so that another one deletes its questions after its death", async (t) => {
  const world = new NodesWorld(t);
  const [one, other] = [world.node(asking({})), world.node()];
  const client = await other.endpoint.open("2025-11-25", { elicitation: {} });
  // The engine is away when the process joins the others.
  world.state.cut(one.cluster);
  await one.endpoint.post({}).done;
  await settle();
  world.state.mend(one.cluster);
  const call = at(one, client).call(1, "ask");
  await until(() => messages(call).length === 1, "the question");
  const { node } = one.cluster;
  ok(await other.cluster.records.get(`nodes/${node}`), "the process is listed");
  equal(await other.cluster.leases.acquire(`nodes/${node}`, 10_000), undefined);
});

test("a question that the engine did not store needs no deletion", async (t) => {
  const world = new NodesWorld(t);
  let deletions = 0;
  const one = world.node(asking({}), ({ records }) => ({
    records: replaceParts(records, {
      delete: (key, ifVersion) => {
        if (key.startsWith("question:")) deletions++;
        return records.delete(key, ifVersion);
      },
    }),
  }));
  const client = await one.endpoint.open("2025-11-25", { elicitation: {} });
  await settle();
  world.state.cut(one.cluster);
  const call = client.call(1, "ask");
  await ended(call);
  for (let seconds = 0; seconds < 3; seconds++) {
    world.clock.advance(1_000);
    await settle();
  }
  equal(deletions, 0);
});

async function pass(world: NodesWorld, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10_000) {
    world.clock.advance(10_000);
    await settle();
  }
}

const asking =
  (options: { readonly timeoutMs?: number; readonly onProgress?: () => void }) =>
  ({ server }: LegacyEndpoint) =>
    server.tool("ask", {}, async (_args, ctx) => JSON.stringify(await ctx.elicit("Name?", schema, options)));

test("a question with a long time limit of its own is answered by way of another process", async (t) => {
  const world = new NodesWorld(t, {}, { limits: { askTimeoutMs: 10_000 } });
  const [one, other] = [world.node(asking({ timeoutMs: 900_000 })), world.node()];
  const client = await one.endpoint.open("2025-11-25", { elicitation: {} });
  const call = client.call(1, "ask");
  await until(() => messages(call).length === 1, "the question");
  await pass(world, 300_000);
  await status(at(other, client).post({ jsonrpc: "2.0", id: messages(call)[0]?.id, result }), 202);
  await ended(call);
  ok(String(textOf(messages(call)[1])).includes("Ada"), call.body());
});

test("a question whose client tells progress to the process that asked is answered by way of another one", async (t) => {
  const world = new NodesWorld(t, {}, { limits: { askTimeoutMs: 30_000 } });
  const [one, other] = [world.node(asking({ onProgress: () => {} })), world.node()];
  const client = await one.endpoint.open("2025-11-25", { elicitation: {} });
  const call = client.call(1, "ask");
  await until(() => messages(call).length === 1, "the question");
  const id = messages(call)[0]?.id;
  for (let progress = 1; progress < 10; progress++) {
    await pass(world, 20_000);
    await status(client.notify("notifications/progress", { progressToken: id, progress }), 202);
  }
  await status(at(other, client).post({ jsonrpc: "2.0", id, result }), 202);
  await ended(call);
  ok(String(textOf(messages(call)[1])).includes("Ada"), call.body());
});
