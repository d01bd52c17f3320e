import { deepEqual, equal } from "node:assert/strict";
import type { ElicitResult } from "bowline";
import { type Context, McpServer, ToolError } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { eachWire, legacyWires, modernWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { watchRejections } from "../../support/rejections.js";
import { accept, taskClient } from "../../support/task-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const SAMPLE = { messages: [], maxTokens: 1 };
const said = { role: "assistant", content: { type: "text", text: "ho" }, model: "m" } as const;
const answer = (message: string): ElicitResult => ({ action: "accept", content: { city: message } });

/** Begins both questions before it awaits the first. */
async function askBoth(_: unknown, ctx: Context): Promise<string> {
  const from = ctx.elicit("From", FORM, { key: "from" });
  const to = ctx.elicit("To", FORM, { key: "to" });
  return `${(await from).content?.city} ${(await to).content?.city}`;
}

verifies("mrtr:handler:begun-together", eachWire, async ({ connect }, t) => {
  watchRejections(t);
  const server = new McpServer(me).tool("t", {}, askBoth);
  const client = await connect(server, { onElicit: ({ message }) => answer(message) });
  equal((await client.callTool("t")).text, "From To");
});

verifies("mrtr:handler:begun-together", "are asked in one round", modernWires, async ({ connect }, t) => {
  watchRejections(t);
  const server = new McpServer(me).tool("t", {}, askBoth);
  const client = await connect(server, { onElicit: ({ message }) => answer(message) });
  equal((await client.callTool("t")).text, "From To");
  const rounds = client.wire.responsesTo("tools/call").map(({ result }) => Object.keys(result?.inputRequests ?? {}));
  deepEqual(rounds, [["from", "to"], []]);
});

verifies("mrtr:handler:begun-together", "of every kind, with a step", modernWires, async ({ connect }, t) => {
  watchRejections(t);
  const server = new McpServer(me).tool("t", {}, async (_, ctx) => {
    const form = ctx.elicit("From", FORM, { key: "from" });
    const rest = [
      ctx.elicitUrl("Open", "https://example.com", { key: "url" }),
      ctx.sample(SAMPLE, { key: "sample" }),
      ctx.listRoots({ key: "roots" }),
      ctx.step("late", () => 1),
    ];
    await form;
    return String((await Promise.all(rest)).length);
  });
  const client = await connect(server, {
    onElicit: ({ message }) => answer(message),
    onElicitUrl: () => ({ action: "accept" }),
    onSample: () => said,
    roots: [],
  });
  equal((await client.callTool("t")).text, "4");
});

verifies("mrtr:handler:begun-together", "when the client cancels the call", legacyWires, async ({ connect }, t) => {
  watchRejections(t);
  const [asked, ended] = [gate(), gate()];
  let questions = 0;
  const server = new McpServer(me).tool("t", {}, async (args, ctx) => {
    const custom = ctx.request("com.example/m");
    await askBoth(args, ctx).finally(() => ended.open());
    await custom;
  });
  const client = await connect(server, {
    onElicit: async (_, { signal }) => {
      if (++questions === 2) asked.open();
      await aborted(signal);
      return { action: "cancel" };
    },
  });
  const abort = new AbortController();
  const call = client.callTool("t", {}, { signal: abort.signal }).catch((reason: unknown) => reason);
  await asked.opened;
  abort.abort("enough");
  equal(await call, "enough");
  await ended.opened;
});

verifies("mrtr:handler:begun-together", "when the client leaves", legacyWires, async ({ connect }, t) => {
  watchRejections(t);
  const [asked, ended] = [gate(), gate()];
  let questions = 0;
  const server = new McpServer(me, { onError: () => {} }).tool("t", {}, (args, ctx) =>
    askBoth(args, ctx).finally(() => ended.open()),
  );
  const client = await connect(server, {
    onElicit: async (_, { signal }) => {
      if (++questions === 2) asked.open();
      await aborted(signal);
      return { action: "cancel" };
    },
  });
  const call = client.callTool("t").catch((reason: unknown) => reason);
  await asked.opened;
  await client.close();
  await call;
  await ended.opened;
});

verifies("mrtr:handler:begun-together", "in a task", modernWires, async (world, t) => {
  watchRejections(t);
  const server = new McpServer(me).tool("t", { task: "optional" }, askBoth).extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  const taskId = await client.start("t");
  const { inputRequests } = await client.until(taskId, "input_required");
  deepEqual(Object.keys(inputRequests ?? {}), ["from", "to"]);
  await client.update(taskId, { from: accept({ city: "Oslo" }), to: accept({ city: "Bergen" }) });
  equal(await client.text(taskId), "Oslo Bergen");
});

verifies("mrtr:handler:begun-together", "a step that fails unseen", modernWires, async ({ connect }, t) => {
  watchRejections(t);
  let runs = 0;
  const server = new McpServer(me, { onError: () => {} }).tool("t", {}, async (_, ctx) => {
    const step = ctx.step("s", () => {
      runs++;
      throw new ToolError("not yet");
    });
    const { content } = await ctx.elicit("From", FORM);
    return `${content?.city} ${await step}`;
  });
  const client = await connect(server, { onElicit: ({ message }) => answer(message) });
  equal((await client.callTool("t")).text, "not yet");
  equal(runs, 1);
});
