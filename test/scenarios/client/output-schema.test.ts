import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Tool } from "bowline";
import { type ClientOptions, type JsonSchemaValidator, OutputError } from "bowline/client";
import * as z from "zod";
import { jsonSchemaValidator } from "#src/schema/json-schema/validator.js";
import { RawServer } from "../../support/server-script.js";
import { proves } from "../../support/verifies.js";

type Era = "modern" | "legacy";
const ERAS: readonly Era[] = ["modern", "legacy"];
const counted = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };

/** A server with one tool of this output schema, whose results the test decides on. */
function serving(era: Era, outputSchema: unknown, result: () => Record<string, unknown>) {
  const tool = () => ({ name: "t", inputSchema: { type: "object" }, outputSchema });
  const server = new RawServer({
    era,
    capabilities: { tools: { listChanged: true } },
    handlers: {
      "tools/list": () => ({ tools: [tool()] }),
      "tools/call": () => ({ content: [{ type: "text", text: "said" }], ...result() }),
    },
  });
  return {
    server,
    tool: tool() as unknown as Tool,
    async listed(t: TestContext, options?: ClientOptions) {
      const client = await server.connect(t, options);
      await client.listTools();
      return client;
    },
  };
}

for (const era of ERAS) {
  const wire = `${era}-memory`;

  proves(
    "client:output-schema:validate",
    { wire },
    "what does not fit is an error with issues and result",
    async (t) => {
      const result = { structuredContent: { n: "five" } };
      const client = await serving(era, counted, () => result).listed(t);
      await rejects(client.callTool("t"), (error) => {
        ok(error instanceof OutputError && error.code === "invalid_output" && error.tool === "t");
        deepEqual(
          error.issues.map(({ path }) => path),
          ["/n"],
        );
        deepEqual((error.result as typeof result).structuredContent, result.structuredContent);
        return true;
      });
    },
  );

  proves("client:output-schema:missing-structured", { wire }, "nothing is not enough", async (t) => {
    const client = await serving(era, counted, () => ({})).listed(t);
    await rejects(client.callTool("t"), OutputError);
  });

  proves("client:output-schema:skip-on-error", { wire }, "a failure says what it wants", async (t) => {
    const client = await serving(era, counted, () => ({ isError: true, structuredContent: { n: "x" } })).listed(t);
    const outcome = await client.callTool("t");
    equal(outcome.isError, true);
    equal(outcome.text, "said");
  });

  proves("client:output-schema:validator-cached", { wire }, "compiled once per definition", async (t) => {
    let compiled = 0;
    const own = jsonSchemaValidator();
    const validator: JsonSchemaValidator = {
      compile(schema) {
        compiled++;
        return own.compile(schema);
      },
    };
    let outputSchema: object = counted;
    let value: unknown = { n: 1 };
    const server = new RawServer({
      era,
      capabilities: { tools: { listChanged: true } },
      handlers: {
        "tools/list": () => ({ tools: [{ name: "t", inputSchema: { type: "object" }, outputSchema }] }),
        "tools/call": () => ({ content: [], structuredContent: value }),
      },
    });
    const client = await server.connect(t, { validator });
    await client.listTools();
    equal(compiled, 0);
    for (let call = 0; call < 50; call++) await client.callTool("t");
    equal(compiled, 1);
    await client.listTools();
    await client.callTool("t");
    equal(compiled, 1);
    outputSchema = { type: "object", properties: { n: { type: "string" } } };
    server.notify("notifications/tools/list_changed");
    await client.listTools();
    await rejects(client.callTool("t"), OutputError);
    value = { n: "text" };
    deepEqual((await client.callTool("t")).structured, value);
    equal(compiled, 2);
  });

  proves("client:output-schema:no-implicit-list", { wire }, "nothing is listed behind the caller's back", async (t) => {
    const { server, tool } = serving(era, counted, () => ({ structuredContent: { n: "x" } }));
    const client = await server.connect(t);
    deepEqual((await client.callTool("t")).structured, { n: "x" });
    equal(client.wire.requests("tools/list").length, 0);
    await rejects(client.callTool("t", {}, { tool }), OutputError);
    equal(client.wire.requests("tools/list").length, 0);
  });

  proves("types:structured-content:unknown", { wire }, "a schema of the caller's gives the type", async (t) => {
    const results = [{ structuredContent: { n: 4 } }, { structuredContent: { n: "four" } }];
    const { server } = serving(era, undefined, () => results.shift() ?? {});
    const client = await server.connect(t);
    const output = z.object({ n: z.number() });
    const { structured } = await client.callTool("t", {}, { output });
    const n: number = structured.n;
    equal(n, 4);
    await rejects(client.callTool("t", {}, { output }), OutputError);
    const bare = await client.callTool("t");
    // @ts-expect-error: what nobody checked has no members.
    equal(bare.structured?.n, undefined);
  });

  proves("client:jsonschema:2020-12:prefix-items", { wire }, "no keyword is passed over", async (t) => {
    const tree = {
      $id: "https://example.com/tree",
      $dynamicAnchor: "node",
      properties: { children: { type: "array", items: { $dynamicRef: "#node" } }, value: { type: "number" } },
    };
    const violations: readonly (readonly [object, unknown])[] = [
      [{ prefixItems: [{ type: "string" }] }, [1]],
      [{ dependentRequired: { a: ["b"] } }, { a: 1 }],
      [{ dependentSchemas: { a: { required: ["b"] } } }, { a: 1 }],
      [{ properties: { a: true }, unevaluatedProperties: false }, { b: 1 }],
      [{ prefixItems: [true], unevaluatedItems: false }, [1, 2]],
      [tree, { children: [{ value: "x" }] }],
      [{ contains: { type: "number" }, minContains: 2 }, [1, "x"]],
    ];
    for (const [keywords, value] of violations) {
      const schema = era === "legacy" ? { type: "object", properties: { v: keywords } } : keywords;
      const structuredContent = era === "legacy" ? { v: value } : value;
      const client = await serving(era, schema, () => ({ structuredContent })).listed(t);
      await rejects(client.callTool("t"), OutputError, JSON.stringify(keywords));
    }
  });
}

proves(
  "client:jsonschema:falsy-structured-content-validated",
  { wire: "modern-memory" },
  "a falsy value is a value",
  async (t) => {
    const outcome = async (outputSchema: object, structuredContent: unknown) => {
      const client = await serving("modern", outputSchema, () => ({ structuredContent })).listed(t);
      return client.callTool("t");
    };
    equal((await outcome({ type: "integer" }, 0)).structured, 0);
    equal((await outcome({ type: "null" }, null)).structured, null);
    equal((await outcome({ type: "boolean" }, false)).structured, false);
    equal((await outcome({ type: "string" }, "")).structured, "");
    await rejects(outcome({ type: "string" }, 0), OutputError);
    await rejects(outcome({ type: "string" }, null), OutputError);
  },
);

proves(
  "client:jsonschema:non-object-output",
  { wire: "modern-memory" },
  "a list is checked item by item",
  async (t) => {
    const values: unknown[] = [
      [1, 2],
      [1, "two"],
    ];
    const schema = { type: "array", items: { type: "number" } };
    const client = await serving("modern", schema, () => ({ structuredContent: values.shift() })).listed(t);
    deepEqual((await client.callTool("t")).structured, [1, 2]);
    await rejects(client.callTool("t"), (error) => error instanceof OutputError && error.issues[0]?.path === "/1");
  },
);
