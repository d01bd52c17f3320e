import { deepEqual, equal, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import { DefinitionError } from "#src/protocol/errors.js";
import { defaultValidator, type JsonSchema, jsonSchemaValidator } from "#src/schema/json-schema/validator.js";

const check = (schema: JsonSchema | boolean, value: unknown) => defaultValidator.compile(schema)(value);

/** A schema, a value that fits it, one that does not, and where that one is wrong. */
const KEYWORDS: readonly [name: string, schema: JsonSchema, good: unknown, bad: unknown, path: string][] = [
  ["type", { type: "integer" }, 1, 1.5, ""],
  ["type list", { type: ["string", "null"] }, null, 0, ""],
  ["const", { const: { a: [1], b: 2 } }, { b: 2, a: [1] }, { a: [2], b: 2 }, ""],
  ["enum", { enum: ["a", 1] }, 1, "1", ""],
  ["minimum", { minimum: 1 }, 1, 0.9, ""],
  ["exclusiveMaximum", { exclusiveMaximum: 1 }, 0.9, 1, ""],
  ["multipleOf", { multipleOf: 0.01 }, 4.35, 4.355, ""],
  ["minLength counts code points", { minLength: 2 }, "💧💧", "💧", ""],
  ["maxLength counts code points", { maxLength: 2 }, "💧💧", "💧💧💧", ""],
  ["pattern", { pattern: "^\\p{L}+$" }, "é", "1", ""],
  ["minItems", { minItems: 1 }, [0], [], ""],
  [
    "uniqueItems",
    { uniqueItems: true },
    [1, "1", [1], '"1"'],
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    "",
  ],
  ["maxProperties", { maxProperties: 1 }, { a: 1 }, { a: 1, b: 1 }, ""],
  ["required", { required: ["a/b"] }, { "a/b": 1 }, {}, "/a~1b"],
  ["dependentRequired", { dependentRequired: { a: ["b"] } }, { b: 1 }, { a: 1 }, "/b"],
  [
    "properties",
    { properties: { a: { properties: { "b~": { type: "string" } } } } },
    { a: {} },
    { a: { "b~": 1 } },
    "/a/b~0",
  ],
  ["patternProperties", { patternProperties: { "^x": { type: "number" } } }, { y: "" }, { x1: "" }, "/x1"],
  ["additionalProperties", { properties: { a: true }, additionalProperties: false }, { a: 1 }, { b: 1 }, "/b"],
  ["propertyNames", { propertyNames: { maxLength: 1 } }, { a: 1 }, { ab: 1 }, "/ab"],
  ["dependentSchemas", { dependentSchemas: { a: { required: ["b"] } } }, { c: 1 }, { a: 1 }, "/b"],
  ["items", { items: { type: "string" } }, ["a"], ["a", 1], "/1"],
  ["prefixItems", { prefixItems: [{ type: "string" }], items: false }, ["a"], ["a", "b"], "/1"],
  ["contains", { contains: { type: "string" } }, [1, ""], [1], ""],
  ["minContains", { contains: true, minContains: 2 }, [1, 1], [1], ""],
  ["maxContains", { contains: true, maxContains: 1 }, [1], [1, 1], ""],
  ["allOf", { allOf: [{ minimum: 1 }, { maximum: 2 }] }, 1, 3, ""],
  ["anyOf", { anyOf: [{ type: "string" }, { type: "null" }] }, null, 1, ""],
  ["oneOf", { oneOf: [{ minimum: 1 }, { minimum: 5 }] }, 2, 6, ""],
  ["not", { not: { type: "string" } }, 1, "", ""],
  ["if and then", JSON.parse('{"if":{"type":"string"},"then":{"minLength":1}}'), "a", "", ""],
  ["if and else", { if: { type: "string" }, else: { minimum: 0 } }, "a", -1, ""],
  ["$ref", { properties: { a: { $ref: "#/$defs/t" } }, $defs: { t: { type: "string" } } }, { a: "" }, { a: 1 }, "/a"],
  ["$anchor", { items: { $ref: "#t" }, $defs: { t: { $anchor: "t", type: "string" } } }, [""], [1], "/0"],
  [
    "$id",
    { $id: "https://a.example/r", items: { $ref: "t" }, $defs: { t: { $id: "t", type: "string" } } },
    [""],
    [1],
    "/0",
  ],
  [
    "$dynamicRef",
    {
      $id: "https://a.example/strings",
      $ref: "list",
      $defs: {
        item: { $dynamicAnchor: "item", type: "string" },
        list: { $id: "list", items: { $dynamicRef: "#item" }, $defs: { any: { $dynamicAnchor: "item" } } },
      },
    },
    ["a"],
    [1],
    "/0",
  ],
  [
    "unevaluatedProperties",
    { anyOf: [{ properties: { a: { type: "string" } }, required: ["a"] }, true], unevaluatedProperties: false },
    { a: "" },
    { b: 1 },
    "/b",
  ],
  [
    "unevaluatedItems",
    { prefixItems: [true], contains: { type: "string" }, unevaluatedItems: false },
    [1, "a"],
    [1, 2, "a"],
    "/1",
  ],
];

describe("the JSON Schema validator", () => {
  for (const [name, schema, good, bad, path] of KEYWORDS) {
    it(`checks ${name}`, () => {
      deepEqual(check(schema, good), []);
      const [first] = check(schema, bad);
      equal(first?.path, path);
    });
  }

  it("reads draft-07 where $schema says so", () => {
    const $schema = "http://json-schema.org/draft-07/schema#";
    deepEqual(check({ $schema, items: [{ type: "string" }], additionalItems: false }, ["a", "b"]), [
      { path: "/1", message: "is not allowed" },
    ]);
    equal(check({ $schema, dependencies: { a: ["b"], c: { required: ["d"] } } }, { a: 1, c: 1 }).length, 2);
    deepEqual(check({ $schema, definitions: { t: {} }, $ref: "#/definitions/t", type: "string" }, 1), []);
  });

  it("follows recursive schemas", () => {
    const tree = { type: "object", properties: { children: { type: "array", items: { $ref: "#" } } } };
    deepEqual(check(tree, { children: [{ children: [] }, {}] }), []);
    deepEqual(check(tree, { children: [{ children: [{ children: 1 }] }] }), [
      { path: "/children/0/children/0/children", message: "must be an array" },
    ]);
  });

  it("reports every problem, and says nothing of the value", () => {
    const schema = { type: "object", properties: { a: { type: "string" }, b: { enum: ["x", "y"] } }, required: ["c"] };
    const issues = check(schema, { a: 12345, b: "s3cret" });
    deepEqual(issues, [
      { path: "/c", message: "is required" },
      { path: "/a", message: "must be a string" },
      { path: "/b", message: 'must be one of "x", "y"' },
    ]);
  });

  it("bounds the number of problems reported", () => {
    equal(check({ items: { type: "string" } }, new Array(1000).fill(0)).length, 32);
  });

  it("treats a property set to undefined as absent, as JSON does", () => {
    deepEqual(
      check({ properties: { a: { type: "string" } }, additionalProperties: false }, { a: undefined, b: undefined }),
      [],
    );
    equal(check({ required: ["a"] }, { a: undefined }).length, 1);
    deepEqual(
      check({ const: {}, maxProperties: 0, propertyNames: false, unevaluatedProperties: false }, { a: undefined }),
      [],
    );
  });

  it("looks at own properties only", () => {
    equal(check({ required: ["toString"] }, {}).length, 1);
    equal(check({ required: ["__proto__"] }, {}).length, 1);
    deepEqual(check({ properties: { constructor: { type: "string" } } }, {}), []);
  });

  it("takes format for an annotation", () => {
    deepEqual(check({ format: "email" }, "no"), []);
  });

  it("compiles a schema object once", () => {
    const schema = { type: "string" };
    const validator = jsonSchemaValidator();
    equal(validator.compile(schema), validator.compile(schema));
  });
});

describe("a schema is refused when compiled:", () => {
  const nested = (depth: number): JsonSchema => (depth === 0 ? {} : { items: nested(depth - 1) });
  const cyclic: Record<string, unknown> = {};
  cyclic.items = cyclic;
  const wide = { anyOf: new Array(10_001).fill(0).map(() => ({})) };
  const REFUSED: readonly [name: string, schema: JsonSchema, message: RegExp][] = [
    ["an unknown dialect", { $schema: "https://example.com/d" }, /"https:\/\/example\.com\/d"/],
    [
      "a network reference",
      { properties: { a: { $ref: "https://example.com/s" } } },
      /#\/properties\/a\/\$ref.*copy its target into \$defs/,
    ],
    ["a file reference", { $ref: "file:///etc/s.json" }, /points outside/],
    ["a relative reference under a network $id", { $id: "https://example.com/a", $ref: "b" }, /points outside/],
    ["a network $dynamicRef", { $dynamicRef: "https://example.com/s#x" }, /points outside/],
    ["a reference to nothing", { $ref: "#/$defs/none" }, /has no target in the schema/],
    ["a reference through a prototype", { $ref: "#/constructor" }, /has no target in the schema/],
    ["an unknown type", { type: "strng" }, /#\/type must be one of/],
    ["required that is no list", { required: "a" }, /#\/required/],
    ["a text as minimum", { minimum: "1" }, /#\/minimum/],
    ["a negative length", { minLength: -1 }, /#\/minLength/],
    ["multipleOf 0", { multipleOf: 0 }, /#\/multipleOf/],
    ["a pattern that is none", { items: { pattern: "(" } }, /#\/items\/pattern/],
    ["a key pattern that is none", { patternProperties: { "(": {} } }, /#\/patternProperties/],
    ["properties that is a list", { properties: [] }, /#\/properties must be an object/],
    ["anyOf that is an object", { anyOf: {} }, /#\/anyOf must be a list/],
    ["a subschema that is a text", { $defs: { a: "b" } }, /#\/\$defs\/a: a schema must be/],
    ["65 levels", nested(65), /nested more than 64/],
    ["a cycle of objects", cyclic, /nested more than 64/],
    ["10,001 subschemas", wide, /more than 10000/],
  ];
  for (const [name, schema, message] of REFUSED) {
    it(name, () => {
      throws(
        () => defaultValidator.compile(schema),
        (error) => error instanceof DefinitionError && message.test(error.message),
      );
    });
  }

  it("64 levels are allowed", () => {
    deepEqual(check(nested(64), []), []);
  });
});
