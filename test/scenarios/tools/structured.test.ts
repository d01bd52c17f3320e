import { deepEqual, equal, ok } from "node:assert/strict";
import { image, McpServer, text, toolResult } from "bowline/server";
import * as z from "zod";
import { eachWire, legacyChannels, modernWires } from "../../support/each-wire.js";
import { AskedClient } from "../../support/raw-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const counted = z.object({ n: z.number() });

verifies("tools:call:structured-content", eachWire, async ({ connect }) => {
  const own = { content: [text("five")], structuredContent: { n: 5, list: [{ deep: null }] } };
  const server = new McpServer(me)
    .tool("value", { output: counted }, () => ({ n: 4 }))
    .tool("own", {}, () => toolResult(own));
  const client = await connect(server);
  const value = await client.callTool("value");
  deepEqual(value.structured, { n: 4 });
  deepEqual(value.content, [text('{"n":4}')]);
  const given = await client.callTool("own");
  deepEqual(given.structured, own.structuredContent);
  deepEqual(given.content, own.content);
});

verifies("tools:call:structured-content:text-mirror", eachWire, async ({ connect }) => {
  const picture = image("AAEC", "image/png");
  const structuredContent = { n: 5 };
  const server = new McpServer(me)
    .tool("only", { output: counted }, () => structuredContent)
    .tool("only-by-hand", {}, () => toolResult({ structuredContent }))
    .tool("with-text", { output: counted }, () => toolResult({ structuredContent, content: [text("five")] }))
    .tool("with-image", { output: counted }, () => toolResult({ structuredContent, content: [picture] }));
  const client = await connect(server);
  for (const name of ["only", "only-by-hand"]) {
    const { content } = await client.callTool(name);
    deepEqual(
      content.map((block) => block.type === "text" && JSON.parse(block.text)),
      [structuredContent],
    );
  }
  deepEqual((await client.callTool("with-text")).content, [text("five")]);
  deepEqual((await client.callTool("with-image")).content, [picture, text('{"n":5}')]);
});

verifies("tools:call:structured-content:pre-2025-06-18", legacyChannels, async (world) => {
  const server = new McpServer(me).tool("count", { output: counted }, () => ({ n: 4 }));
  for (const version of ["2024-11-05", "2025-03-26"]) {
    const client = await AskedClient.open(world, server, { version });
    const { tools } = await client.result("tools/list");
    deepEqual(Object.keys((tools as object[])[0] ?? {}).sort(), ["inputSchema", "name"]);
    const result = await client.result("tools/call", { name: "count" });
    deepEqual(result, { content: [text('{"n":4}')] });
  }
  const later = await AskedClient.open(world, server, { version: "2025-06-18" });
  deepEqual((await later.result("tools/call", { name: "count" })).structuredContent, { n: 4 });
});

const VALUES: readonly (readonly [string, object, unknown])[] = [
  ["array", { type: "array", items: { type: "number" } }, [1, 2]],
  ["number", { type: "number" }, 7],
  ["zero", { type: "integer" }, 0],
  ["string", { type: "string" }, "words"],
  ["empty", { type: "string" }, ""],
  ["boolean", { type: "boolean" }, false],
  ["null", { type: "null" }, null],
];

verifies(
  ["server:jsonschema:array-structured-content-textfallback", "server:jsonschema:primitive-structured-content"],
  modernWires,
  async ({ connect }) => {
    const server = new McpServer(me);
    for (const [name, output, value] of VALUES)
      server.tool(name, { output: output as { type: string } }, () => value as never);
    const client = await connect(server);
    for (const [name, , value] of VALUES) {
      const outcome = await client.callTool(name);
      deepEqual(outcome.structured, value, name);
      const result = client.wire.responsesTo("tools/call").at(-1)?.result ?? {};
      ok("structuredContent" in result, name);
      const [block] = outcome.content;
      deepEqual(block?.type === "text" && JSON.parse(block.text), value, name);
    }
  },
);

