import { deepEqual, equal } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { connect } from "bowline/client";
import { type Context, inputRequired, McpServer } from "bowline/server";
import * as z from "zod";

const me = { name: "asker", version: "1" };
const params = { message: "Own?", requestedSchema: { type: "object", properties: {} } } as const;
const own = { own: { method: "elicitation/create", params } } as const;

/** Answers every question, and tells which ones were asked. */
async function dial(t: TestContext, server: McpServer) {
  const asked: string[] = [];
  const client = await connect(server, {
    era: "modern",
    onElicit: ({ message }) => {
      asked.push(message);
      return { action: "accept", content: message === "Sure?" ? { sure: true } : {} };
    },
  });
  t.after(() => client.close());
  return { client, asked };
}

for (const how of ["elicit", "step", "both"] as const) {
  test(`a handler that returns its own questions keeps what it came to before (${how})`, async (t) => {
    let steps = 0;
    const handler = async (ctx: Context): Promise<object> => {
      const answer = how === "step" ? undefined : await ctx.elicit("Sure?", z.object({ sure: z.boolean() }));
      const number = how === "elicit" ? undefined : await ctx.step("count", () => ++steps);
      if (ctx.inputResponses?.own === undefined) return inputRequired({ inputRequests: own, state: { mine: 7 } });
      return { answer: answer?.action, number, state: ctx.requestState };
    };
    const server = new McpServer(me).tool("mix", {}, async (_, ctx) => {
      const outcome = await handler(ctx);
      return "resultType" in outcome ? (outcome as ReturnType<typeof inputRequired>) : JSON.stringify(outcome);
    });
    const { client, asked } = await dial(t, server);
    const expected = {
      ...(how === "step" ? {} : { answer: "accept" }),
      ...(how === "elicit" ? {} : { number: 1 }),
      state: { mine: 7 },
    };
    deepEqual(JSON.parse((await client.callTool("mix")).text ?? ""), expected);
    deepEqual(asked, how === "step" ? ["Own?"] : ["Sure?", "Own?"]);
    equal(steps, how === "elicit" ? 0 : 1);
  });
}

test("a step that runs while a question goes out is waited for, and does not run again", async (t) => {
  let runs = 0;
  const server = new McpServer(me).tool("both", {}, async (_, ctx) => {
    const slow = ctx.step("slow", async () => {
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
      return ++runs;
    });
    const [number, answer] = await Promise.all([slow, ctx.elicit("Sure?", z.object({ sure: z.boolean() }))]);
    return `${number} ${answer.action}`;
  });
  const { client, asked } = await dial(t, server);
  equal((await client.callTool("both")).text, "1 accept");
  equal(runs, 1);
  deepEqual(asked, ["Sure?"]);
});
