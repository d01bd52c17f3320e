import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { type AnySchema, type JsonSchema, type JsonSchemaValidator, McpServer, withJsonSchema } from "bowline/server";
import * as v from "valibot";
import * as z from "zod";
import { eachWire, modernWires, type RecordedClient } from "../../support/each-wire.js";
import { RawServer } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

async function schemaOf(client: RecordedClient, name: string): Promise<Record<string, unknown>> {
  const tool = (await client.listTools()).tools.find((listed) => listed.name === name);
  return (tool?.inputSchema ?? {}) as unknown as Record<string, unknown>;
}

async function refused(client: RecordedClient, name: string, args: object, place: RegExp): Promise<void> {
  const outcome = await client.callTool(name, args);
  equal(outcome.isError, true, JSON.stringify(args));
  match(outcome.text, place);
}

const city = { type: "string", description: "Where to look" };
const libraries = {
  "standardschema:tool:zod-input": {
    input: z.object({ city: z.string().describe("Where to look"), days: z.number().default(2) }),
    output: z.object({ celsius: z.number() }),
  },
  "standardschema:tool:valibot-input": {
    input: toStandardJsonSchema(
      v.object({ city: v.pipe(v.string(), v.description("Where to look")), days: v.optional(v.number(), 2) }),
    ),
    output: toStandardJsonSchema(v.object({ celsius: v.number() })),
  },
  "standardschema:tool:arktype-input": {
    input: type({ city: type("string").describe("Where to look"), days: "number = 2" }),
    output: type({ celsius: "number" }),
  },
};

verifies("standardschema:tool:zod-input", eachWire, async ({ connect }) => {
  const { input, output } = libraries["standardschema:tool:zod-input"];
  const server = new McpServer(me).tool("forecast", { input, output }, (args) => {
    const typed: { city: string; days: number } = args;
    return { celsius: typed.city.length + typed.days };
  });
  await forecasts(await connect(server));
});

verifies("standardschema:tool:valibot-input", eachWire, async ({ connect }) => {
  const { input, output } = libraries["standardschema:tool:valibot-input"];
  const server = new McpServer(me).tool("forecast", { input, output }, (args) => {
    const typed: { city: string; days: number } = args;
    return { celsius: typed.city.length + typed.days };
  });
  await forecasts(await connect(server));
});

verifies("standardschema:tool:arktype-input", eachWire, async ({ connect }) => {
  const { input, output } = libraries["standardschema:tool:arktype-input"];
  equal(typeof input, "function");
  const server = new McpServer(me).tool("forecast", { input, output }, (args) => {
    const typed: { city: string; days: number } = args;
    return { celsius: typed.city.length + typed.days };
  });
  await forecasts(await connect(server));
});

async function forecasts(client: RecordedClient): Promise<void> {
  const [tool] = (await client.listTools()).tools;
  deepEqual(tool?.inputSchema.properties && (tool.inputSchema.properties as Record<string, unknown>).city, city);
  deepEqual(tool?.inputSchema.required, ["city"]);
  deepEqual((tool?.outputSchema as { required?: unknown } | undefined)?.required, ["celsius"]);
  deepEqual((await client.callTool("forecast", { city: "Oslo" })).structured, { celsius: 6 });
  await refused(client, "forecast", { city: 7 }, /\/city /);
}

verifies("standardschema:tool:no-json-schema", eachWire, async ({ connect }) => {
  const even = v.object({
    n: v.pipe(
      v.number(),
      v.check((n) => n % 2 === 0, "must be even"),
    ),
  });
  const server = new McpServer(me);
  throws(() => server.tool("even", { input: even }, () => ""), {
    code: "definition_error",
    message: /tool "even" input: .*withJsonSchema/,
  });
  const shown = { type: "object", properties: { n: { type: "number", multipleOf: 2 } } };
  server.tool("even", { input: withJsonSchema(even, shown) }, ({ n }) => `${n} is even`);
  const client = await connect(server);
  deepEqual(await schemaOf(client, "even"), shown);
  await refused(client, "even", { n: 3 }, /\/n must be even/);
  equal((await client.callTool("even", { n: 4 })).text, "4 is even");
});

verifies("standardschema:tool:io-direction", eachWire, async ({ connect }) => {
  const both = z.object({ a: z.string().default("x") });
  const server = new McpServer(me)
    .tool("t", { input: both, output: both }, () => ({}))
    .tool("number", { input: z.object({ n: z.string().transform(Number) }) }, ({ n }) => String(n + 1));
  const client = await connect(server);
  const [tool] = (await client.listTools()).tools;
  equal(tool?.inputSchema.required, undefined);
  deepEqual((tool?.outputSchema as { required?: unknown } | undefined)?.required, ["a"]);
  deepEqual((await client.callTool("t")).structured, { a: "x" });
  deepEqual((await schemaOf(client, "number")).properties, { n: { type: "string" } });
  equal((await client.callTool("number", { n: "41" })).text, "42");
});

