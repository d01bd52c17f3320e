import { deepEqual, equal } from "node:assert/strict";
import { type Context, inputRequired, McpServer, RpcError } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { FakeClock } from "bowline/testing";
import * as z from "zod";
import { eachWire, modernChannels, modernWires } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { enveloped, type Message, rawClient } from "../../support/raw-client.js";
import { accept, taskClient } from "../../support/task-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const options = { stateKeys: [{ id: "k", secret: new Uint8Array(32).fill(7) }] };
const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const oslo = accept({ city: "Oslo" });

const call = (id: string, name: string, params: Message = {}) =>
  enveloped(id, "tools/call", { name, arguments: {}, ...params }, { [CAPABILITIES]: { elicitation: {} } });

verifies("mrtr:handler:idempotency-key", eachWire, async ({ connect, era }) => {
  const runs: [id: number, key: string][] = [];
  const server = new McpServer(me).tool("pay", { input: z.object({ id: z.number() }) }, async ({ id }, ctx) => {
    runs.push([id, ctx.idempotencyKey]);
    await ctx.elicit("From?", FORM);
    await ctx.elicit("To?", FORM);
    return ctx.idempotencyKey;
  });
  const client = await connect(server, { onElicit: () => ({ action: "accept", content: { city: "Oslo" } }) });
  const keys = await Promise.all([1, 2].map(async (id) => (await client.callTool("pay", { id })).text));
  equal(new Set(keys).size, 2);
  equal(runs.length, era === "modern" ? 6 : 2);
  for (const [id, key] of runs) equal(key, keys[id - 1]);
  for (const key of keys) equal(key.length, 36);
});

verifies("mrtr:handler:idempotency-key", "on another instance", modernChannels, async (world, t) => {
  const keys: string[] = [];
  const create = () =>
    new McpServer(me, options).tool("pay", {}, async (_: unknown, ctx: Context) => {
      keys.push(ctx.idempotencyKey);
      await ctx.elicit("Where?", FORM, { key: "where" });
    });
  const [one, two] = [await rawClient(world, create(), t), await rawClient(world, create(), t)];
  const { requestState } = (await one.ask(call("1", "pay"))).result ?? {};
  const { result } = await two.ask(call("2", "pay", { requestState, inputResponses: { where: oslo } }));
  equal(result?.resultType, "complete");
  equal(keys.length, 2);
  equal(new Set(keys).size, 1);
});

verifies("mrtr:handler:idempotency-key", "in each attempt at a round", modernChannels, async (world, t) => {
  const keys: string[] = [];
  const server = new McpServer(me, options).tool("pay", {}, async (_: unknown, ctx: Context) => {
    await ctx.elicit("Where?", FORM, { key: "where" });
    keys.push(ctx.idempotencyKey);
    if (keys.length === 1) throw new RpcError(-32000, "try again");
  });
  const client = await rawClient(world, server, t);
  const { requestState } = (await client.ask(call("1", "pay"))).result ?? {};
  const round = { requestState, inputResponses: { where: oslo } };
  equal((await client.ask(call("2", "pay", round))).error?.code, -32000);
  equal((await client.ask(call("3", "pay", round))).result?.resultType, "complete");
  equal(keys.length, 2);
  equal(new Set(keys).size, 1);
});

verifies("mrtr:handler:idempotency-key", "after a question that is returned", modernChannels, async (world, t) => {
  const keys: string[] = [];
  const params = { mode: "form" as const, message: "?", requestedSchema: { ...FORM, required: ["city"] } };
  const inputRequests = { where: { method: "elicitation/create" as const, params } };
  const server = new McpServer(me, options).tool("pay", {}, (_: unknown, ctx: Context) => {
    keys.push(ctx.idempotencyKey);
    return ctx.inputResponses === undefined || keys.length === 2 ? inputRequired({ inputRequests }) : "paid";
  });
  const client = await rawClient(world, server, t);
  let { result } = await client.ask(call("1", "pay"));
  for (const id of ["2", "3"]) {
    equal(result?.resultType, "input_required");
    const { requestState } = result ?? {};
    ({ result } = await client.ask(call(id, "pay", { requestState, inputResponses: { where: oslo } })));
  }
  deepEqual(result?.content, [{ type: "text", text: "paid" }]);
  equal(keys.length, 3);
  equal(new Set(keys).size, 1);
});

verifies("mrtr:handler:idempotency-key", "when the call becomes a task", modernWires, async (world, t) => {
  const clock = new FakeClock();
  const [reached, open] = [gate(), gate()];
  const keys: string[] = [];
  const server = new McpServer(me, { clock, ...options })
    .tool("pay", { task: { promoteAfterMs: 100 } }, async (_: unknown, ctx: Context) => {
      keys.push(ctx.idempotencyKey);
      await ctx.elicit("From?", FORM, { key: "from" });
      reached.open();
      await open.opened;
      await ctx.elicit("To?", FORM, { key: "to" });
      return ctx.idempotencyKey;
    })
    .extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  const { requestState } = (await client.call("pay")).result ?? {};
  const second = client.call("pay", {}, { requestState, inputResponses: { from: oslo } });
  await reached.opened;
  clock.advance(100);
  const { result } = await second;
  equal(result?.resultType, "task");
  open.open();
  const taskId = result?.taskId as string;
  await client.until(taskId, "input_required");
  await client.update(taskId, { to: oslo });
  equal(await client.text(taskId), keys[0]);
  equal(keys.length, 3);
  equal(new Set(keys).size, 1);
});
