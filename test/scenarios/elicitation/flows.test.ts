import { deepEqual, equal, match, ok } from "node:assert/strict";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import type { ElicitResult } from "bowline";
import { McpServer, type RpcError } from "bowline/server";
import { FakeClock } from "bowline/testing";
import * as v from "valibot";
import * as z from "zod";
import { channelWires, eachWire, legacyChannels } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { AskedClient } from "../../support/raw-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const FORM = { elicitation: { form: {} } };

const convertible = {
  zod: z.object({
    name: z.string(),
    nick: z.string().optional(),
    size: z.enum(["s", "m"]),
    colour: z.union([z.literal("r"), z.literal("g")]),
    age: z.number().default(18),
  }),
  valibot: toStandardJsonSchema(
    v.object({
      name: v.string(),
      nick: v.optional(v.string()),
      size: v.picklist(["s", "m"]),
      colour: v.union([v.literal("r"), v.literal("g")]),
      age: v.optional(v.number(), 18),
    }),
  ),
  arktype: type({ name: "string", "nick?": "string", size: "'s'|'m'", colour: "'r'|'g'", age: "number = 18" }),
} as const;

for (const [library, schema] of Object.entries(convertible)) {
  verifies("elicitation:form:schema:from-validator", `${library}, converted`, eachWire, async ({ connect }) => {
    let form: { properties: Record<string, Record<string, unknown>>; required?: string[] } = { properties: {} };
    const server = new McpServer(me).tool("ask", {}, async (_, ctx) =>
      JSON.stringify(await ctx.elicit("m", schema as never)),
    );
    const client = await connect(server, {
      onElicit: ({ requestedSchema }) => {
        form = requestedSchema as never;
        return { action: "accept", content: { name: "Ada", size: "m", colour: "g" } };
      },
    });
    deepEqual(JSON.parse((await client.callTool("ask")).text).content, {
      name: "Ada",
      size: "m",
      colour: "g",
      age: 18,
    });
    deepEqual([...(form.required ?? [])].sort(), ["colour", "name", "size"]);
    deepEqual([...((form.properties.size?.enum ?? []) as string[])].sort(), ["m", "s"]);
    deepEqual([...((form.properties.colour?.enum ?? []) as string[])].sort(), ["g", "r"]);
    // arktype does not show its defaults; they are filled in when the answer is read.
    if (library !== "arktype") equal(form.properties.age?.default, 18);
  });
}

const inconvertible = {
  zod: z.object({ home: z.object({ street: z.string() }) }),
  valibot: toStandardJsonSchema(v.object({ home: v.object({ street: v.string() }) })),
  arktype: type({ home: { street: "string" } }),
};

verifies(
  "elicitation:form:schema:from-validator",
  "what a form cannot show names the field",
  eachWire,
  async ({ connect }) => {
    const problems: string[] = [];
    const server = new McpServer(me).tool("ask", {}, async (_, ctx) => {
      for (const schema of Object.values(inconvertible)) {
        await ctx.elicit("m", schema as never).catch((error: Error) => problems.push(error.message));
      }
      return "done";
    });
    const client = await connect(server, { onElicit: () => ({ action: "decline" }) });
    await client.callTool("ask");
    equal(problems.length, 3);
    for (const problem of problems) match(problem, /"home"/);
  },
);

verifies(
  "elicitation:form:schema:from-validator",
  "refinements judge the answer",
  eachWire,
  async ({ connect, era }) => {
    const even = z.object({ n: z.number().refine((n) => n % 2 === 0, "must be even") });
    const server = new McpServer(me).tool("ask", {}, async (_, ctx) => JSON.stringify(await ctx.elicit("m", even)));
    const given = [3, 4];
    const client = await connect(server, {
      onElicit: () => ({ action: "accept", content: { n: given.shift() as number } }),
    });
    const odd = await client.callTool("ask");
    // Where one more round can be had, the question is put again.
    if (era === "legacy") {
      equal(odd.isError, true);
      match(odd.text, /\/content\/n/);
    } else {
      deepEqual(JSON.parse(odd.text), { action: "accept", content: { n: 4 } });
    }
    equal(given.length, era === "legacy" ? 1 : 0);
  },
);