verifies("standardschema:tool:dialect", eachWire, async ({ connect }) => {
  const tuples: Record<string, AnySchema> = {
    zod: z.object({ pair: z.tuple([z.string(), z.number()]) }),
    valibot: toStandardJsonSchema(v.object({ pair: v.tuple([v.string(), v.number()]) })),
    arktype: type({ pair: ["string", "number"] }),
  };
  const server = new McpServer(me);
  for (const [name, input] of Object.entries(tuples)) server.tool(name, { input }, () => "ran");
  const client = await connect(server);
  for (const name of Object.keys(tuples)) {
    const { $schema, properties } = await schemaOf(client, name);
    equal($schema, undefined);
    const { pair } = properties as { pair: { prefixItems?: unknown } };
    deepEqual(pair.prefixItems, [{ type: "string" }, { type: "number" }]);
    // What is listed is usable by its own dialect's rules: registering it as it is compiles it.
    new McpServer(me).tool("again", { input: await schemaOf(client, name) }, () => "");
    await refused(client, name, { pair: ["a", "b"] }, /\/pair\/1 /);
  }
});

verifies("standardschema:tool:schema-variants", eachWire, async ({ connect }) => {
  const cat = z.object({ kind: z.literal("cat"), lives: z.coerce.number() });
  const dog = z.object({ kind: z.literal("dog"), good: z.boolean().default(true) });
  const variants: Record<string, readonly [z.ZodType, object, unknown]> = {
    union: [z.union([cat, dog]), { kind: "dog" }, { kind: "dog", good: true }],
    discriminated: [z.discriminatedUnion("kind", [cat, dog]), { kind: "cat", lives: "9" }, { kind: "cat", lives: 9 }],
    intersection: [
      z.object({ a: z.string() }).and(z.object({ b: z.string() })),
      { a: "1", b: "2" },
      { a: "1", b: "2" },
    ],
    nested: [z.object({ in: z.object({ n: z.string().trim() }) }), { in: { n: " x " } }, { in: { n: "x" } }],
    preprocess: [z.object({ n: z.preprocess((n) => Number(n), z.number()) }), { n: "5" }, { n: 5 }],
    transform: [z.object({ n: z.number() }).transform(({ n }) => ({ doubled: n * 2 })), { n: 4 }, { doubled: 8 }],
    pipe: [z.object({ n: z.string() }).pipe(z.object({ n: z.string().transform(Number) })), { n: "3" }, { n: 3 }],
  };
  const server = new McpServer(me);
  for (const [name, [input]] of Object.entries(variants)) {
    server.tool(name, { input: input as AnySchema }, (args) => JSON.stringify(args));
  }
  const client = await connect(server);
  for (const [name, [, sent, seen]] of Object.entries(variants)) {
    equal((await schemaOf(client, name)).type, "object", name);
    const { text, isError } = await client.callTool(name, sent);
    equal(isError, false, text);
    deepEqual(JSON.parse(text), seen, name);
    await refused(client, name, { kind: "fish", n: {}, in: 1 }, /\//);
  }
});

verifies("standardschema:tool:async-validation", eachWire, async ({ connect }) => {
  const slow = (good: string) => z.string().refine(async (text) => (await Promise.resolve(text)) === good, "is not it");
  let ran = 0;
  const server = new McpServer(me)
    .tool("input", { input: z.object({ a: slow("yes") }) }, () => String(++ran))
    .tool("output", { output: z.object({ a: slow("yes") }) }, () => ({ a: "no" }))
    .prompt("prompt", { arguments: z.object({ a: slow("yes") }) }, () => String(++ran))
    .tool("elicit", {}, async (_, ctx) => {
      const answer = await ctx.elicit("?", z.object({ a: slow("yes") }));
      return `${answer.action} ${++ran}`;
    });
  const client = await connect(server, { onElicit: () => ({ action: "accept", content: { a: "no" } }) });
  await refused(client, "input", { a: "no" }, /\/a is not it/);
  await refused(client, "output", {}, /\/a is not it/);
  await rejects(client.getPrompt("prompt", { a: "no" }), { rpcCode: -32602 });
  await client.callTool("elicit").then(
    ({ isError }) => equal(isError, true),
    () => {},
  );
  equal(ran, 0);
  equal((await client.callTool("input", { a: "yes" })).text, "1");
});

verifies("standardschema:prompt:args-schema", eachWire, async ({ connect }) => {
  const server = new McpServer(me)
    .prompt(
      "zod",
      { arguments: z.object({ tone: z.enum(["dry", "warm"]).describe("How"), to: z.string().optional() }) },
      ({ tone }) => tone,
    )
    .prompt(
      "valibot",
      {
        arguments: toStandardJsonSchema(
          v.object({ tone: v.pipe(v.picklist(["dry", "warm"]), v.description("How")), to: v.optional(v.string()) }),
        ),
      },
      ({ tone }) => tone,
    )
    .prompt(
      "arktype",
      { arguments: type({ tone: type("'dry' | 'warm'").describe("How"), "to?": "string" }) },
      ({ tone }) => tone,
    );
  const client = await connect(server);
  const listed = await client.prompts().all();
  for (const { name, arguments: args } of listed) {
    deepEqual(
      args?.map((arg) => [arg.name, arg.required === true]),
      [
        ["tone", true],
        ["to", false],
      ],
      name,
    );
    equal(args?.[0]?.description?.includes("How"), true, name);
    await rejects(client.getPrompt(name, { tone: "loud" }), { rpcCode: -32602 });
    const [message] = (await client.getPrompt(name, { tone: "dry" })).messages;
    deepEqual(message?.content, { type: "text", text: "dry" });
  }
  equal(listed.length, 3);
});

const raw = {
  type: "object",
  properties: {
    n: { type: "integer" },
    list: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] },
  },
  required: ["n"],
};

