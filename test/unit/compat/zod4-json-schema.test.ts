import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { jsonSchemaValidator } from "bowline/json-schema";
import * as z from "zod";
import * as mini from "zod/mini";
import { type Zod4Schema, zod4ToJsonSchema } from "#src/compat/zod4-json-schema.js";

const convert = (schema: z.core.$ZodType, direction: "input" | "output" = "input") =>
  zod4ToJsonSchema(schema as unknown as Zod4Schema, direction);

const Tree = z.object({
  name: z.string(),
  get below() {
    return z.array(Tree).optional();
  },
});

/** Schemas with values of which the schema and its JSON Schema must accept and refuse the same. */
const SAME: Readonly<Record<string, readonly [z.core.$ZodType, ...unknown[]]>> = {
  text: [z.string(), "a", "", 1, null],
  "bounds of a text": [z.string().min(2).max(3), "a", "ab", "abcd"],
  "length of a text": [z.string().length(2), "a", "ab", "abc"],
  patterns: [z.string().regex(/^a/).startsWith("a.").endsWith("/").includes("+"), "a.+/", "ab+/", "a./", "a.+"],
  "text of a template": [z.templateLiteral(["a", z.number()]), "a1", "b1", 1],
  number: [z.number(), 1, 1.5, "1"],
  "bounds of a number": [z.number().int().min(1).lt(5).multipleOf(2), 2, 4, 1, 5, 6, 2.5],
  "other bounds": [z.number().gt(1).max(3), 1, 2, 3, 4],
  integer: [z.int32(), 1, 1.5],
  boolean: [z.boolean(), true, "true"],
  nothing: [z.null(), null, 0],
  never: [z.never(), 1, {}],
  anything: [z.unknown(), 1, {}, null],
  literal: [z.literal("a"), "a", "b"],
  literals: [z.literal(["a", 1, null]), "a", 1, null, "b"],
  enum: [z.enum(["a", "b"]), "a", "c", 1],
  "enum of TypeScript": [z.enum({ 0: "Oslo", 1: "Bergen", Oslo: 0, Bergen: 1 } as const), 0, 1, 2, "Oslo"],
  object: [z.object({ a: z.number(), b: z.string().optional() }), { a: 1 }, { a: 1, b: "", c: 1 }, { b: "" }, []],
  "strict object": [z.strictObject({ a: z.number() }), { a: 1 }, { a: 1, b: 2 }],
  "object with a catchall": [z.object({ a: z.number() }).catchall(z.string()), { a: 1, b: "" }, { a: 1, b: 2 }],
  "members that may be absent": [
    z.object({
      a: z.number().default(1),
      b: z.number().prefault(1),
      c: z.union([z.string(), z.undefined()]),
      d: z.string().nullish(),
      e: z.number().catch(1),
      f: z.string().optional().readonly().brand("f"),
      g: z.lazy(() => z.string().optional()),
      h: z.preprocess((value) => value ?? "", z.string()),
    }),
    {},
    { a: 2, c: "", d: null },
    { a: "" },
  ],
  "required members": [
    z.object({ a: z.string().nullable(), b: z.string().refine(Boolean), c: z.string().transform(Number) }),
    { a: null, b: "b", c: "1" },
    { b: "b", c: "1" },
    { a: null, c: "1" },
    { a: null, b: "b" },
  ],
  "a required member of an optional schema": [z.object({ a: z.string().optional().nonoptional() }), { a: "" }, {}],
  "a member with any name": [z.object({ "a/b~ c%": z.string() }), { "a/b~ c%": "" }, {}],
  record: [z.record(z.string(), z.number()), { a: 1 }, { a: "" }, {}],
  "record with checked names": [z.record(z.string().min(2), z.number()), { ab: 1 }, { a: 1 }],
  array: [z.array(z.string()).min(1).max(2), [], ["a"], ["a", "b", "c"], [1]],
  tuple: [z.tuple([z.string(), z.number().optional()]), ["a", 1], ["a"], [], ["a", 1, 2], [1, "a"]],
  "tuple with a rest": [z.tuple([z.string()], z.number()), ["a"], ["a", 1, 2], ["a", "b"]],
  union: [z.union([z.string(), z.object({ a: z.number() })]), "a", { a: 1 }, 1],
  "discriminated union": [
    z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a"), a: z.string() }),
      z.object({ kind: z.literal("b"), b: z.number() }),
    ]),
    { kind: "a", a: "" },
    { kind: "b", b: 1 },
    { kind: "a", b: 1 },
    { kind: "c" },
  ],
  intersection: [z.object({ a: z.string() }).and(z.object({ b: z.number() })), { a: "", b: 1 }, { a: "" }],
  nullable: [z.string().min(1).nullable(), "a", null, "", 1],
  "schema in itself": [Tree, { name: "a", below: [{ name: "b" }] }, { name: "a", below: [{ below: [] }] }],
  "schema of zod/mini": [
    mini.object({
      a: mini.string().check(mini.minLength(2)),
      b: mini.optional(mini.array(mini.number().check(mini.positive()))),
      c: mini._default(mini.nullable(mini.enum(["x", "y"])), "x"),
    }),
    { a: "ab" },
    { a: "ab", b: [1], c: null },
    { a: "a" },
    { a: "ab", b: [0] },
    { a: "ab", c: "z" },
    {},
  ],
};

