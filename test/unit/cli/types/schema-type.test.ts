import { equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { SchemaTypes } from "#src/cli/types/schema-type.js";
import { compileTypes } from "../../../support/compile-types.js";

/** A form of JSON Schema: its name, a schema, its type, and the named types that the type needs. */
type Form = readonly [what: string, schema: unknown, type: string, named?: readonly string[]];

const node = {
  type: "object",
  properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
  required: ["name"],
};
const NODE = "export type HNode = {\n  name: string;\n  children?: HNode[];\n};\n";

const FORMS: readonly Form[] = [
  ["string", { type: "string" }, "string"],
  ["number", { type: "number", minimum: 1 }, "number"],
  ["integer", { type: "integer" }, "number"],
  ["boolean", { type: "boolean" }, "boolean"],
  ["null", { type: "null" }, "null"],
  ["true", true, "unknown"],
  ["empty", {}, "unknown"],
  ["false", false, "never"],
  ["types", { type: ["string", "integer", "null"] }, "string | number | null"],
  ["nullable", { type: "string", nullable: true }, "string | null"],
  ["const", { const: "a" }, '"a"'],
  ["const object", { const: { a: [1, null] } }, "{ a: [1, null] }"],
  ["enum", { type: "string", enum: ["a", "b c"] }, '"a" | "b c"'],
  ["enum of several types", { enum: [1, true, null, "x"] }, '1 | true | null | "x"'],
  [
    "hostile enum",
    { enum: ['";*/ declare const x: any; "', "\u2028\u202e"] },
    '"\\";*/ declare const x: any; \\"" | "\\u2028\\u202e"',
  ],
  ["array", { type: "array", items: { type: "string" } }, "string[]"],
  ["array of a union", { type: "array", items: { type: ["string", "null"] } }, "(string | null)[]"],
  ["array without items", { type: "array" }, "unknown[]"],
  ["array without type", { items: { type: "number" } }, "number[]"],
  [
    "tuple",
    { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], minItems: 1, items: false },
    "[string, number?]",
  ],
  ["open tuple", { type: "array", prefixItems: [{ type: "string" }], minItems: 1 }, "[string, ...unknown[]]"],
  [
    "tuple of draft-07",
    { items: [{ const: 1 }], minItems: 1, additionalItems: { type: "boolean" } },
    "[1, ...boolean[]]",
  ],
  ["object", { type: "object" }, "{ [key: string]: unknown }"],
  ["closed object", { type: "object", properties: {}, additionalProperties: false }, "{ [key: string]: never }"],
  [
    "members",
    {
      type: "object",
      properties: { a: { type: "string" }, "b-c": { type: "number" }, constructor: {} },
      required: ["a", "__proto__"],
    },
    '{\n  a: string;\n  "b-c"?: number;\n  constructor?: unknown;\n}',
  ],
  ["members without type", { properties: { a: true } }, "{\n  a?: unknown;\n}"],
  ["map", { type: "object", additionalProperties: { type: "number" } }, "{ [key: string]: number }"],
  [
    "map with members",
    { type: "object", properties: { a: { type: "string" } }, additionalProperties: { type: "number" } },
    "{\n  a?: string;\n  [key: string]: number | string | undefined;\n}",
  ],
  [
    "patterns",
    { type: "object", patternProperties: { "^x": { type: "string" } }, additionalProperties: false },
    "{ [key: string]: string }",
  ],
  ["anyOf", { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] }, "string | string[]"],
  ["oneOf", { oneOf: [{ const: 1 }, { const: 2 }] }, "1 | 2"],
  [
    "anyOf beside members",
    { type: "object", properties: { a: {} }, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    "{\n  a?: unknown;\n}",
  ],
  [
    "union beside members",
    { type: "object", oneOf: [{ properties: { a: { const: 1 } }, required: ["a"] }, { properties: { b: {} } }] },
    "{\n  a: 1;\n} | {\n  b?: unknown;\n}",
  ],
  [
    "allOf",
    { allOf: [{ properties: { a: { type: "string" } } }, { type: ["object", "null"], properties: { b: {} } }] },
    "{\n  a?: string;\n} & ({\n  b?: unknown;\n} | null)",
  ],
  ["allOf with text", { type: "string", allOf: [{ minLength: 1 }, { pattern: "x" }] }, "string"],
  ["not", { not: { type: "string" } }, "unknown /* not */"],
  ["conditions", { if: {}, else: {} }, "unknown /* if, else */"],
  ["unknown type", { type: "any" }, 'unknown /* type "any" */'],
  [
    "reference",
    { $defs: { a: { type: "string" } }, properties: { x: { $ref: "#/$defs/a" } } },
    "{\n  x?: HA;\n}",
    ["export type HA = string;\n"],
  ],
  [
    "reference of draft-07",
    { definitions: { "a-b": { type: "string" } }, $ref: "#/definitions/a-b" },
    "HAB",
    ["export type HAB = string;\n"],
  ],
  [
    "reference with siblings",
    { $defs: { a: { properties: { x: {} } } }, $ref: "#/$defs/a", properties: { y: {} } },
    "HA & {\n  y?: unknown;\n}",
    ["export type HA = {\n  x?: unknown;\n};\n"],
  ],
  [
    "reference by anchor",
    { $defs: { a: { $anchor: "there", type: "number" } }, $ref: "#there" },
    "HThere",
    ["export type HThere = number;\n"],
  ],
  [
    "reference by id",
    { $id: "https://x.example/s", $defs: { a: { const: 1 } }, $ref: "https://x.example/s#/$defs/a" },
    "HA",
    ["export type HA = 1;\n"],
  ],
  [
    "reference into members",
    { properties: { a: { type: "string" }, b: { $ref: "#/properties/a" } } },
    "{\n  a?: string;\n  b?: HA;\n}",
    ["export type HA = string;\n"],
  ],
  ["missing reference", { $ref: "#/$defs/*/%zz" }, 'unknown /* $ref "#/$defs/*\\/%zz" is not in the schema */'],
  [
    "reference to elsewhere",
    { $ref: "https://y.example/s.json" },
    'unknown /* $ref "https://y.example/s.json" is not in the schema */',
  ],
  ["recursion", { $defs: { node }, $ref: "#/$defs/node" }, "HNode", [NODE]],
  [
    "recursion of the document",
    { type: "object", properties: { next: { $ref: "#" } } },
    "{\n  next?: Root;\n}",
    ["export type Root = {\n  next?: Root;\n};\n"],
  ],
  [
    "a definition that is itself",
    { $defs: { a: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" },
    "HA",
    ['export type HA = unknown /* "#/$defs/a" is itself */;\n'],
  ],
  [
    "definitions that are each other",
    {
      $defs: {
        a: { anyOf: [{ properties: { x: { $ref: "#/$defs/b" } } }, { $ref: "#/$defs/b" }] },
        b: { anyOf: [{ $ref: "#/$defs/a" }, { type: "number" }] },
      },
      $ref: "#/$defs/a",
    },
    "HA",
    ['export type HA = unknown /* "#/$defs/b" is itself */;\n', "export type HB = HA | number;\n"],
  ],
];

for (const [what, schema, type, named = []] of FORMS) {
  test(`${what} has its type`, () => {
    const types = new SchemaTypes("H", new Set(["H"]));
    equal(types.typeOf(schema, "Root", ""), type);
    equal(types.declarations.join("\n"), named.join("\n"));
  });
}

test("the types of all forms compile", async (t) => {
  const types = new SchemaTypes("H", new Set(["H"]));
  const lines = FORMS.map(
    ([, schema], index) => `export type T${index} = ${types.typeOf(schema, `Root${index}`, "")};\n`,
  );
  equal(await compileTypes(t, { "all.ts": [...lines, ...types.declarations].join("\n") }), "");
});

test("a definition that documents share is one type, and another one of the same name is not", () => {
  const types = new SchemaTypes("H", new Set(["H"]));
  const document = (of: object) => ({
    $defs: { a: { properties: { b: { $ref: "#/$defs/b" } } }, b: of },
    $ref: "#/$defs/a",
  });
  equal(types.typeOf(document({ type: "string" }), "One", ""), "HA");
  equal(types.typeOf(document({ type: "string" }), "Two", ""), "HA");
  equal(types.typeOf(document({ type: "number" }), "Three", ""), "HA2", "what it refers to differs");
});

test("thousands of definitions that need each other are written in bounded time", () => {
  const $defs: Record<string, object> = {};
  for (let index = 0; index < 2000; index++) {
    const properties = { next: { $ref: `#/$defs/d${(index + 1) % 2000}` }, text: { description: "x".repeat(500) } };
    $defs[`d${index}`] = { type: "object", properties };
  }
  const types = new SchemaTypes("H", new Set());
  const began = process.cpuUsage();
  types.typeOf({ $defs, $ref: "#/$defs/d0" }, "Root", "");
  const { user } = process.cpuUsage(began);
  ok(types.declarations.length > 1);
  ok(user < 20_000_000, `${user / 1e6} s`);
});

test("a schema that is nested too deeply ends", () => {
  let schema: object = { type: "string" };
  for (let depth = 0; depth < 1000; depth++) schema = { type: "array", items: schema };
  match(
    new SchemaTypes("H", new Set()).typeOf(schema, "Root", ""),
    /^\(*unknown \/\* nested too deeply \*\/(\)?\[\])+$/,
  );
});

test("texts of a schema are comments that they cannot end", () => {
  const hostile =
    "*/ declare const x: any; /*\n@deprecated {@link https://x.example}\n![](https://x.example/a.png)\u202e";
  const schema = {
    type: "object",
    properties: { a: { description: hostile, default: "*/", format: "@ts-ignore", type: "string" } },
  };
  equal(
    new SchemaTypes("H", new Set()).typeOf(schema, "Root", ""),
    [
      "{",
      "  /**",
      "   * *\\/ declare const x: any; /*",
      "   * \\@deprecated {\\@link https://x.example}",
      "   * !\\[](https://x.example/a.png)<U+202E>",
      "   * @format \\@ts-ignore",
      '   * @default "*\\/"',
      "   */",
      "  a?: string;",
      "}",
    ].join("\n"),
  );
});