verifies(
  ["validators:from-json-schema:tool-roundtrip", "validators:from-json-schema:invalid-args-rejected"],
  eachWire,
  async ({ connect }) => {
    let ran = 0;
    const server = new McpServer(me).tool("t", { input: raw }, ({ n }) => `${String(n)} ${++ran}`);
    const client = await connect(server);
    deepEqual(await schemaOf(client, "t"), raw);
    await refused(client, "t", { n: "one" }, /^Invalid arguments for tool t: \/n /);
    await refused(client, "t", {}, /\/n /);
    equal(ran, 0);
    for (const { error } of client.wire.responsesTo("tools/call")) equal(error, undefined);
    equal((await client.callTool("t", { n: 5, list: ["a", 1] })).text, "5 1");
  },
);

verifies("validators:custom-validator:override", eachWire, async ({ connect }) => {
  const seen: unknown[] = [];
  const validator: JsonSchemaValidator = {
    compile: () => (value) => {
      seen.push(value);
      return seen.length === 1 ? [{ path: "/n", message: "says the spy" }] : [];
    },
  };
  const client = await connect(new McpServer(me).tool("t", { input: raw, validator }, () => "ran"));
  await refused(client, "t", { n: 1 }, /\/n says the spy/);
  equal((await client.callTool("t", { n: "not an integer" })).text, "ran");
  deepEqual(seen, [{ n: 1 }, { n: "not an integer" }]);
});

const rejecting = () => {
  const counter = { compiled: 0 };
  const validator: JsonSchemaValidator = {
    compile() {
      counter.compiled++;
      return () => [{ path: "", message: "never" }];
    },
  };
  return { counter, validator };
};

verifies("validation:pluggable-provider", eachWire, async ({ connect }) => {
  const { counter, validator } = rejecting();
  const server = new McpServer(me, { validator }).tool("t", { input: raw }, () => "ran");
  equal(counter.compiled, 1);
  const client = await connect(server);
  await refused(client, "t", { n: 1 }, /never/);
  const theirs = rejecting();
  const plain = new McpServer(me).tool("t", { output: { type: "object" } }, () => ({}));
  const judging = await connect(plain, { validator: theirs.validator });
  await judging.listTools();
  await rejects(judging.callTool("t"), { code: "invalid_output" });
  equal(theirs.counter.compiled, 1);
});

verifies("tools:input-schema:json-schema-2020-12", eachWire, async ({ connect }) => {
  const input = {
    type: "object",
    $defs: { point: { type: "array", prefixItems: [{ type: "number" }, { type: "number" }], items: false } },
    properties: { at: { type: "object", properties: { from: { $ref: "#/$defs/point" } }, required: ["from"] } },
    required: ["at"],
  };
  const client = await connect(new McpServer(me).tool("go", { input }, (args) => JSON.stringify(args)));
  deepEqual(await schemaOf(client, "go"), input);
  equal((await client.callTool("go", { at: { from: [1, 2] } })).text, '{"at":{"from":[1,2]}}');
  await refused(client, "go", { at: { from: [1, "2"] } }, /\/at\/from\/1 /);
});

