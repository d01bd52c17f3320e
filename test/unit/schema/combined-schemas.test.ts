import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { defaultValidator, type JsonSchema } from "#src/schema/json-schema/validator.js";

const check = (schema: JsonSchema, value: unknown) => defaultValidator.compile(schema)(value);
const isValid = (schema: JsonSchema, value: unknown) => check(schema, value).length === 0;
const paths = (schema: JsonSchema, value: unknown) => check(schema, value).map(({ path }) => path);

test("every keyword that fails is reported, and inside a branch nothing is", () => {
  const schema = { type: "string", minLength: 2, pattern: "^a" } as const;
  equal(check(schema, "b").length, 2);
  equal(check({ anyOf: [schema, { type: "number" }] }, "b").length, 1);
  equal(check({ not: { not: schema } }, "b").length, 1);
  // After a branch the issues of others are reported again.
  equal(check({ anyOf: [schema, true], allOf: [{ minLength: 3 }, { pattern: "^c" }] }, "b").length, 2);
});

test("members are checked to the last, and each problem has its own place", () => {
  const schema = { properties: { a: { items: { type: "string" } }, b: { type: "number" } } } as const;
  deepEqual(paths(schema, { a: [1, "x", 2], b: "y" }), ["/a/0", "/a/2", "/b"]);
});

test("members that a branch looked at are evaluated only if the branch fits", () => {
  const schema: JsonSchema = {
    anyOf: [
      { properties: { a: { type: "number" } }, required: ["a"] },
      { properties: { b: { type: "number" } }, required: ["b"] },
    ],
    unevaluatedProperties: false,
  };
  equal(isValid(schema, { a: 1 }), true);
  equal(isValid(schema, { a: 1, b: 1 }), true);
  equal(isValid(schema, { a: 1, b: "x" }), false);
  equal(isValid(schema, { a: 1, c: 1 }), false);
  equal(isValid({ ...schema, anyOf: [{ additionalProperties: true }] }, { a: 1, c: 1 }), true);
});

test("items that a branch looked at are evaluated only if the branch fits", () => {
  const schema: JsonSchema = {
    anyOf: [
      { prefixItems: [{ const: 1 }] },
      { prefixItems: [{ const: 1 }, { const: 2 }] },
      { prefixItems: [{ const: 9 }, { const: 9 }, { const: 9 }] },
    ],
    unevaluatedItems: false,
  };
  equal(isValid(schema, [1]), true);
  equal(isValid(schema, [1, 2]), true);
  equal(isValid(schema, [1, 3]), false);
  equal(isValid(schema, [1, 2, 3]), false);
  equal(isValid({ ...schema, anyOf: [{ items: true }] }, [1, 2, 3]), true);
  const contains: JsonSchema = { anyOf: [{ contains: { const: "x" } }], unevaluatedItems: { type: "number" } };
  equal(isValid(contains, [1, "x", 2, "x"]), true);
  equal(isValid(contains, [1, "x", "y"]), false);
});

test("a schema sees what its own parts evaluated, and nothing of its neighbours", () => {
  const neighbours: JsonSchema = {
    properties: { a: true },
    allOf: [{ properties: { b: true }, unevaluatedProperties: false }],
  };
  equal(isValid(neighbours, { b: 1 }), true);
  equal(isValid(neighbours, { a: 1, b: 1 }), false);
  const outer: JsonSchema = {
    allOf: [{ properties: { b: true }, unevaluatedProperties: { type: "number" } }],
    unevaluatedProperties: false,
  };
  equal(isValid(outer, { b: "x", c: 1 }), true);
  equal(isValid(outer, { b: "x", c: "y" }), false);
});

test("a dynamic reference is resolved in the schemas that are being evaluated, and in no schema that has ended", () => {
  const tree: JsonSchema = {
    $id: "https://example.test/strict",
    $dynamicAnchor: "node",
    $ref: "https://example.test/tree",
    unevaluatedProperties: false,
    $defs: {
      tree: {
        $id: "https://example.test/tree",
        $dynamicAnchor: "node",
        properties: { value: true, children: { items: { $dynamicRef: "#node" } } },
      },
    },
  };
  equal(isValid(tree, { value: 1, children: [{ value: 2 }] }), true);
  equal(isValid(tree, { value: 1, children: [{ other: 2 }] }), false);
  const twice: JsonSchema = {
    $id: "https://example.test/root",
    allOf: [{ $ref: "https://example.test/strict" }, { properties: { loose: { $ref: "https://example.test/tree" } } }],
    $defs: { strict: { ...tree, $defs: {}, unevaluatedProperties: true, maxProperties: 2 }, ...(tree.$defs as object) },
  };
  equal(isValid(twice, { value: 1, children: [{ a: 1, b: 1, c: 1 }] }), false);
  equal(isValid(twice, { loose: { children: [{ a: 1, b: 1, c: 1 }] } }), true);
});
