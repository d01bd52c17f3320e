import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { RpcError } from "bowline/client";
import { McpServer, toolResult } from "bowline/server";
import * as z from "zod";
import { channelWires, eachWire } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { AskedClient } from "../../support/raw-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

verifies("tools:call:concurrent", eachWire, async ({ connect }) => {
  const doors = { one: gate(), two: gate() };
  const began = { one: gate(), two: gate() };
  const server = new McpServer(me).tool(
    "wait",
    { input: z.object({ who: z.enum(["one", "two"]) }) },
    async ({ who }) => {
      began[who].open();
      await doors[who].opened;
      return `I am ${who}`;
    },
  );
  const client = await connect(server);
  const ended: string[] = [];
  const call = async (who: "one" | "two") => {
    const { text } = await client.callTool("wait", { who });
    ended.push(who);
    return text;
  };
  const [one, two] = [call("one"), call("two")];
  await Promise.all([began.one.opened, began.two.opened]);
  doors.two.open();
  equal(await two, "I am two");
  doors.one.open();
  equal(await one, "I am one");
  deepEqual(ended, ["two", "one"]);
});

verifies("tools:call:progress", eachWire, async ({ connect }) => {
  const server = new McpServer(me).tool("count", {}, (_, ctx) => {
    for (const step of [1, 2, 3]) ctx.progress(step, 3, `step ${step}`);
    return "done";
  });
  const client = await connect(server);
  for (let round = 0; round < 5; round++) {
    const seen: unknown[] = [];
    const { text } = await client.callTool("count", {}, { onProgress: (progress) => seen.push(progress) });
    equal(text, "done");
    deepEqual(
      seen,
      [1, 2, 3].map((step) => ({ progress: step, total: 3, message: `step ${step}` })),
    );
  }
});

verifies("mcpserver:context:progress", eachWire, async ({ connect }) => {
  const began = { a: gate(), b: gate() };
  const server = new McpServer(me).tool(
    "count",
    { input: z.object({ who: z.enum(["a", "b"]) }) },
    async ({ who }, ctx) => {
      began[who].open();
      await Promise.all([began.a.opened, began.b.opened]);
      for (const step of [1, 2]) await ctx.progress(step, undefined, who);
      return who;
    },
  );
  const client = await connect(server);
  const run = async (who: "a" | "b") => {
    const seen: unknown[] = [];
    await client.callTool("count", { who }, { onProgress: ({ message }) => seen.push(message) });
    return seen;
  };
  deepEqual(await Promise.all([run("a"), run("b")]), [
    ["a", "a"],
    ["b", "b"],
  ]);
  const tokens = client.wire
    .requests("tools/call")
    .map(({ params }) => (params?._meta as { progressToken?: unknown } | undefined)?.progressToken);
  equal(new Set(tokens).size, 2);
  for (const { params } of client.wire.notifications("server", "notifications/progress"))
    ok(tokens.includes(params?.progressToken));
});

verifies(
  ["tools:call:logging-mid-execution", "mcpserver:context:log-from-handler"],
  eachWire,
  async ({ connect, transport }) => {
    const heard = gate();
    const server = new McpServer(me).tool("talk", {}, async (_, ctx) => {
      ctx.log("debug", "too quiet");
      ctx.log("warning", { level: 3 }, "engine");
      await heard.opened;
      return "done";
    });
    const messages: unknown[] = [];
    const client = await connect(server, {
      onNotification: ({ method, params }) => {
        if (method !== "notifications/message") return;
        messages.push(params);
        heard.open();
      },
    });
    await client.setLogLevel("info");
    equal((await client.callTool("talk")).text, "done");
    deepEqual(messages, [{ level: "warning", logger: "engine", data: { level: 3 } }]);
    if (transport === "memory" || transport === "stdio") return;
    const call = client.wire.exchanges.find(({ body }) => body?.includes('"tools/call"'));
    ok(call?.headers?.["content-type"]?.startsWith("text/event-stream"));
    equal(client.wire.notifications("server", "notifications/message").length, 1);
  },
);

verifies(["tools:call:elicitation-roundtrip", "mcpserver:context:elicit"], eachWire, async ({ connect }) => {
  const server = new McpServer(me).tool("book", {}, async (_, ctx) => {
    const answer = await ctx.elicit("Which seat?", z.object({ row: z.number().int(), window: z.boolean() }));
    if (answer.action !== "accept") return `no seat: ${answer.action}`;
    const row: number = answer.content.row;
    return `row ${row + 1}${answer.content.window ? " by the window" : ""}`;
  });
  const answers = [
    { action: "accept" as const, content: { row: 6, window: true } },
    { action: "decline" as const },
    { action: "cancel" as const },
  ];
  const client = await connect(server, { onElicit: () => answers.shift() ?? { action: "cancel" } });
  equal((await client.callTool("book")).text, "row 7 by the window");
  equal((await client.callTool("book")).text, "no seat: decline");
  equal((await client.callTool("book")).text, "no seat: cancel");
});