verifies(
  [
    "tools:input-schema:preserve-additional-properties",
    "tools:input-schema:preserve-defs",
    "tools:input-schema:preserve-schema-dialect",
  ],
  eachWire,
  async ({ connect }) => {
    const $schema = "https://json-schema.org/draft/2020-12/schema";
    const schemas: Record<string, Record<string, unknown>> = {
      open: { type: "object", additionalProperties: true },
      closed: { type: "object", additionalProperties: false },
      typed: { type: "object", additionalProperties: { type: "string" } },
      defs: { type: "object", $defs: { a: { type: "string" }, unused: {} }, properties: { x: { $ref: "#/$defs/a" } } },
      dialect: { $schema, type: "object" },
      older: { $schema: "http://json-schema.org/draft-07/schema#", type: "object", definitions: { a: {} } },
    };
    const server = new McpServer(me);
    for (const [name, input] of Object.entries(schemas)) server.tool(name, { input }, () => "");
    const client = await connect(server);
    for (const [name, input] of Object.entries(schemas)) {
      deepEqual(await schemaOf(client, name), { properties: {}, ...input });
    }
    equal("$schema" in (await schemaOf(client, "open")), false);
  },
);

const composed = {
  type: "object",
  $anchor: "top",
  oneOf: [{ required: ["a"] }, { required: ["b"] }],
  anyOf: [true],
  allOf: [{ type: "object" }],
  not: { required: ["never"] },
  if: { required: ["a"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { properties: { a: { type: "string" } } },
  else: {},
  dependentRequired: { b: ["c"] },
  properties: { a: {}, b: {}, c: {} },
  unevaluatedProperties: false,
};

verifies("tools:input-schema:preserve-composition", modernWires, async ({ connect }, t) => {
  const client = await connect(new McpServer(me).tool("t", { input: composed }, () => "ran"));
  deepEqual(await schemaOf(client, "t"), composed);
  equal((await client.callTool("t", { a: "x" })).text, "ran");
  equal((await client.callTool("t", { b: 1, c: 1 })).text, "ran");
  for (const args of [{}, { a: "x", b: 1, c: 1 }, { b: 1 }, { a: 1 }, { a: "x", never: 1 }, { a: "x", other: 1 }]) {
    await refused(client, "t", args, /./);
  }
  const server = new RawServer({
    era: "modern",
    handlers: { "tools/list": () => ({ tools: [{ name: "t", inputSchema: composed }] }) },
  });
  deepEqual(await schemaOf(await server.connect(t), "t"), composed);
});

verifies("tools:input-schema:root-object", eachWire, async ({ connect }) => {
  const server = new McpServer(me);
  for (const input of [null, true, [], { type: "string" }, { type: ["object", "null"] }, {}]) {
    throws(() => server.tool("bad", { input: input as never }, () => ""), { code: "definition_error" });
  }
  const either = z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("a"), n: z.number() }),
    z.object({ kind: z.literal("b") }),
  ]);
  server.tool("either", { input: either }, ({ kind }) => kind);
  const client = await connect(server);
  const listed = await schemaOf(client, "either");
  equal(listed.type, "object");
  ok(Array.isArray(listed.oneOf ?? listed.anyOf));
  equal((await client.callTool("either", { kind: "b" })).text, "b");
});

verifies("tools:input-schema:no-params", eachWire, async ({ connect }) => {
  const client = await connect(new McpServer(me).tool("none", {}, () => ""));
  deepEqual(await schemaOf(client, "none"), { type: "object", properties: {}, additionalProperties: false });
});

verifies("tools:input-schema:lists-properties", eachWire, async ({ connect }) => {
  const shown: JsonSchema = { type: "object", additionalProperties: { type: "string" } };
  const inputs: Record<string, AnySchema | undefined> = {
    none: undefined,
    raw: { type: "object" },
    closed: { type: "object", additionalProperties: false },
    composed: { type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    empty: z.object({}),
    strict: z.strictObject({}),
    record: z.record(z.string(), z.string()),
    union: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
    shown: withJsonSchema(z.record(z.string(), z.string()), shown),
  };
  const server = new McpServer(me);
  for (const [name, input] of Object.entries(inputs)) server.tool(name, { input }, () => "");
  const client = await connect(server);
  for (const name of Object.keys(inputs)) deepEqual((await schemaOf(client, name)).properties, {}, name);
  deepEqual(await schemaOf(client, "shown"), { ...shown, properties: {} });
  equal("properties" in shown, false);
});

proves("standardschema:tool:no-json-schema", {}, "what cannot be converted is refused with its place", () => {
  const input = z.object({ when: z.object({ at: z.date() }) });
  throws(() => new McpServer(me).tool("t", { input }, () => ""), {
    code: "definition_error",
    message: /tool "t" input: .*\/properties\/when\/properties\/at/,
  });
});
