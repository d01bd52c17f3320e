import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";
import * as z from "zod";
import { checkAnswer, type RequestedSchema } from "#src/schema/elicitation-answer.js";

const me = { name: "unit", version: "1.0.0" };
const form = z.object({
  name: z.string().default("Ada"),
  tag: z.string().transform((tag) => tag.length),
  even: z.number().refine(async (number) => number % 2 === 0, "must be even"),
});

for (const era of ["modern", "legacy"] as const) {
  test(`an accepted answer reaches the handler as the author's schema reads it [${era}]`, async () => {
    let seen: unknown;
    const server = new McpServer(me).tool("ask", {}, async (_, ctx) => {
      const answer = await ctx.elicit("Who?", form);
      seen = answer;
      return answer.action;
    });
    const onElicit = () => ({ action: "accept" as const, content: { tag: "four", even: 2 } });
    await using client = await connect(server, { era, onElicit });
    equal((await client.callTool("ask")).text, "accept");
    deepEqual(seen, { action: "accept", content: { name: "Ada", tag: 4, even: 2 } });
  });
}

test("an answer that the author's schema refuses is asked for again where rounds exist, and fails the call elsewhere", async () => {
  const server = new McpServer(me).tool("ask", {}, async (_, ctx) => {
    const answer = await ctx.elicit("Who?", form);
    return `even: ${answer.content?.even}`;
  });
  let even = 1;
  const onElicit = () => ({ action: "accept" as const, content: { tag: "four", even: even++ } });
  await using rounds = await connect(server, { era: "modern", onElicit });
  equal((await rounds.callTool("ask")).text, "even: 2");
  even = 1;
  await using pushed = await connect(server, { era: "legacy", onElicit });
  const outcome = await pushed.callTool("ask");
  equal(outcome.isError, true);
  match(outcome.text, /is invalid: \/content\/even must be even/);
});

test("a long text is measured in code points, in place", () => {
  const requested = (limits: object) =>
    ({ type: "object", properties: { a: { type: "string", ...limits } } }) as RequestedSchema;
  deepEqual(checkAnswer(requested({ minLength: 2, maxLength: 2 }), { a: "💧é" }), []);
  equal(checkAnswer(requested({ maxLength: 1 }), { a: "💧é" }).length, 1);
  const a = "x".repeat(8_000_000);
  const before = process.memoryUsage().heapUsed;
  deepEqual(checkAnswer(requested({ minLength: 1, maxLength: 8_000_000 }), { a }), []);
  ok(process.memoryUsage().heapUsed - before < 32_000_000);
});
