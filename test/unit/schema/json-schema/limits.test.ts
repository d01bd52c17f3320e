import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultValidator, type JsonSchema, jsonSchemaValidator } from "#src/schema/json-schema/validator.js";

const check = (schema: JsonSchema | boolean, value: unknown) => defaultValidator.compile(schema)(value);

describe("a value cannot exhaust the validator:", () => {
  const [tooMuch] = defaultValidator.compile({ $ref: "#" })(1);

  it("a reference to itself ends", () => {
    match(tooMuch?.message ?? "", /^follows more than 512 nested references; raise limits\.maxRefDepth/);
  });

  it("a very deep value under a recursive schema", () => {
    let value: unknown[] = [];
    for (let depth = 0; depth < 100_000; depth += 1) value = [value];
    deepEqual(check({ items: { $ref: "#" } }, value), [tooMuch]);
    deepEqual(check({ not: { items: { $ref: "#" } } }, value), [tooMuch]);
    deepEqual(check({ uniqueItems: true }, [value, value]), [
      { path: "", message: "is nested too deeply to be checked" },
    ]);
  });

  it("a search for items that no other keyword has seen", () => {
    const items = Array.from({ length: 1000 }, () => 1);
    /** Least number of steps with which the check of the items ends. */
    const costOf = (schema: JsonSchema) => {
      let [least, most] = [0, 1_000_000];
      while (least < most) {
        const maxSteps = (least + most) >> 1;
        const issues = jsonSchemaValidator({ limits: { maxSteps } }).compile(schema)(items);
        if (issues.length === 0) most = maxSteps;
        else least = maxSteps + 1;
      }
      return least;
    };
    // Each item costs two steps when it is marked as seen, and one when the marks are searched.
    const marked = costOf({ contains: true }) + 3 * items.length;
    ok(costOf({ contains: true, unevaluatedItems: false }) >= marked);
  });

  const tooCostly = {
    path: "",
    message: "takes more than 4000000 steps to check; raise limits.maxSteps of jsonSchemaValidator",
  };

  it("a schema that branches without end", () => {
    const branch = { allOf: [{ properties: { a: { $ref: "#" } } }, { required: ["z"] }] };
    let value = {};
    for (let depth = 0; depth < 100; depth += 1) value = { a: value };
    deepEqual(check({ anyOf: [branch, { ...branch }] }, value), [tooCostly]);
  });

  it("a long chain of references", () => {
    const $defs: Record<string, JsonSchema> = { d3000: { type: "string" } };
    for (let n = 0; n < 3000; n += 1) $defs[`d${n}`] = { $ref: `#/$defs/d${n + 1}` };
    deepEqual(check({ $ref: "#/$defs/d2900", $defs }, 1), [{ path: "", message: "must be a string" }]);
    deepEqual(check({ $ref: "#/$defs/d0", $defs }, "a"), [tooMuch]);
  });

  const list = <T>(length: number, item: (index: number) => T) => Array.from({ length }, (_, index) => item(index));
  const object = (length: number, item: unknown) => Object.fromEntries(list(length, (index) => [`k${index}`, item]));
  const numbers = list(2_000, (index) => index);
  const keys = object(2_000, 0);
  const many = (schema: JsonSchema): JsonSchema => ({ allOf: list(60, () => ({ ...schema })) });
  const nested = (depth: number, inner: JsonSchema): JsonSchema =>
    depth === 0 ? inner : { anyOf: [nested(depth - 1, inner)] };
  /** Checks whose work is the product of the schema and the value. */
  const COSTLY: readonly [name: string, schema: JsonSchema, value: unknown][] = [
    ["allOf", { items: many({ type: "number" }) }, numbers],
    ["anyOf", { items: { anyOf: list(60, () => ({ type: "string" })) } }, numbers],
    ["oneOf", { items: { oneOf: list(60, () => ({ type: "string" })) } }, numbers],
    ["not", { items: { allOf: list(60, () => ({ not: { type: "string" } })) } }, numbers],
    ["const", { anyOf: list(60, (index) => ({ const: [index] })) }, numbers],
    ["enum", many({ enum: list(60, (index) => ({ index })) }), keys],
    ["const beside a long text", many({ not: { const: ["b"] } }), ["a".repeat(20_000)]],
    ["required that is there", many({ required: Object.keys(keys) }), keys],
    [
      "nested branches under unevaluatedProperties",
      { anyOf: [nested(59, { additionalProperties: true })], unevaluatedProperties: false },
      keys,
    ],
    ["uniqueItems", many({ uniqueItems: true }), numbers],
    ["uniqueItems of lists", many({ uniqueItems: true }), numbers.map((number) => [number])],
    [
      "nested uniqueItems",
      { uniqueItems: true, items: { $ref: "#" } },
      list(200, () => 0).reduce<unknown>((value) => [value, numbers.slice(0, 50)], []),
    ],
    ["contains", many({ contains: { type: "number" } }), numbers],
    ["unevaluatedItems", { ...many({ contains: { type: "number" } }), unevaluatedItems: false }, numbers],
    ["propertyNames", many({ propertyNames: { type: "string" } }), keys],
    ["patternProperties", { patternProperties: Object.fromEntries(list(60, (index) => [`^x${index}`, true])) }, keys],
    ["additionalProperties", many({ additionalProperties: { type: "number" } }), keys],
    ["unevaluatedProperties", { ...many({ patternProperties: { k: true } }), unevaluatedProperties: false }, keys],
    ["properties that are missing", { items: { properties: object(60, true) } }, numbers.map(() => ({}))],
    ["required", { items: { required: Object.keys(object(60, true)) } }, numbers.map(() => ({}))],
    ["dependentRequired", { items: { dependentRequired: object(60, []) } }, numbers.map(() => ({}))],
    ["dependentSchemas", { items: { dependentSchemas: object(60, { type: "number" }) } }, numbers.map(() => ({}))],
    ["maxProperties", many({ maxProperties: 5_000 }), keys],
    ["maxLength", many({ maxLength: 20_000 }), "é".repeat(20_000)],
    ["multipleOf", { items: many({ multipleOf: 1e-300 }) }, new Array(100).fill(1.7e308)],
    ["pattern", many({ pattern: "(?:a?){60}b$" }), "é".repeat(2_000)],
    ["$ref", { items: many({ $ref: "#/$defs/a" }), $defs: { a: { type: "number" } } }, numbers],
  ];
  for (const [name, schema, value] of COSTLY) {
    it(`many steps of ${name} are given up`, () => {
      const [issue] = jsonSchemaValidator({ limits: { maxSteps: 100_000 } }).compile(schema)(value);
      match(issue?.message ?? "", /^takes more than 100000 steps to check; raise limits.maxSteps/);
    });
  }

  it("names of missing members are written only where they are reported", (t) => {
    const required = list(10, (index) => `a${index}`);
    const check = defaultValidator.compile({ items: { required } });
    const value = numbers.map(() => ({}));
    const written = t.mock.method(String.prototype, "replaceAll");
    equal(check(value).length, 32);
    ok(written.mock.callCount() < 200, `${written.mock.callCount()} replacements`);
  });

  it("numbers that collide in a set of the engine", () => {
    // The hash of V8 for small integers, undone: all of these have the same lower bits of it.
    const odd = (factor: number) => list(5, () => 0).reduce((x) => Math.imul(x, 2 - Math.imul(factor, x)), factor);
    const unshift = (x: number, by: number) => {
      let y = x;
      for (let bits = by; bits < 32; bits += by) y = x ^ (y >>> by);
      return y;
    };
    const undo = (hash: number) => {
      const mixed = unshift(Math.imul(unshift(hash, 16), odd(2057)), 4);
      return Math.imul(unshift(Math.imul(mixed, odd(5)), 12) + 1, odd(32767)) >>> 0;
    };
    const colliding = list(65_536, (index) => undo((index << 16) | 5)).filter((number) => number < 2 ** 30);
    const before = process.cpuUsage().user;
    deepEqual(check({ uniqueItems: true }, colliding), []);
    ok(process.cpuUsage().user - before < 150_000);
  });

  it("an ordinary value takes few steps", () => {
    const schema = {
      type: "object",
      properties: { city: { type: "string", maxLength: 80, pattern: "^[A-Z][a-z]*$" }, days: { type: "integer" } },
      required: ["city"],
      additionalProperties: false,
    };
    deepEqual(jsonSchemaValidator({ limits: { maxSteps: 250 } }).compile(schema)({ city: "Rotterdam", days: 3 }), []);
  });

  it("a large value under a simple schema is checked", () => {
    deepEqual(check({ items: { type: "integer" } }, new Array(1_000_000).fill(1)), []);
    deepEqual(check({ pattern: "^[A-Za-z0-9+/]*={0,2}$" }, "QUJD".repeat(1_000_000)), []);
  });
});

