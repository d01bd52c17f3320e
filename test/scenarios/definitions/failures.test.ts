import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { RpcError } from "bowline/client";
import { McpServer, type ReportContext } from "bowline/server";
import * as z from "zod";
import { channelWires, eachWire, legacyChannels } from "../../support/each-wire.js";
import { AskedClient } from "../../support/raw-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

verifies("mcpserver:tool:handler-throws", eachWire, async ({ connect }) => {
  const errors: unknown[] = [];
  const boom = new Error("boom", { cause: new Error("the inner secret") });
  const server = new McpServer(me, { onError: (error) => errors.push(error) })
    .tool("throws", {}, () => {
      throw boom;
    })
    .tool("rejects", {}, () => Promise.reject(boom))
    .tool("throws-text", { output: z.object({}) }, () => {
      throw "boom";
    });
  const client = await connect(server);
  for (const name of ["throws", "rejects", "throws-text"]) {
    const outcome = await client.callTool(name);
    equal(outcome.isError, true);
    equal(outcome.text, "boom");
  }
  for (const { result } of client.wire.responsesTo("tools/call")) {
    const written = JSON.stringify(result);
    ok(!written.includes("secret") && !written.includes("    at ") && !written.includes("structuredContent"));
  }
  deepEqual(errors, [boom, boom, "boom"]);
});

verifies("mcpserver:tool:protocol-error-propagates", eachWire, async ({ connect }) => {
  const data = { retryAfter: 3 };
  const server = new McpServer(me).tool("refuse", {}, () => {
    throw new RpcError(-31999, "not today", data);
  });
  const client = await connect(server);
  await rejects(client.callTool("refuse"), { rpcCode: -31999, message: "not today", data });
  deepEqual(client.wire.responsesTo("tools/call")[0]?.error, { code: -31999, message: "not today", data });
});

const order = z.object({
  item: z.string(),
  count: z.number().int(),
  to: z.object({ zip: z.string().refine((zip) => zip.length === 4, "must have four digits") }).optional(),
});

verifies(
  ["mcpserver:tool:input-validation", "mcpserver:tool:input-validation:all-issues"],
  eachWire,
  async ({ connect }) => {
    let ran = 0;
    const server = new McpServer(me).tool("order", { input: order }, () => {
      ran++;
      return "ordered";
    });
    const client = await connect(server);
    const refused = async (args: object, ...places: RegExp[]) => {
      const outcome = await client.callTool("order", args);
      equal(outcome.isError, true);
      for (const place of places) match(outcome.text, place);
    };
    await refused({ item: "a", count: "two" }, /\/count .*number/);
    await refused({ item: "a" }, /\/count /);
    await refused({ item: "a", count: 1, to: { zip: "12" } }, /\/to\/zip must have four digits/);
    await refused({ item: 1, count: "two" }, /\/item /, /\/count /);
    equal(ran, 0);
    for (const { error } of client.wire.responsesTo("tools/call")) equal(error, undefined);
    equal((await client.callTool("order", { item: "a", count: 2 })).text, "ordered");
  },
);

verifies("mcpserver:tool:input-validation:legacy-revisions", legacyChannels, async (world) => {
  let ran = 0;
  const server = new McpServer(me).tool("order", { input: order }, () => String(++ran));
  for (const version of ["2024-11-05", "2025-03-26", "2025-06-18"]) {
    const client = await AskedClient.open(world, server, { version });
    const { result, error } = await client.request("tools/call", { name: "order", arguments: { item: 1 } });
    equal(error, undefined);
    equal(result?.isError, true);
    match(JSON.stringify(result?.content), /\/item .*\/count /);
  }
  equal(ran, 0);
});

verifies("mcpserver:tool:zero-arg", channelWires, async (world) => {
  const server = new McpServer(me).tool("now", {}, (...given) => {
    const [args, ctx] = given;
    return JSON.stringify([given.length, args, typeof ctx.progress]);
  });
  const client = await AskedClient.open(world, server);
  const ran = { content: [{ type: "text", text: '[2,{},"function"]' }] };
  const call = async (params: object) => {
    const { content, isError } = await client.result("tools/call", { name: "now", ...params });
    return isError === undefined ? { content } : { content, isError };
  };
  deepEqual(await call({}), ran);
  deepEqual(await call({ arguments: {} }), ran);
  const refused = await call({ arguments: { x: 1 } });
  equal((refused as { isError?: unknown }).isError, true);
  match(JSON.stringify(refused.content), /\/x /);
});

