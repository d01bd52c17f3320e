import { deepEqual, equal, match, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultValidator, type JsonSchema } from "#src/schema/json-schema/validator.js";

describe("a pattern that cannot be matched in linear time", () => {
  const ahead = "^(?!b)";

  it("is an error with its place in an author's schema", () => {
    const message = /#\/items\/pattern: the pattern "\^\(\?!b\)" uses a lookaround.* linear time/;
    throws(() => defaultValidator.compile({ items: { pattern: ahead } }), message);
    throws(
      () => defaultValidator.compile({ patternProperties: { [ahead]: true } }),
      /#\/patternProperties: the pattern/,
    );
  });

  it("is not applied in a schema of the other side, and reported once", () => {
    const reports: string[] = [];
    const schema = { items: { pattern: ahead, minLength: 2 }, $defs: { a: { pattern: "(a)\\1" } } };
    const compiled = defaultValidator.compile(schema, (problem) => reports.push(problem));
    equal(
      defaultValidator.compile(schema, (problem) => reports.push(problem)),
      compiled,
    );
    deepEqual(compiled(["bb"]), []);
    equal(compiled(["b"]).length, 1);
    equal(reports.length, 1);
    match(reports[0] ?? "", /^the pattern "\^\(\?!b\)": it uses a lookaround.*\(and 1 more\)$/);
  });

  /** Values that fit unless the pattern counts as one that every text matches. */
  const UNSURE: readonly [keywords: JsonSchema, value: unknown][] = [
    [{ not: { pattern: ahead } }, "b"],
    [{ oneOf: [{ pattern: ahead }, { pattern: "^b" }] }, "b"],
    [JSON.parse('{"if":{"pattern":"^(?!b)"},"then":{"maxLength":0}}'), "b"],
    [{ contains: { pattern: ahead }, minContains: 0, maxContains: 0 }, ["b"]],
    [{ patternProperties: { [ahead]: false } }, { b: 1 }],
    [{ patternProperties: { [ahead]: true }, additionalProperties: false }, { a: 1 }],
    [{ patternProperties: { [ahead]: true }, unevaluatedProperties: false }, { a: 1 }],
    [{ propertyNames: { not: { pattern: ahead } } }, { b: 1 }],
  ];
  for (const [keywords, value] of UNSURE) {
    it(`refuses nothing within ${Object.keys(keywords).join(" and ")}`, () => {
      deepEqual(defaultValidator.compile(keywords, () => {})(value), []);
    });
  }

  it("leaves what is certain alone", () => {
    const lenient = (schema: JsonSchema) => defaultValidator.compile(schema, () => {});
    equal(lenient({ not: { type: "string" }, allOf: [{ pattern: ahead }] })("a").length, 1);
    equal(lenient({ oneOf: [{ pattern: ahead, minLength: 9 }, { type: "number" }] })("a").length, 1);
    const branches = JSON.parse('{"if":{"pattern":"^(?!b)"},"then":{"minLength":2},"else":{"minLength":3}}');
    equal(lenient(branches)("a").length, 1);
    equal(lenient({ patternProperties: { [ahead]: true }, required: ["a"] })({ b: 1 }).length, 1);
  });
});
