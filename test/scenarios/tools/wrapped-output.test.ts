import { deepEqual, equal } from "node:assert/strict";
import { type AnySchema, McpServer, text, toolResult } from "bowline/server";
import { type JsonSchema, jsonSchemaValidator } from "#src/schema/json-schema/validator.js";
import { eachWire, legacyWires, type RecordedClient } from "../../support/each-wire.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const numbers = { type: "array", items: { type: "number" } } as const;
const union = { anyOf: [{ type: "object", properties: { n: { type: "number" } } }, { type: "string" }] } as const;
const counted = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;

const envelope = (result: object) => ({ type: "object", properties: { result }, required: ["result"] });

/** Refuses schemas with references that lead nowhere. */
const strictly = (schema: JsonSchema) => {
  const check = jsonSchemaValidator().compile(schema);
  return (value: unknown) => check(value).length === 0;
};

/** The output schema of the one tool, as it was written. */
function advertised(client: RecordedClient, tool: string): JsonSchema {
  const [response] = client.wire.responsesTo("tools/list");
  const [listing] = (response?.result?.tools ?? []) as Record<string, unknown>[];
  equal(listing?.name, tool);
  return listing?.outputSchema as JsonSchema;
}

verifies(
  ["2025:jsonschema:non-object-output-wrapped", "2025:jsonschema:non-object-structured-content-wrapped"],
  legacyWires,
  async ({ connect }) => {
    const cases: readonly (readonly [object, unknown, unknown])[] = [
      [numbers, [1, 2], ["1"]],
      [{ type: "string" }, "", 1],
      [{ type: "boolean" }, false, 1],
      [{ type: ["number", "null"] }, null, "x"],
    ];
    for (const [schema, value, wrong] of cases) {
      const client = await connect(new McpServer(me).tool("t", { output: schema as AnySchema }, () => value as never));
      await client.listTools();
      const shown = advertised(client, "t");
      deepEqual(shown, envelope(schema));
      const { structured, content } = await client.callTool("t");
      deepEqual(structured, { result: value });
      deepEqual(content, [text(JSON.stringify(value))]);
      const fits = strictly(shown);
      equal(fits(structured), true);
      equal(fits({ result: wrong }) || fits(value), false);
    }
  },
);

verifies("2025:jsonschema:wrap-follows-schema-not-value", legacyWires, async ({ connect }) => {
  const server = new McpServer(me)
    .tool(
      "either",
      { input: { type: "object", properties: { plain: { type: "boolean" } } }, output: union },
      (args) => (args.plain === true ? "x" : { n: 1 }) as never,
    )
    .tool("object", { output: counted }, () => ({ n: 2 }))
    .tool("named-result", { output: { type: "object", properties: { result: numbers } } }, () => ({ result: [1] }));
  const client = await connect(server);
  const schemas = (await client.listTools()).tools.map(({ outputSchema }) => outputSchema as object);
  deepEqual(schemas, [envelope(union), counted, { type: "object", properties: { result: numbers } }]);
  deepEqual((await client.callTool("either")).structured, { result: { n: 1 } });
  deepEqual((await client.callTool("either", { plain: true })).structured, { result: "x" });
  deepEqual((await client.callTool("object")).structured, { n: 2 });
  deepEqual((await client.callTool("named-result")).structured, { result: [1] });
});

verifies("2025:jsonschema:schemaless-non-object-sc-wrapped", eachWire, async ({ connect, era }) => {
  const server = new McpServer(me)
    .tool("list", {}, () => toolResult({ structuredContent: [1, 2] }))
    .tool("nothing", {}, () => toolResult({ structuredContent: null, content: [text("none")] }))
    .tool("object", {}, () => toolResult({ structuredContent: { n: 1 } }))
    .tool("failed", {}, () => toolResult({ structuredContent: [3], isError: true }));
  const client = await connect(server);
  const structured = async (tool: string) => (await client.callTool(tool)).structured;
  const seen = (value: unknown) => (era === "legacy" ? { result: value } : value);
  deepEqual(await structured("list"), seen([1, 2]));
  deepEqual(await structured("nothing"), seen(null));
  deepEqual(await structured("object"), { n: 1 });
  deepEqual(await structured("failed"), seen([3]));
});

verifies("2025:jsonschema:non-object-structured-content-wrapped", eachWire, async ({ connect, era }) => {
  const date = new Date(0);
  const asList = { n: 1, toJSON: () => [1] };
  const asObject = Object.assign([1], { toJSON: () => ({ n: 1 }) });
  const server = new McpServer(me)
    .tool("date", {}, () => date)
    .tool("list", {}, () => toolResult({ structuredContent: asList }))
    .tool("boxed", {}, () => new String("text"))
    .tool("declared", { output: { type: "string" } }, () => "text" as never)
    .tool("object", {}, () => asObject)
    .tool("nothing", {}, () => toolResult({ structuredContent: { toJSON: () => undefined }, content: [text("none")] }));
  const client = await connect(server);
  const structured = async (tool: string) => (await client.callTool(tool)).structured;
  const seen = (value: unknown) => (era === "legacy" ? { result: value } : value);
  deepEqual(await structured("date"), seen(date.toJSON()));
  deepEqual(await structured("list"), seen([1]));
  deepEqual(await structured("boxed"), seen("text"));
  deepEqual(await structured("declared"), seen("text"));
  deepEqual(await structured("object"), { n: 1 });
  equal(await structured("nothing"), undefined);
});

