import { deepEqual, equal, match, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import { JSON_SCHEMA_DIALECTS, jsonSchemaValidator } from "bowline/json-schema";

const DRAFT_4 = "http://json-schema.org/draft-04/schema#";
const DRAFT_6 = "http://json-schema.org/draft-06/schema#";
const DRAFT_7 = "http://json-schema.org/draft-07/schema#";
const DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema";
const validator = jsonSchemaValidator();
const OLDER = [DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019];

const paths = (schema: object, value: unknown) =>
  validator
    .compile({ ...schema })(value)
    .map(({ path }) => path);

describe("a schema of an older dialect", () => {
  it("may be of any since draft-04", () => {
    for (const dialect of OLDER) equal(JSON_SCHEMA_DIALECTS.includes(dialect), true, dialect);
  });

  for (const $schema of OLDER) {
    it(`has lists of items, dependencies and definitions: ${$schema}`, () => {
      const items = {
        $schema,
        items: [{ type: "string" }, { $ref: "#/definitions/n" }],
        definitions: { n: { type: "number" } },
      };
      deepEqual(paths(items, ["a", 1, null]), []);
      deepEqual(paths(items, [1, "a"]), ["/0", "/1"]);
      deepEqual(paths({ ...items, additionalItems: { type: "null" } }, ["a", 1, null, 2]), ["/3"]);
      const needs = { $schema, dependencies: { a: ["b"], c: { required: ["d"] } } };
      deepEqual(paths(needs, { a: 1, c: 1 }), ["/b", "/d"]);
    });

    it(`is refused where it is not valid: ${$schema}`, () => {
      throws(() => validator.compile({ $schema, minimum: "1" }), /#\/minimum must be a number/);
      throws(() => validator.compile({ $schema, items: [{ type: "nothing" }] }), /#\/prefixItems\/0\/type/);
    });
  }

  it("up to draft-07 has references that stand alone, since 2019-09 keywords beside them", () => {
    const alone = {
      properties: { a: { $ref: "#/definitions/t", maxLength: 1 } },
      definitions: { t: { type: "string" } },
    };
    for (const $schema of [DRAFT_4, DRAFT_6, DRAFT_7]) deepEqual(paths({ $schema, ...alone }, { a: "long" }), []);
    deepEqual(paths({ $schema: DRAFT_2019, ...alone }, { a: "long" }), ["/a"]);
  });

  it("of draft-04 has exclusive bounds as true and false", () => {
    const bounds = { $schema: DRAFT_4, minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: true };
    deepEqual(
      [1, 2, 3].map((value) => paths(bounds, value).length),
      [1, 0, 1],
    );
    const open = { ...bounds, exclusiveMinimum: false, exclusiveMaximum: false };
    deepEqual(
      [0, 1, 3, 4].map((value) => paths(open, value).length),
      [1, 0, 0, 1],
    );
    deepEqual(paths({ $schema: DRAFT_4, exclusiveMinimum: true }, -1), []);
    throws(() => validator.compile({ $schema: DRAFT_6, ...{ exclusiveMinimum: true } }), /must be a number/);
  });

  it("of draft-04 is named by id", () => {
    const definitions = {
      point: {
        id: "https://example.com/point",
        properties: { x: { $ref: "#/definitions/axis" } },
        definitions: { axis: { type: "number" } },
      },
      word: { id: "#word", type: "string" },
    };
    const properties = { id: { type: "string" }, p: { $ref: "https://example.com/point" }, w: { $ref: "#word" } };
    deepEqual(paths({ $schema: DRAFT_4, definitions, properties }, { id: 1, p: { x: "a" }, w: 1 }), [
      "/id",
      "/p/x",
      "/w",
    ]);
    deepEqual(paths({ $schema: DRAFT_4, definitions, properties }, { id: "a", p: { x: 1 }, w: "b" }), []);
  });

  it("of 2019-09 has recursive references, which an outer schema may take over", () => {
    const tree = {
      $id: "https://example.com/tree",
      $recursiveAnchor: true,
      properties: { size: { type: "number" }, children: { items: { $recursiveRef: "#" } } },
    };
    deepEqual(paths({ $schema: DRAFT_2019, ...tree }, { children: [{ size: "a" }] }), ["/children/0/size"]);
    const strict = {
      $schema: DRAFT_2019,
      $id: "https://example.com/strict",
      $recursiveAnchor: true,
      $ref: "https://example.com/tree",
      unevaluatedProperties: false,
      $defs: { tree },
    };
    deepEqual(paths(strict, { size: 1, children: [{ size: 1 }] }), []);
    equal(paths(strict, { children: [{ height: 1 }] }).length, 1);
    equal(paths({ ...strict, $recursiveAnchor: false }, { children: [{ height: 1 }] }).length, 0);
  });
});

describe("a schema of an unknown dialect", () => {
  const schema = { $schema: "https://example.com/d", type: "string" };

  it("is an error in an author's schema", () => {
    throws(() => validator.compile(schema), /the dialect "https:\/\/example\.com\/d" \(\$schema\) is not supported/);
  });

  it("checks nothing in a schema of the other side, and is reported once", () => {
    const reports: string[] = [];
    const report = (problem: string) => reports.push(problem);
    for (const value of [1, "a"]) deepEqual(validator.compile(schema, report)(value), []);
    equal(reports.length, 1);
    match(reports[0] ?? "", /its schema, whose dialect "https:\/\/example\.com\/d" is not supported/);
  });
});
