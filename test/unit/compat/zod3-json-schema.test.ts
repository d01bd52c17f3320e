import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { jsonSchemaValidator } from "bowline/json-schema";
import * as z from "zod/v3";
import { acceptsAbsence, zod3ToJsonSchema } from "#src/compat/zod3-json-schema.js";

const convert = (schema: z.ZodTypeAny, direction: "input" | "output" = "input") => zod3ToJsonSchema(schema, direction);

/** What TypeScript creates for an enum with numbers. */
const Port = { 0: "Oslo", 1: "Bergen", Oslo: 0, Bergen: 1 } as const;
interface Tree {
  name: string;
  below?: Tree[] | undefined;
}
const Tree: z.ZodType<Tree> = z.object({ name: z.string(), below: z.lazy(() => z.array(Tree)).optional() });

/** Schemas with values of which the schema and its JSON Schema must accept and refuse the same. */
const SAME: Readonly<Record<string, readonly [z.ZodTypeAny, ...unknown[]]>> = {
  text: [z.string(), "a", "", 1, null],
  "bounds of a text": [z.string().min(2).min(1).max(3), "a", "ab", "abcd"],
  "length of a text": [z.string().length(2), "a", "ab", "abc"],
  patterns: [z.string().regex(/^a/).startsWith("a.").endsWith("/").includes("+"), "a.+/", "ab+/", "a./", "a.+"],
  "a pattern with flags": [z.string().regex(/^a$/u), "a", "b"],
  number: [z.number(), 1, 1.5, "1"],
  "bounds of a number": [z.number().int().min(1).lt(5).multipleOf(2), 2, 4, 1, 5, 6, 2.5],
  "other bounds": [z.number().gt(1).max(3), 1, 2, 3, 4],
  boolean: [z.boolean(), true, "true"],
  nothing: [z.null(), null, 0],
  never: [z.never(), 1, {}],
  anything: [z.any(), 1, {}, null],
  literal: [z.literal("a"), "a", "b"],
  enum: [z.enum(["a", "b"]), "a", "c", 1],
  "enum of TypeScript": [z.nativeEnum(Port), 0, 1, 2, "Oslo"],
  "enum of an object": [z.nativeEnum({ a: "x", b: 2 } as const), "x", 2, "a"],
  object: [z.object({ a: z.number(), b: z.string().optional() }), { a: 1 }, { a: 1, b: "", c: 1 }, { b: "" }, []],
  "strict object": [z.object({ a: z.number() }).strict(), { a: 1 }, { a: 1, b: 2 }],
  "object with a catchall": [z.object({ a: z.number() }).catchall(z.string()), { a: 1, b: "" }, { a: 1, b: 2 }],
  "members that may be absent": [
    z.object({
      a: z.number().default(1),
      b: z.unknown(),
      c: z.union([z.string(), z.undefined()]),
      d: z.string().nullish(),
      e: z.number().catch(1),
      f: z.string().optional().readonly().brand("f"),
      g: z.lazy(() => z.string().optional()),
      h: z.string().optional().and(z.string().optional()),
      i: z.string().optional().pipe(z.string().optional()),
      j: z.preprocess((value) => value ?? "", z.string()),
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
  "a member with any name": [z.object({ "a/b~ c%": z.string() }), { "a/b~ c%": "" }, {}],
  record: [z.record(z.number()), { a: 1 }, { a: "" }, {}],
  "record with checked names": [z.record(z.string().min(2), z.number()), { ab: 1 }, { a: 1 }],
  "record with known names": [z.record(z.enum(["a", "b"]), z.number()), { a: 1 }, { c: 1 }],
  array: [z.array(z.string()).min(1).max(2), [], ["a"], ["a", "b", "c"], [1]],
  "array of a length": [z.array(z.string()).length(1), [], ["a"], ["a", "b"]],
  tuple: [z.tuple([z.string(), z.number()]), ["a", 1], ["a"], ["a", 1, 2], [1, "a"]],
  "tuple with a rest": [z.tuple([z.string()]).rest(z.number()), ["a"], ["a", 1, 2], ["a", "b"]],
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
  "schema used twice": [z.array(Tree).or(Tree), [{ name: "a" }], { name: "a" }, [{}], {}],
};

for (const [name, [schema, ...values]] of Object.entries(SAME)) {
  test(`zod 3 and its JSON Schema agree: ${name}`, () => {
    const check = jsonSchemaValidator().compile(convert(schema));
    for (const value of values) {
      const issues = check(value) as readonly unknown[];
      equal(issues.length === 0, schema.safeParse(value).success, JSON.stringify(value));
    }
  });
}

test("formats of zod 3 are described", () => {
  const text = z.string();
  const formats = [text.email(), text.url(), text.uuid(), text.datetime(), text.date(), text.time(), text.duration()];
  deepEqual(
    formats.map((schema) => convert(schema).format),
    ["email", "uri", "uuid", "date-time", "date", "time", "duration"],
  );
  deepEqual(convert(text.ip({ version: "v6" })), { type: "string", format: "ipv6" });
  deepEqual(convert(text.base64()), { type: "string", contentEncoding: "base64" });
});

test("rules that JSON Schema cannot express are left out", () => {
  const text = z.string().ip().regex(/^a$/i).trim().cuid2().jwt();
  deepEqual(convert(text), { type: "string" });
  deepEqual(convert(z.number().finite()), { type: "number" });
  deepEqual(convert(z.literal(1n)), {});
});

test("descriptions and defaults of zod 3 are kept", () => {
  const schema = z.object({
    a: z.string().describe("A").optional(),
    b: z.number().default(2).describe("B"),
    c: z.bigint().default(1n),
  });
  deepEqual(convert(schema.describe("All")), {
    type: "object",
    properties: {
      a: { type: "string", description: "A" },
      b: { type: "number", default: 2, description: "B" },
      c: { type: "integer" },
    },
    description: "All",
  });
});

test("the output of zod 3 is described apart from its input", () => {
  const schema = z.object({
    a: z.number().default(1),
    b: z.string().transform(Number),
    c: z.string().pipe(z.coerce.number()),
    d: z.preprocess(String, z.string()),
  });
  deepEqual(convert(schema, "output"), {
    type: "object",
    properties: { a: { type: "number", default: 1 }, b: {}, c: { type: "number" }, d: { type: "string" } },
    required: ["a", "c", "d"],
  });
});

test("schemas of zod 3 without end are described to a depth", () => {
  const endless = (): z.ZodTypeAny => z.lazy(() => z.array(endless()));
  equal(typeof convert(endless()).items, "object");
  equal(
    acceptsAbsence(
      z.lazy(function again(): z.ZodTypeAny {
        return z.lazy(again);
      }),
      "input",
    ),
    false,
  );
});

test("what JSON has no form for is described as anything", () => {
  for (const schema of [z.map(z.string(), z.string()), z.symbol(), z.function(), z.undefined(), z.nan()])
    deepEqual(convert(schema), {});
  deepEqual(convert(z.promise(z.string())), { type: "string" });
  deepEqual(convert(z.set(z.string()).min(1)), {
    type: "array",
    uniqueItems: true,
    items: { type: "string" },
    minItems: 1,
  });
  deepEqual(convert(z.coerce.date()), { type: "string", format: "date-time" });
});

test("literals and enums of zod 3 have a type, for hosts that need one", () => {
  deepEqual(convert(z.literal("a")), { type: "string", const: "a" });
  deepEqual(convert(z.literal(null)), { type: "null", const: null });
  deepEqual(convert(z.enum(["a", "b"])), { type: "string", enum: ["a", "b"] });
  deepEqual(convert(z.nativeEnum(Port)), { type: "number", enum: [0, 1] });
});

test("schemas of zod 3 that contain each other are described once each", () => {
  const kinds: z.ZodTypeAny[] = Array.from({ length: 8 }, (_, kind) => {
    const others = Array.from({ length: 8 }, (_, other) => [
      `to${other}`,
      z.lazy(() => kinds[other] as z.ZodTypeAny).optional(),
    ]);
    return z.object({ kind: z.literal(kind), ...Object.fromEntries(others) });
  });
  const described = convert(kinds[0] as z.ZodTypeAny);
  ok(JSON.stringify(described).length < 10_000);
  const check = jsonSchemaValidator().compile(described);
  equal((check({ kind: 0, to3: { kind: 3, to7: { kind: 7, to3: { kind: 3 } } } }) as readonly unknown[]).length, 0);
  equal((check({ kind: 0, to3: { kind: 3, to7: { kind: 7, to3: { kind: 4 } } } }) as readonly unknown[]).length, 1);
});

test("a schema of zod 3 that creates two schemas at each depth is described in part", () => {
  const endless = (): z.ZodTypeAny => z.lazy(() => z.tuple([endless(), endless()]));
  ok(JSON.stringify(convert(endless())).length < 1_000_000);
});
