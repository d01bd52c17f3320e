import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Client, OutputError } from "bowline/client";
import { RawServer } from "../../support/server-script.js";
import { proves } from "../../support/verifies.js";

interface Offered {
  readonly outputSchema: object;
  value: unknown;
}

/** A client that has listed tools of these output schemas; each returns its value. */
async function listed(
  t: TestContext,
  era: "modern" | "legacy",
  tools: Record<string, Offered>,
  warn: (message: string) => void = () => {},
): Promise<Client> {
  const server = new RawServer({
    era,
    capabilities: { tools: {} },
    handlers: {
      "tools/list": () => ({
        tools: Object.entries(tools).map(([name, { outputSchema }]) => ({
          name,
          inputSchema: { type: "object" },
          outputSchema,
        })),
      }),
      "tools/call": ({ name }) => ({ content: [], structuredContent: tools[String(name)]?.value }),
    },
  });
  const client = await server.connect(t, { logger: { warn } });
  const { tools: found } = await client.listTools();
  deepEqual(
    found.map(({ name }) => name),
    Object.keys(tools),
  );
  return client;
}

for (const era of ["modern", "legacy"] as const) {
  const wire = `${era}-memory`;

  proves(
    "client:jsonschema:dialect:default-is-2020-12",
    { wire },
    "a schema that names no dialect has the newest keywords",
    async (t) => {
      const tool: Offered = {
        outputSchema: {
          type: "object",
          properties: { pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] } },
          allOf: [{ properties: { a: true, b: true } }],
          dependentRequired: { a: ["b"] },
          unevaluatedProperties: false,
        },
        value: { pair: ["x", 1], a: 1, b: 2 },
      };
      const client = await listed(t, era, { t: tool });
      deepEqual((await client.callTool("t")).structured, tool.value);
      for (const wrong of [{ pair: [1, "x"] }, { a: 1 }, { c: 1 }]) {
        tool.value = wrong;
        await rejects(client.callTool("t"), OutputError, JSON.stringify(wrong));
      }
    },
  );

  proves(
    "client:jsonschema:bad-schema-isolates-tool",
    { wire },
    "a schema that cannot be used fails its own tool alone",
    async (t) => {
      const good = { outputSchema: { type: "object", required: ["n"] }, value: { n: 1 } };
      const client = await listed(t, era, {
        before: good,
        broken: { outputSchema: { type: "object", properties: { n: { $ref: "#/$defs/gone" } } }, value: {} },
        wrong: { outputSchema: { type: "object", properties: { n: { type: "nothing" } } }, value: {} },
        after: good,
      });
      for (const [tool, words] of [
        ["broken", /^The result of tool broken cannot be checked: its output schema is invalid: .*gone/],
        ["wrong", /cannot be checked: its output schema is invalid: #\/properties\/n\/type/],
      ] as const) {
        await rejects(client.callTool(tool), (error) => {
          ok(error instanceof OutputError && error.tool === tool);
          ok(words.test(error.message), error.message);
          return true;
        });
        for (const name of ["before", "after"]) deepEqual((await client.callTool(name)).structured, { n: 1 });
      }
    },
  );

  proves(
    "client:jsonschema:unsupported-dialect-graceful",
    { wire },
    "a schema of an unknown dialect checks nothing, and is reported once",
    async (t) => {
      const warnings: string[] = [];
      const unknown = { type: "object", required: ["n"], $schema: "https://example.com/d" };
      const old = { type: "object", required: ["n"], $schema: "http://json-schema.org/draft-04/schema#" };
      const client = await listed(
        t,
        era,
        { unknown: { outputSchema: unknown, value: {} }, old: { outputSchema: old, value: {} } },
        (message) => warnings.push(message),
      );
      deepEqual(warnings, []);
      for (let time = 0; time < 2; time++) {
        deepEqual((await client.callTool("unknown")).structured, {});
        await client.listTools();
      }
      deepEqual(warnings, [
        'tool unknown: its output is not checked against its schema, whose dialect "https://example.com/d" is not supported',
      ]);
      await rejects(client.callTool("old"), OutputError);
    },
  );

  proves(
    "client:jsonschema:same-document-ref-ok",
    { wire },
    "references within the document are followed",
    async (t) => {
      const $defs = {
        count: { type: "integer", minimum: 0 },
        word: { $anchor: "word", type: "string" },
        point: {
          $id: "https://example.com/point",
          type: "object",
          properties: { x: { $ref: "#/$defs/axis" } },
          $defs: { axis: { type: "number" } },
        },
        tree: {
          type: "object",
          properties: { size: { type: "number" }, children: { type: "array", items: { $ref: "#/$defs/tree" } } },
          required: ["size"],
        },
      };
      const properties = {
        count: { $ref: "#/$defs/count" },
        word: { $ref: "#word" },
        point: { $ref: "https://example.com/point" },
        tree: { $ref: "#/$defs/tree" },
        again: { $ref: "#" },
      };
      const tool: Offered = {
        outputSchema: { type: "object", $defs, properties },
        value: {
          count: 3,
          word: "w",
          point: { x: 1.5 },
          tree: { size: 2, children: [{ size: 1, children: [] }, { size: 0 }] },
          again: { count: 0 },
        },
      };
      const client = await listed(t, era, { t: tool });
      deepEqual((await client.callTool("t")).structured, tool.value);
      for (const [wrong, path] of [
        [{ count: -1 }, "/count"],
        [{ word: 5 }, "/word"],
        [{ point: { x: "left" } }, "/point/x"],
        [{ tree: { size: 1, children: [{ size: 1, children: [{ size: "?" }] }] } }, "/tree/children/0/children/0/size"],
        [{ again: { again: { count: "many" } } }, "/again/again/count"],
      ] as const) {
        tool.value = wrong;
        await rejects(client.callTool("t"), (error) => {
          ok(error instanceof OutputError);
          equal(error.issues[0]?.path, path);
          return true;
        });
      }
    },
  );
}