for (const [name, [schema, ...values]] of Object.entries(SAME)) {
  test(`zod 4 and its JSON Schema agree: ${name}`, () => {
    const check = jsonSchemaValidator().compile(convert(schema));
    for (const value of values) {
      const issues = check(value) as readonly unknown[];
      equal(issues.length === 0, z.safeParse(schema, value).success, JSON.stringify(value));
    }
  });
}

test("formats, descriptions and defaults of zod 4 are kept", () => {
  const text = z.string();
  const formats = [text.email(), text.url(), text.guid(), text.datetime(), text.date(), text.ipv4()];
  deepEqual(
    formats.map((schema) => convert(schema).format),
    ["email", "uri", "uuid", "date-time", "date", "ipv4"],
  );
  equal(convert(text.base64()).contentEncoding, "base64");
  const schema = z.object({ a: z.string().optional().describe("A"), b: z.number().default(2), c: z.coerce.date() });
  deepEqual(convert(schema.describe("All")), {
    type: "object",
    properties: {
      a: { type: "string", description: "A" },
      b: { type: "number", default: 2 },
      c: { type: "string", format: "date-time" },
    },
    required: ["c"],
    description: "All",
  });
});

test("the output of zod 4 is described apart from its input", () => {
  const schema = z.object({
    a: z.number().default(1),
    b: z.string().transform(Number),
    c: z.string().pipe(z.coerce.number()),
    d: z.number().prefault(1),
  });
  deepEqual(convert(schema, "output"), {
    type: "object",
    properties: { a: { type: "number", default: 1 }, b: {}, c: { type: "number" }, d: { type: "number" } },
    required: ["a", "b", "c", "d"],
  });
});

test("what JSON has no form for is described as anything, and a schema without end to a depth", () => {
  for (const schema of [z.map(z.string(), z.string()), z.symbol(), z.undefined(), z.nan(), z.literal(1n)])
    deepEqual(convert(schema), {});
  const endless = (): z.ZodType => z.lazy(() => z.array(endless()));
  equal(typeof convert(endless()).items, "object");
});

test("literals and enums of zod 4 have a type, for hosts that need one", () => {
  deepEqual(convert(z.literal("a")), { type: "string", const: "a" });
  deepEqual(convert(z.literal(null)), { type: "null", const: null });
  deepEqual(convert(z.enum(["a", "b"])), { type: "string", enum: ["a", "b"] });
  deepEqual(convert(z.enum({ 0: "Oslo", 1: "Bergen", Oslo: 0, Bergen: 1 } as const)), { type: "number", enum: [0, 1] });
});

test("schemas of zod 4 that contain each other are described once each", () => {
  const kinds: z.ZodType[] = Array.from({ length: 8 }, (_, kind) => {
    const others = Array.from({ length: 8 }, (_, other) => [
      `to${other}`,
      z.lazy(() => kinds[other] as z.ZodType).optional(),
    ]);
    return z.object({ kind: z.literal(kind), ...Object.fromEntries(others) });
  });
  const described = convert(kinds[0] as z.ZodType);
  ok(JSON.stringify(described).length < 10_000);
  const check = jsonSchemaValidator().compile(described);
  equal((check({ kind: 0, to3: { kind: 3, to7: { kind: 7, to3: { kind: 3 } } } }) as readonly unknown[]).length, 0);
  equal((check({ kind: 0, to3: { kind: 3, to7: { kind: 7, to3: { kind: 4 } } } }) as readonly unknown[]).length, 1);
});

test("a schema of zod 4 that creates two schemas at each depth is described in part", () => {
  const endless = (): z.ZodType => z.lazy(() => z.tuple([endless(), endless()]));
  ok(JSON.stringify(convert(endless())).length < 1_000_000);
});