describe("compiling takes bounded work:", () => {
  const entries = (length: number, entry: (index: number) => [string, JsonSchema]) =>
    Object.fromEntries(Array.from({ length }, (_, index) => entry(index)));

  it("many dynamic references to many dynamic anchors", () => {
    const $defs = entries(3_000, (index) => [`d${index}`, { $id: `x${index}`, $dynamicAnchor: "a" }]);
    const allOf = Array.from({ length: 3_000 }, (_, index) => ({ $dynamicRef: `x${index}#a` }));
    deepEqual(check({ $id: "https://a.example/", $defs, allOf }, 1), []);
  });

  it("addresses of any length", () => {
    const $defs = entries(3_000, (index) => [`d${index}`, { $id: `x${index}` }]);
    const schema = { $id: `https://a.example/${"a/".repeat(100_000)}`, $defs, $ref: "x7" };
    deepEqual(check(schema, 1), []);
  });

  it("addresses that grow", () => {
    const part = (letter: string) => `${letter.repeat(1_500)}/`;
    const schema = {
      $id: `https://a.example/${part("a")}`,
      $defs: { b: { $id: part("b"), $defs: { c: { $id: "c", type: "string" } } } },
      $ref: "c",
    };
    equal(check(schema, 1).length, 1);
  });

  it("references through nested addresses", () => {
    let nested: JsonSchema = {};
    for (let depth = 0; depth < 900; depth++) nested = { $id: "x", a: nested };
    const allOf = Array.from({ length: 900 }, () => ({ $ref: `#${"/a".repeat(900)}` }));
    throws(() => check({ a: nested, allOf }, 1), /limits\.maxSubschemas/);
  });

  it("limits are options", () => {
    const limited = jsonSchemaValidator({
      limits: { maxDepth: 1, maxSubschemas: 5, maxPatternStates: 20, maxIssues: 2 },
    });
    throws(() => limited.compile({ items: { items: {} } }), /limits\.maxDepth/);
    throws(() => limited.compile({ anyOf: Array.from({ length: 12 }, () => ({})) }), /limits\.maxSubschemas/);
    throws(() => limited.compile({ pattern: "a{30}" }), /#\/pattern: the pattern "a\{30\}" .*limits\.maxPatternStates/);
    equal(limited.compile({ items: { type: "string" } })([1, 2, 3, 4]).length, 2);
    const shallow = jsonSchemaValidator({ limits: { maxRefDepth: 3 } }).compile({ items: { $ref: "#" } });
    deepEqual(shallow([[[[]]]]), []);
    match(
      shallow([[[[[]]]]])[0]?.message ?? "",
      /^follows more than 3 nested references; raise limits\.maxRefDepth of jsonSchemaValidator$/,
    );
  });
});