verifies("flow:elicitation:multi-step-form", eachWire, async ({ connect }) => {
  const server = new McpServer(me).tool("order", {}, async (_, ctx) => {
    const first = await ctx.elicit("What?", z.object({ dish: z.string() }));
    if (first.action !== "accept") return `nothing: ${first.action}`;
    const second = await ctx.elicit(`How many ${first.content.dish}?`, z.object({ count: z.number() }));
    if (second.action !== "accept") return `no ${first.content.dish}: ${second.action}`;
    return `${second.content.count} ${first.content.dish}`;
  });
  const script: { answers: ElicitResult[]; messages: string[] } = { answers: [], messages: [] };
  const client = await connect(server, {
    onElicit: ({ message }) => {
      script.messages.push(message);
      return script.answers.shift() as ElicitResult;
    },
  });
  const dish: ElicitResult = { action: "accept", content: { dish: "soup" } };
  const run = async (...answers: ElicitResult[]) => {
    Object.assign(script, { answers, messages: [] });
    return [(await client.callTool("order")).text, script.messages];
  };
  deepEqual(await run(dish, { action: "accept", content: { count: 2 } }), ["2 soup", ["What?", "How many soup?"]]);
  deepEqual(await run({ action: "decline" }), ["nothing: decline", ["What?"]]);
  deepEqual(await run(dish, { action: "cancel" }), ["no soup: cancel", ["What?", "How many soup?"]]);
});

const empty = { type: "object", properties: {} } as const;

verifies("elicitation:failure-handled", "an error, silence, and a disconnect", legacyChannels, async (world) => {
  const clock = new FakeClock();
  const caught: unknown[] = [];
  const asked = gate();
  const gone = gate();
  const server = new McpServer(me, { clock, limits: { askTimeoutMs: 1000 } })
    .tool("ask", {}, async (_, ctx) => {
      await ctx.elicit("m", empty).catch((error) => caught.push(error));
      if (caught.length === 3) gone.open();
      return "went on";
    })
    .tool("other", {}, () => "served");
  let silent = false;
  const client = await AskedClient.open(world, server, {
    capabilities: FORM,
    answer: () => {
      if (!silent) return { error: { code: -32000, message: "broken" } };
      asked.open();
      return undefined;
    },
  });
  const wentOn = { content: [{ type: "text", text: "went on" }] };
  deepEqual((await client.call("tools/call", { name: "ask" })).result, wentOn);
  equal((caught[0] as RpcError).rpcCode, -32000);

  silent = true;
  const call = client.call("tools/call", { name: "ask" });
  await asked.opened;
  deepEqual((await client.call("tools/call", { name: "other" })).result, {
    content: [{ type: "text", text: "served" }],
  });
  clock.advance(1000);
  deepEqual((await call).result, wentOn);
  equal((caught[1] as { code: string }).code, "timeout");

  const questions = client.questions.length;
  void client.call("tools/call", { name: "ask" });
  await client.until(() => client.questions.length > questions);
  await client.close();
  await gone.opened;
  equal((caught[2] as { code: string }).code, "connection_error");
  const next = await AskedClient.open(world, server);
  equal((await next.call("tools/call", { name: "other" })).error, undefined);
});

verifies(
  "elicitation:failure-handled",
  "nothing is held for a client that never comes back",
  channelWires,
  async (world) => {
    const server = new McpServer(me)
      .tool("ask", {}, async (_, ctx) => (await ctx.elicit("m", empty)).action)
      .tool("other", {}, () => "served");
    const client = await AskedClient.open(world, server, {
      capabilities: FORM,
      answer: () => (world.era === "legacy" ? { error: { code: -32603, message: "no" } } : {}),
    });
    const first = await client.request("tools/call", { name: "ask" });
    if (world.era === "modern") equal(first.result?.resultType, "input_required");
    equal(server.stats().running, 0);
    ok((await client.call("tools/call", { name: "other" })).result);
  },
);

verifies(
  "elicitation:form:message-required",
  "the server's author cannot leave them out",
  channelWires,
  async (world) => {
    const server = new McpServer(me).tool("ask", {}, async (_, ctx) => {
      // @ts-expect-error a form needs a schema
      const noSchema = ctx.elicit("m");
      // @ts-expect-error a form needs a message
      const noMessage = ctx.elicit(undefined, empty);
      const settled = await Promise.allSettled([noSchema, noMessage]);
      return settled.map(({ status }) => status).join();
    });
    const client = await AskedClient.open(world, server, { capabilities: FORM, answer: () => ({ action: "decline" }) });
    const { result } = await client.call("tools/call", { name: "ask" });
    deepEqual(result?.content, [{ type: "text", text: "rejected,rejected" }]);
    deepEqual(client.questions, []);
  },
);