verifies("2025:jsonschema:ref-rewrite-on-wrap", legacyWires, async ({ connect }) => {
  const tree = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "array",
    items: { anyOf: [{ $ref: "#" }, { $ref: "#/$defs/leaf" }] },
    $defs: { leaf: { type: "object", properties: { name: { $ref: "#/$defs/name" } } }, name: { type: "string" } },
  } as const;
  const value = [[{ name: "a" }], { name: "b" }, [[]]];
  const client = await connect(new McpServer(me).tool("tree", { output: tree }, () => value as never));
  await client.listTools();
  const fits = strictly(advertised(client, "tree"));
  const { structured } = await client.callTool("tree");
  deepEqual(structured, { result: value });
  equal(fits(structured), true);
  equal(fits({ result: [[{ name: 1 }]] }), false);
  equal(fits({ result: [1] }), false);
});

const draft4 = { $schema: "http://json-schema.org/draft-04/schema#" };
const draft2019 = { $schema: "https://json-schema.org/draft/2019-09/schema" };

/** What an author writes, and what it is inside the envelope. */
const MOVED: Readonly<Record<string, readonly [written: object, moved: object]>> = {
  root: [
    { type: "array", items: { $ref: "#" } },
    { type: "array", items: { $ref: "#/properties/result" } },
  ],
  pointer: [
    { anyOf: [{ $ref: "#/$defs/a~1b" }, { $dynamicRef: "#/$defs/a~1b" }], $defs: { "a/b": { type: "string" } } },
    {
      anyOf: [{ $ref: "#/properties/result/$defs/a~1b" }, { $dynamicRef: "#/properties/result/$defs/a~1b" }],
      $defs: { "a/b": { type: "string" } },
    },
  ],
  anchor: same({ anyOf: [{ $ref: "#leaf" }, { $dynamicRef: "#leaf" }], $defs: { a: { $dynamicAnchor: "leaf" } } }),
  literals: same({
    type: "array",
    const: [{ $ref: "#" }],
    enum: [[{ $ref: "#/$defs/a" }]],
    default: [{ $ref: "#" }],
    examples: [[{ $dynamicRef: "#" }]],
  }),
  "properties with the names of keywords": [
    {
      type: "array",
      items: { properties: { default: { $ref: "#" }, const: { items: { $ref: "#" } }, $ref: { type: "string" } } },
    },
    {
      type: "array",
      items: {
        properties: {
          default: { $ref: "#/properties/result" },
          const: { items: { $ref: "#/properties/result" } },
          $ref: { type: "string" },
        },
      },
    },
  ],
  "a part with an id": [
    { anyOf: [{ $id: "urn:example:part", items: { $ref: "#" } }, { items: { $ref: "#" } }] },
    { anyOf: [{ $id: "urn:example:part", items: { $ref: "#" } }, { items: { $ref: "#/properties/result" } }] },
  ],
  "a root with an id": same({ $id: "urn:example:whole", type: "array", items: { $ref: "#" } }),
  "a root with an id of draft-04": same({ ...draft4, id: "urn:example:whole", type: "array", items: { $ref: "#" } }),
  "a keyword that is the id of draft-04 alone": [
    { id: "urn:example:whole", type: "array", items: { $ref: "#" } },
    { id: "urn:example:whole", type: "array", items: { $ref: "#/properties/result" } },
  ],
  "a recursive reference": [
    { ...draft2019, type: "array", items: { $recursiveRef: "#" } },
    { ...draft2019, type: "array", items: { $ref: "#/properties/result" } },
  ],
};

function same(schema: object): readonly [object, object] {
  return [schema, schema];
}

verifies("2025:jsonschema:ref-rewrite-scope", legacyWires, async ({ connect }) => {
  for (const [name, [written, moved]] of Object.entries(MOVED)) {
    const before = structuredClone(written);
    const client = await connect(new McpServer(me).tool(name, { output: written as AnySchema }, () => [] as never));
    await client.listTools();
    const { $schema, ...result } = moved as JsonSchema;
    deepEqual(advertised(client, name), { ...($schema === undefined ? {} : { $schema }), ...envelope(result) }, name);
    deepEqual(written, before, `${name}: the author's own is left as it was`);
  }
});

proves(
  "2025:jsonschema:ref-rewrite-scope",
  { wire: "legacy-memory" },
  "a part that is used twice is moved once",
  async (t) => {
    const [memory] = legacyWires;
    const shared = { $ref: "#/$defs/a" };
    const written = { anyOf: [{ items: shared }, { contains: shared }], $defs: { a: { type: "string" } } };
    const client = await (await memory!.open(t)).connect(
      new McpServer(me).tool("t", { output: written as AnySchema }, () => [] as never),
    );
    await client.listTools();
    const moved = { $ref: "#/properties/result/$defs/a" };
    deepEqual(advertised(client, "t"), envelope({ ...written, anyOf: [{ items: moved }, { contains: moved }] }));
  },
);