verifies(
  ["tools:output-schema:any-root", "server:jsonschema:union-output-natural"],
  modernWires,
  async ({ connect }) => {
    const anyOf = {
      anyOf: [{ type: "object", required: ["n"], properties: { n: { type: "number" } } }, { type: "string" }],
    };
    const schemas = { list: { type: "array", items: { type: "number" } }, number: { type: "number" }, either: anyOf };
    let either: unknown = { n: 1 };
    const server = new McpServer(me)
      .tool("list", { output: schemas.list }, () => [1] as never)
      .tool("number", { output: schemas.number }, () => 1 as never)
      .tool("either", { output: schemas.either }, () => either as never)
      .tool("zod", { output: z.union([z.object({ n: z.number() }), z.string()]) }, () => "text");
    const client = await connect(server);
    const listed = Object.fromEntries(
      (await client.listTools()).tools.map(({ name, outputSchema }) => [name, outputSchema]),
    );
    const { zod, ...rest } = listed;
    deepEqual(rest, schemas);
    ok(Array.isArray((zod as { anyOf?: unknown }).anyOf));
    deepEqual((await client.callTool("either")).structured, { n: 1 });
    either = "a branch";
    equal((await client.callTool("either")).structured, "a branch");
    equal((await client.callTool("zod")).structured, "text");
  },
);

verifies(["mcpserver:output-schema:server-validate"], eachWire, async ({ connect }) => {
  const errors: unknown[] = [];
  const server = new McpServer(me, { onError: (error) => errors.push(error) })
    .tool("wrong", { output: counted }, () => ({ n: "many" }) as never)
    .tool("wrong-by-hand", { output: counted }, () => toolResult({ structuredContent: { n: "many" } }))
    .tool("extra", { output: counted }, () => ({ n: 1, secret: "s" }));
  const client = await connect(server);
  for (const name of ["wrong", "wrong-by-hand"]) {
    const outcome = await client.callTool(name);
    equal(outcome.isError, true);
    const result = client.wire.responsesTo("tools/call").at(-1)?.result ?? {};
    ok(!("structuredContent" in result));
    ok(errors.pop() instanceof Error);
    equal(errors.length, 0);
  }
  const extra = await client.callTool("extra");
  deepEqual(extra.structured, { n: 1 });
  ok(!JSON.stringify(client.wire.responsesTo("tools/call").at(-1)).includes("secret"));
});

verifies("mcpserver:output-schema:missing-structured", eachWire, async ({ connect, era }) => {
  const server = new McpServer(me)
    .tool("nothing", { output: {} }, () => undefined as never)
    .tool("text-only", { output: counted }, () => toolResult({ content: [text("n is 4")] }))
    .tool("null", { output: { type: "null" } }, () => null as never)
    .tool("zero", { output: { type: "integer" } }, () => 0 as never);
  const client = await connect(server);
  for (const name of ["nothing", "text-only"]) equal((await client.callTool(name)).isError, true, name);
  for (const [name, value] of [
    ["null", null],
    ["zero", 0],
  ] as const) {
    const outcome = await client.callTool(name);
    equal(outcome.isError, false);
    equal(outcome.text, String(value));
    if (era === "modern") equal(outcome.structured, value);
  }
});

verifies("mcpserver:output-schema:input-required-exempt", modernWires, async ({ connect }) => {
  const server = new McpServer(me).tool("ask", { output: counted }, async (_, ctx) => {
    const answer = await ctx.elicit("How many?", z.object({ n: z.number() }));
    return { n: answer.action === "accept" ? answer.content.n : 0 };
  });
  const client = await connect(server, { onElicit: () => ({ action: "accept", content: { n: 9 } }) });
  deepEqual((await client.callTool("ask")).structured, { n: 9 });
  const [first, second] = client.wire.responsesTo("tools/call").map(({ result }) => result);
  equal(first?.resultType, "input_required");
  ok(first !== undefined && !("content" in first) && !("structuredContent" in first));
  equal(second?.resultType, "complete");
});