verifies(
  ["tools:call:sampling-roundtrip", "mcpserver:context:sampling-from-handler"],
  eachWire,
  async ({ connect }) => {
    const server = new McpServer(me).tool("sum", {}, async (_, ctx) => {
      const said = await ctx.sample({
        messages: [{ role: "user", content: { type: "text", text: "1+1?" } }],
        maxTokens: 10,
      });
      const { content } = said;
      return `${said.model}: ${!Array.isArray(content) && content.type === "text" ? content.text : "?"}`;
    });
    const client = await connect(server, {
      onSample: ({ messages }) => ({
        model: "abacus",
        role: "assistant",
        content: { type: "text", text: `${messages.length} question, 2` },
      }),
    });
    equal((await client.callTool("sum")).text, "abacus: 1 question, 2");
  },
);

verifies("tools:call:arguments-omitted", channelWires, async (world) => {
  const server = new McpServer(me)
    .tool("easy", { input: z.object({ n: z.number().default(4) }) }, ({ n }) => `n is ${n}`)
    .tool("strict", { input: z.object({ n: z.number() }) }, () => "ran");
  const client = await AskedClient.open(world, server);
  deepEqual((await client.result("tools/call", { name: "easy" })).content, [{ type: "text", text: "n is 4" }]);
  const strict = await client.result("tools/call", { name: "strict" });
  equal(strict.isError, true);
  ok(JSON.stringify(strict.content).includes("/n"));
});

verifies("tools:call:unknown-name", eachWire, async ({ connect }) => {
  const server = new McpServer(me)
    .tool("off", {}, () => "ran")
    .tool("hidden", { visible: () => false }, () => "ran")
    .tool("there", {}, () => "ran");
  server.edit.tool("off").disable();
  const client = await connect(server);
  for (const name of ["missing", "off", "hidden"]) {
    await rejects(client.callTool(name), (error) => {
      ok(error instanceof RpcError && error.rpcCode === -32602 && error.message.includes(name));
      return true;
    });
  }
  for (const { error, result } of client.wire.responsesTo("tools/call")) {
    equal(error?.code, -32602);
    equal(result, undefined);
  }
});

verifies("tools:call:unknown-name", "in a tools/call of the author's own", eachWire, async ({ connect }) => {
  const server = new McpServer(me).method("tools/call", {}, (params) => {
    throw new RpcError(-32602, `Unknown tool: ${(params as { name: string }).name}`);
  });
  const client = await connect(server);
  await rejects(client.callTool("missing"), { rpcCode: -32602, message: "Unknown tool: missing" });
  equal(client.wire.responsesTo("tools/call")[0]?.error?.code, -32602);
});

verifies("tools:call:malformed-request", channelWires, async (world) => {
  let ran = 0;
  const server = new McpServer(me).tool("t", { input: { type: "object" } }, () => {
    ran++;
    return "";
  });
  const client = await AskedClient.open(world, server);
  const malformed = [
    {},
    { name: 7 },
    { name: null },
    { name: "t", arguments: [] },
    { name: "t", arguments: "x" },
    { name: "t", arguments: 1 },
  ];
  for (const params of malformed) {
    const { error, result } = await client.request("tools/call", params);
    equal(error?.code, -32602, JSON.stringify(params));
    equal(result, undefined);
  }
  equal(ran, 0);
});

verifies(["tools:call:is-error", "mcpserver:output-schema:skip-on-error"], eachWire, async ({ connect }) => {
  const failure = { content: [{ type: "text" as const, text: "no luck" }], isError: true };
  const server = new McpServer(me)
    .tool("plain", {}, () => toolResult(failure))
    .tool("typed", { output: z.object({ n: z.number() }) }, () => toolResult(failure));
  const client = await connect(server);
  await client.listTools();
  for (const name of ["plain", "typed"]) {
    const outcome = await client.callTool(name);
    equal(outcome.isError, true);
    deepEqual(outcome.content, failure.content);
  }
  for (const { result, error } of client.wire.responsesTo("tools/call")) {
    equal(error, undefined);
    equal(result?.isError, true);
    ok(!("structuredContent" in (result ?? {})));
  }
});
