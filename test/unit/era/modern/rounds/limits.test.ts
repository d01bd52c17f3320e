import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { test } from "node:test";
import { connect, RpcError } from "bowline/client";
import { inputRequired, McpServer } from "bowline/server";
import * as z from "zod";

const me = { name: "asker", version: "1" };
const sure = z.object({ sure: z.boolean() });
const onElicit = () => ({ action: "accept", content: { sure: true } }) as const;

test("a handler that goes on asking is stopped at the server's bound", async (t) => {
  let rounds = 0;
  const server = new McpServer(me, { limits: { maxRounds: 2 } }).tool("ask", {}, async (_, ctx) => {
    rounds++;
    for (let n = 1; n <= 5; n++) await ctx.elicit(`Question ${n}?`, sure);
    return "done";
  });
  const client = await connect(server, { era: "modern", onElicit });
  t.after(() => client.close());
  await rejects(client.callTool("ask"), (error) => {
    return (
      error instanceof RpcError &&
      error.rpcCode === -32602 &&
      /more than 2 rounds of input \(limits\.maxRounds\)/.test(error.message)
    );
  });
  equal(rounds, 3);
});

for (const era of ["modern", "legacy"] as const) {
  test(`a handler that returns its questions is bound too (${era})`, async (t) => {
    const reported: string[] = [];
    const server = new McpServer(me, { limits: { maxRounds: 2 }, onError: (error) => reported.push(String(error)) });
    server.tool("ask", {}, (_, ctx) => {
      const params = { message: "Again?", requestedSchema: { type: "object", properties: {} } } as const;
      const inputRequests = { q: { method: "elicitation/create", params } as const };
      return inputRequired({ inputRequests, state: ((ctx.requestState as number | undefined) ?? 0) + 1 });
    });
    const client = await connect(server, { era, onElicit: () => ({ action: "decline" }) });
    t.after(() => client.close());
    await rejects(client.callTool("ask"), (error) => {
      match(
        [error instanceof RpcError ? error.message : "", ...reported].join(),
        /more than 2 rounds of input \(limits\.maxRounds\)/,
      );
      return error instanceof RpcError;
    });
  });
}

test("a question that changes between rounds is warned of, and asked again", async (t) => {
  const warnings: [string, unknown][] = [];
  const asked: string[] = [];
  let run = 0;
  const logger = { warn: (message: string, fields?: object) => void warnings.push([message, fields]) };
  const server = new McpServer(me, { logger }).tool("ask", {}, async (_, ctx) => {
    const answer = await ctx.elicit(`Sure, at try ${Math.min(++run, 2)}?`, sure);
    return answer.action;
  });
  const client = await connect(server, {
    era: "modern",
    onElicit: ({ message }) => {
      asked.push(message);
      return onElicit();
    },
  });
  t.after(() => client.close());
  equal((await client.callTool("ask")).text, "accept");
  deepEqual(asked, ["Sure, at try 1?", "Sure, at try 2?"]);
  equal(warnings.length, 1);
  match(warnings[0]?.[0] ?? "", /a question changed between rounds/);
  deepEqual(warnings[0]?.[1], { method: "tools/call", key: "ask-1" });
});

test("state has a size, on the way out and on the way in", async (t) => {
  const reported: string[] = [];
  const server = new McpServer(me, { onError: (error) => reported.push(String(error)) })
    .tool("hoard", {}, async (_, ctx) => {
      await ctx.step("all", () => "x".repeat(300_000));
      return (await ctx.elicit("Sure?", sure)).action;
    })
    .tool("ask", {}, async (_, ctx) => (await ctx.elicit("Sure?", sure)).action);
  const client = await connect(server, { era: "modern", onElicit });
  t.after(() => client.close());
  await rejects(client.callTool("hoard"), (error) => error instanceof RpcError && error.rpcCode === -32603);
  match(reported.splice(0).join(), /The requestState has \d+ characters, more than the limit of 262144/);
  const retry = { name: "ask", requestState: "x".repeat(300_000) };
  await rejects(client.request("tools/call", retry), (error) => {
    equal(error instanceof RpcError && error.rpcCode, -32602);
    equal((error as Error).message, "Invalid params: /requestState is not valid");
    return true;
  });
  match(reported.join(), /A requestState was refused: it is longer than 262144 characters/);
});

test("what costs something waits for the answer, also where a handler keeps the question's end to itself", async (t) => {
  let paid = 0;
  const before: number[] = [];
  const server = new McpServer(me).tool("pay", {}, async (_, ctx) => {
    const answer = await ctx.elicit("Sure?", sure).catch(() => undefined);
    await ctx.step("pay", () => ++paid);
    return answer?.action ?? "nobody asked";
  });
  const client = await connect(server, {
    era: "modern",
    onElicit: () => {
      before.push(paid);
      return onElicit();
    },
  });
  t.after(() => client.close());
  equal((await client.callTool("pay")).text, "accept");
  deepEqual([before, paid], [[0], 1]);
});

test("questions of a handler's own that make no sense are its error, and not the client's", async (t) => {
  const reported: string[] = [];
  const server = new McpServer(me, { onError: (error) => reported.push(String(error)) }).tool("ask", {}, () =>
    inputRequired({ inputRequests: "all of them" as never }),
  );
  const client = await connect(server, { era: "modern", onElicit });
  t.after(() => client.close());
  await rejects(client.callTool("ask"), (error) => error instanceof RpcError && error.rpcCode === -32603);
  match(reported.join(), /inputRequired: \/inputRequests must be/);
});
