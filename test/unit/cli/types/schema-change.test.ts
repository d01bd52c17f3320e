import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { schemaChanges } from "#src/cli/types/schema-change.js";

/** Two schemas, and what changes from the first to the second: `effect path: what`. */
type Change = readonly [what: string, before: unknown, after: unknown, found: readonly string[]];

const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });
const node = (label: object) => ({
  $defs: { node: object({ label, next: { $ref: "#/$defs/node" } }) },
  $ref: "#/$defs/node",
});

const CHANGES: readonly Change[] = [
  ["order of members", object({ a: {}, b: {} }), object({ b: {}, a: {} }), []],
  [
    "order of required",
    object({ a: {}, b: {} }, { required: ["a", "b"] }),
    object({ a: {}, b: {} }, { required: ["b", "a"] }),
    [],
  ],
  ["integer to number", { type: "integer" }, { type: "number" }, ["wider : was integer and is number"]],
  ["number to integer", { type: "number" }, { type: "integer" }, ["narrower : was number and is integer"]],
  ["null is lost", { type: ["string", "null"] }, { type: "string" }, ["narrower : was null or string and is string"]],
  ["nullable", { type: "string", nullable: true }, { type: ["null", "string"] }, []],
  ["a type comes", {}, { type: "string" }, ["narrower : was anything and is string"]],
  [
    "enum",
    { enum: ["a", "b"] },
    { enum: ["b", "c"] },
    ['narrower : does not allow "a" any more', 'wider : also allows "c"'],
  ],
  ["enum to const", { enum: ["a"] }, { const: "a" }, []],
  [
    "bounds",
    { minimum: 1, maxLength: 5 },
    { minimum: 2, maxLength: 9 },
    ["narrower : minimum was 1 and is 2", "wider : maxLength was 5 and is 9"],
  ],
  ["a pattern", { pattern: "a" }, { pattern: "b" }, ['other : pattern was "a" and is "b"']],
  ["a format comes", { type: "string" }, { type: "string", format: "uri" }, ['narrower : has format "uri" now']],
  ["unknown keywords", { "x-order": 1 }, { "x-order": 2 }, ["same : x-order was 1 and is 2"]],
  ["a member goes", object({ a: {} }), object({}), ["other a: is gone"]],
  ["a required member comes", object({}), object({ a: {} }, { required: ["a"] }), ["narrower a: is new, and required"]],
  ["others are refused", object({}), object({}, { additionalProperties: false }), ["narrower [*]: accepts less"]],
  ["others are accepted", object({}, { additionalProperties: false }), object({}), ["wider [*]: accepts more"]],
  [
    "a nested member",
    object({ a: object({ b: { type: "string" } }) }),
    object({ a: object({ b: { type: "null" } }) }),
    ["other a.b: was string and is null"],
  ],
  [
    "two members alike",
    object({ a: { type: "string" }, b: { type: "string" } }),
    object({ a: { type: "null" }, b: { type: "null" } }),
    ["other a: was string and is null", "other b: was string and is null"],
  ],
  [
    "items",
    { items: { type: "string" } },
    { items: { type: ["string", "number"] } },
    ["wider []: was string and is number or string"],
  ],
  [
    "a tuple",
    { prefixItems: [{ type: "string" }], items: false },
    { prefixItems: [{ type: "string" }, { type: "number" }], items: false },
    ["wider [1]: accepts more"],
  ],
  [
    "a branch comes",
    { anyOf: [{ type: "string" }] },
    { anyOf: [{ type: "number" }, { type: "string" }] },
    ["wider : has more alternatives or conditions"],
  ],
  [
    "a branch changes",
    { anyOf: [{ type: "string" }, { type: "number" }] },
    { anyOf: [{ type: "number" }, { type: "string", maxLength: 3 }] },
    ["narrower : has maxLength 3 now"],
  ],
  ["a condition comes", {}, { allOf: [{ minLength: 1 }] }, ["narrower : has new conditions"]],
  ["a text", { description: "a" }, { description: "b" }, ["text : description changed"]],
  [
    "a reference instead of its definition",
    object({ a: { type: "string" } }),
    { ...object({ a: { $ref: "#/$defs/a" } }), $defs: { a: { type: "string" } } },
    [],
  ],
  [
    "a definition that recurs",
    node({ type: "string" }),
    node({ type: "null" }),
    ["other label: was string and is null"],
  ],
  [
    "a reference that leads nowhere",
    { type: "string" },
    { $ref: "#/nowhere" },
    ["wider : was string and is anything", 'narrower : has unresolved "#/nowhere" now'],
  ],
];

for (const [what, before, after, found] of CHANGES) {
  test(`${what}: the effect of the change is told`, () => {
    const told = schemaChanges(before, after).map((one) => `${one.effect} ${one.path}: ${one.what}`);
    deepEqual(told, found);
    deepEqual(schemaChanges(before, before), []);
    deepEqual(schemaChanges(after, after), []);
  });
}

test("definitions that refer to each other many times are compared in bounded time", () => {
  const chain = (leaf: object) => {
    const $defs: Record<string, object> = { d40: leaf };
    for (let index = 0; index < 40; index++)
      $defs[`d${index}`] = object({ a: { $ref: `#/$defs/d${index + 1}` }, b: { $ref: `#/$defs/d${index + 1}` } });
    return { $defs, $ref: "#/$defs/d0" };
  };
  deepEqual(schemaChanges(chain({ type: "string" }), chain({ type: "string" })), []);
  const found = schemaChanges(chain({ type: "string" }), chain({ type: "null" }));
  ok(found.length >= 1 && found.length <= 1000);
  equal(found[0]?.what, "was string and is null");
});
