import { deepEqual, equal, throws } from "node:assert/strict";
import { McpServer } from "bowline/server";
import fc from "fast-check";
import * as z from "zod";
import { eachWire, modernHttp } from "../../support/each-wire.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "annotations", version: "1.0.0" };

verifies("server:x-mcp-header:declare", eachWire, async ({ connect }) => {
  const raw = {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      filter: { type: "object", properties: { depth: { type: "integer", "x-mcp-header": "Depth" } } },
    },
  } as const;
  const server = new McpServer(me)
    .tool("raw", { input: raw }, () => "")
    .tool("built", { input: z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) }) }, () => "");
  const client = await connect(server);
  const { tools } = await client.listTools();
  const [first, second] = tools.map(({ inputSchema }) => inputSchema);
  deepEqual(first?.properties, raw.properties);
  const built = (second?.properties ?? {}) as Record<string, Record<string, unknown>>;
  equal(built.region?.["x-mcp-header"], "Region");
});

const header = (value: unknown, type: unknown = "string") => ({ a: { type, "x-mcp-header": value } });

proves("server:x-mcp-header:reject-at-registration", {}, "clients would hide such a tool", () => {
  for (const [properties, rule] of [
    [header(""), /empty|token/],
    [header("a b"), /token/],
    [header("Region", "number"), /type string, integer, boolean/],
    [header("Region", "object"), /type string, integer, boolean/],
    [{ ...header("Region"), b: { type: "string", "x-mcp-header": "REGION" } }, /twice/],
    [{ a: { type: "array", items: { type: "string", "x-mcp-header": "R" } } }, /items|reach|properties/],
  ] as const) {
    const input = { type: "object", properties } as const;
    throws(
      () => new McpServer(me).tool("bad-tool", { input: input as never }, () => ""),
      (error: Error) => {
        for (const part of [/bad-tool/, /\ba\b|\bb\b/, rule]) {
          if (!part.test(error.message)) throw new Error(`${part} is not in: ${error.message}`);
        }
        return true;
      },
    );
  }
  const nested = { type: "object", properties: { o: { type: "object", properties: header("Region") } } } as const;
  new McpServer(me).tool("good", { input: nested as never }, () => "");
});

verifies("sep-2243:param-header:roundtrip", modernHttp, async ({ connect }) => {
  const input = {
    type: "object",
    properties: {
      text: { type: "string", "x-mcp-header": "Text" },
      count: { type: "integer", "x-mcp-header": "Count" },
      flag: { type: "boolean", "x-mcp-header": "Flag" },
    },
  } as const;
  const server = new McpServer(me).tool("echo", { input }, (args: unknown) => JSON.stringify(args));
  const client = await connect(server);
  await client.listTools();
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: "grapheme" }),
    fc.string({ unit: "binary-ascii" }),
    fc.constantFrom("", " ", "\t", " a ", "=?base64?eA==?=", "a\tb", "\u{1f600}", "null", "0"),
  );
  const arguments_ = fc.record({ text, count: fc.integer(), flag: fc.boolean() }, { requiredKeys: [] });
  await fc.assert(
    fc.asyncProperty(arguments_, async (args) => {
      const plain = { ...args };
      deepEqual(JSON.parse((await client.callTool("echo", plain)).text), plain);
    }),
    { numRuns: 150 },
  );
});