verifies("mcpserver:registry:own-keys-only", eachWire, async ({ connect }) => {
  const odd = ["__proto__", "constructor", "toString", "hasOwnProperty"];
  const empty = await connect(
    new McpServer(me)
      .tool("t", {}, () => "")
      .prompt("p", { complete: { x: () => ["y"] } }, () => "")
      .resource("r://{x}", { name: "r" }, () => ""),
  );
  for (const name of odd) {
    await rejects(empty.callTool(name), { rpcCode: -32602 });
    await rejects(empty.getPrompt(name), { rpcCode: -32602 });
    deepEqual((await empty.complete({ type: "ref/prompt", name: "p" }, { name, value: "" })).values, []);
  }
  const server = new McpServer(me);
  for (const name of odd) server.tool(name, {}, () => `tool ${name}`).prompt(name, {}, () => `prompt ${name}`);
  server.prompt("args", { arguments: { type: "object", properties: { toString: { type: "string" } } } }, (args) =>
    String(Object.hasOwn(args, "toString") && args.toString),
  );
  server.tool("ask", {}, async (_, ctx) => {
    const schema = { type: "object", properties: { toString: { type: "string" } }, required: ["toString"] } as const;
    const answer = await ctx.elicit("?", schema, { key: "constructor" });
    return String(answer.action === "accept" && answer.content.toString);
  });
  const client = await connect(server, {
    onElicit: () => ({ action: "accept", content: { toString: "elicited" } as never }),
  });
  deepEqual(
    (await client.listTools()).tools.map(({ name }) => name),
    [...odd, "ask"],
  );
  for (const name of odd) {
    equal((await client.callTool(name)).text, `tool ${name}`);
    const [message] = (await client.getPrompt(name)).messages;
    deepEqual(message?.content, { type: "text", text: `prompt ${name}` });
  }
  const [given] = (await client.getPrompt("args", { toString: "given" } as never)).messages;
  deepEqual(given?.content, { type: "text", text: "given" });
  equal((await client.callTool("ask")).text, "elicited");
});

verifies("mcpserver:resource:read-throws-surfaced", eachWire, async ({ connect }) => {
  const secret = () => {
    throw new Error("password is hunter2");
  };
  const refuse = () => {
    throw new RpcError(-31000, "on purpose", { why: 1 });
  };
  const reports: string[] = [];
  const server = new McpServer(me, { onError: (error) => reports.push(String(error)) })
    .resource("x://secret", { name: "s" }, secret)
    .resource("x://refuse", { name: "r" }, refuse)
    .resource("f://{id}", { name: "f", list: secret }, secret)
    .prompt("secret", {}, secret)
    .prompt("refuse", {}, refuse);
  const client = await connect(server);
  for (const failing of [
    () => client.readResource("x://secret"),
    () => client.readResource("f://1"),
    () => client.resources().all(),
    () => client.getPrompt("secret"),
  ]) {
    await rejects(failing(), (error) => {
      ok(error instanceof RpcError && error.rpcCode === -32603 && !error.message.includes("hunter2"));
      return true;
    });
    match(reports.pop() ?? "", /hunter2/);
  }
  for (const refused of [() => client.readResource("x://refuse"), () => client.getPrompt("refuse")]) {
    await rejects(refused(), { rpcCode: -31000, message: "on purpose", data: { why: 1 } });
  }
  deepEqual(reports, []);
});

verifies("mcpserver:onerror:reach-through", channelWires, async (world) => {
  const reports: { error: unknown; context: ReportContext }[] = [];
  const server = new McpServer(me, {
    onError: (error, context) => {
      reports.push({ error, context });
      throw new Error("the hook itself throws");
    },
  })
    .tool("fail", {}, () => {
      throw new Error("withheld");
    })
    .prompt("fail", {}, () => {
      throw new Error("withheld too");
    });
  if (world.era === "legacy") {
    server.onNotification("notifications/own", {}, () => {
      throw new Error("from a notification");
    });
  }
  const client = await world.connect(server);
  equal((await client.callTool("fail")).isError, true);
  await rejects(client.getPrompt("fail"), { rpcCode: -32603 });
  if (world.era === "legacy") {
    await client.notify("notifications/own");
    await client.request("ping");
  }
  const raw = await world.channel(server);
  await raw.open({ onFrame: () => {}, onProblem: () => {}, onClose: () => {} });
  await raw.send("{ this is no JSON");
  equal((await client.callTool("fail")).isError, true);
  const messages = reports.map(({ error }) => (error as Error).message);
  ok(reports.every(({ error }) => error instanceof Error));
  ok(messages.includes("withheld") && messages.includes("withheld too"));
  if (world.era === "legacy") ok(messages.includes("from a notification"));
  ok(reports.some(({ context }) => context.where === "connection"));
});

verifies("standardschema:tool:validator-throws", eachWire, async ({ connect }) => {
  const reports: Error[] = [];
  const explosive = z.object({
    a: z.string().refine(() => {
      throw new Error("hunter2");
    }),
  });
  const server = new McpServer(me, { onError: (error) => reports.push(error as Error) })
    .tool("input", { input: explosive }, () => "ran")
    .tool("output", { output: explosive }, () => ({ a: "" }))
    .prompt("p", { arguments: explosive }, () => "ran")
    .tool("fine", {}, () => "served");
  const client = await connect(server);
  for (const [name, args] of [
    ["input", { a: "" }],
    ["output", undefined],
  ] as const) {
    const outcome = await client.callTool(name, args);
    equal(outcome.isError, true);
    ok(!outcome.text.includes("hunter2"));
    equal(((reports.pop() as Error).cause as Error).message, "hunter2");
  }
  await rejects(client.getPrompt("p", { a: "" }), { rpcCode: -32603 });
  match((reports.pop() as Error).message, /hunter2/);
  equal((await client.callTool("fine")).text, "served");
});
