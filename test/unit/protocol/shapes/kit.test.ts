import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { AnnotationsSchema } from "@modelcontextprotocol/core";
import fc from "fast-check";
import type { Check } from "#src/protocol/json.js";
import { annotations } from "#src/protocol/shapes/common.js";
import * as content from "#src/protocol/shapes/content.js";
import * as shape from "#src/protocol/shapes/kit.js";

function fits(check: Check, ...values: unknown[]): void {
  for (const value of values) equal(check(value), undefined, `${JSON.stringify(value)} fits`);
}

function refuses(check: Check, ...values: unknown[]): void {
  for (const value of values) ok(check(value) !== undefined, `${JSON.stringify(value)} does not fit`);
}

describe("the shape kit", () => {
  test("tells the JSON types apart", () => {
    fits(shape.string, "", "a");
    refuses(shape.string, 1, null, undefined, {}, []);
    fits(shape.boolean, true, false);
    refuses(shape.boolean, 0, "true", null);
    fits(shape.number, 0, -1.5);
    refuses(shape.number, Number.NaN, Number.POSITIVE_INFINITY, "1", null);
    fits(shape.integer, 0, -3);
    refuses(shape.integer, 1.5, 2 ** 53, "1");
    fits(shape.stringOrInteger, "", 0);
    const expected = "a string or an integer within ±9007199254740991";
    for (const value of [0.5, null, true, 2 ** 53]) deepEqual(shape.stringOrInteger(value), { path: "", expected });
    fits(shape.anyObject, {}, { a: 1 });
    refuses(shape.anyObject, [], null, "a", undefined);
    fits(shape.present, null, 0, "");
    refuses(shape.present, undefined);
    fits(shape.anything, null, undefined, 0);
  });

  test("narrows strings and numbers", () => {
    fits(shape.oneOf("a", "b"), "a", "b");
    refuses(shape.oneOf("a", "b"), "c", 1, undefined);
    fits(shape.range(0, 1), 0, 1, 0.5);
    refuses(shape.range(0, 1), -0.1, 1.1, Number.NaN, "0");
    fits(shape.pattern("a digit", /^\d$/), "1");
    refuses(shape.pattern("a digit", /^\d$/), "x", 1);
    fits(shape.url, "https://example.com", "urn:a");
    refuses(shape.url, "example", "", 1);
  });

  test("names the place of a problem and what belongs there, never the value", () => {
    const check = shape.object({ list: shape.array(shape.object({ name: shape.string })) });
    deepEqual(check({ list: [{ name: "a" }, { name: 4_711 }] }), { path: "/list/1/name", expected: "a string" });
    deepEqual(check({}), { path: "/list", expected: "an array" });
    deepEqual(check("secret"), { path: "", expected: "an object" });
    deepEqual(shape.oneOf("a", "b")("secret"), { path: "", expected: 'one of "a", "b"' });
  });

  test("escapes member names in a path as a JSON pointer does", () => {
    deepEqual(shape.record(shape.string)({ "a/b~c": 1 }), { path: "/a~1b~0c", expected: "a string" });
    deepEqual(shape.below("params", { path: "/name", expected: "a string" }), {
      path: "/params/name",
      expected: "a string",
    });
  });

  test("leaves objects open and optional members absent", () => {
    const check = shape.object({ a: shape.string }, { b: shape.number });
    fits(check, { a: "" }, { a: "", b: 1 }, { a: "", other: null });
    refuses(check, { a: "", b: null }, { b: 1 }, []);
  });

  test("bounds lists", () => {
    fits(shape.array(shape.string, 2), [], ["a", "b"]);
    deepEqual(shape.array(shape.string, 2)(["a", "b", "c"]), { path: "", expected: "at most 2 items" });
    refuses(shape.array(shape.string), {}, "a", null);
  });

  test("checks every member of a map, inherited names included when they are its own", () => {
    fits(shape.record(shape.string), {}, { a: "b" });
    deepEqual(shape.record(shape.string)(JSON.parse('{"__proto__":1}')), { path: "/__proto__", expected: "a string" });
  });

  test("picks the kind by its tag", () => {
    const closed = shape.tagged("type", { a: shape.object({ x: shape.string }), b: shape.anyObject });
    fits(closed, { type: "a", x: "" }, { type: "b" });
    deepEqual(closed({ type: "a" }), { path: "/x", expected: "a string" });
    deepEqual(closed({ type: "toString" }), { path: "/type", expected: 'one of "a", "b"' });
    const open = shape.tagged("type", { a: shape.object({ x: shape.string }) }, { open: true });
    fits(open, { type: "unheard" });
    refuses(open, { type: "a" }, { type: 1 }, {}, "a");
  });

  test("combines checks", () => {
    fits(shape.optional(shape.string), undefined, "a");
    refuses(shape.optional(shape.string), null);
    fits(shape.nullish(shape.string), undefined, null, "a");
    fits(shape.oneOrMany(shape.string), "a", ["a"], []);
    deepEqual(shape.oneOrMany(shape.string)(["a", 1]), { path: "/1", expected: "a string" });
    const both = shape.both(shape.object({ a: shape.string }), shape.object({ b: shape.string }));
    deepEqual([both({})?.path, both({ a: "" })?.path, both({ a: "", b: "" })], ["/a", "/b", undefined]);
  });

  test("makes a lazy check once, so that shapes may contain themselves", () => {
    let made = 0;
    const tree: Check = shape.lazy(() => {
      made++;
      return shape.object({}, { children: shape.array(tree) });
    });
    equal(made, 0);
    fits(tree, { children: [{ children: [] }] });
    deepEqual(tree({ children: [{ children: [1] }] }), { path: "/children/0/children/0", expected: "an object" });
    equal(made, 1);
  });

  test("takes as base64 exactly what atob takes", () => {
    const character = fc.constantFrom("A", "z", "0", "+", "/", "=", " ", "\n", "-", "é");
    const text = fc.oneof(fc.string({ unit: character, maxLength: 12 }), fc.base64String());
    fc.assert(fc.property(text, (value) => (content.base64(value) === undefined) === decodes(value)));
  });

  test("does not run out of stack on a long base64 text", () => {
    equal(content.base64("A".repeat(2 ** 24)), undefined);
    ok(content.base64(`${"A".repeat(2 ** 24)}!AAA`) !== undefined);
  });

  test("takes the times that the official schema takes", () => {
    const times = [
      "2026-01-02T03:04:05Z",
      "2026-01-02T03:04Z",
      "2026-01-02T03:04:05.678+02:00",
      "2026-01-02T03:04:05-0200",
      "2026-01-02T03:04:05+02",
      "2026-01-02T03:04:05",
      "2026-13-02T03:04:05Z",
      "2026-01-32T03:04:05Z",
      "2026-04-31T03:04:05Z",
      "2026-02-30T03:04:05Z",
      "2023-02-29T03:04:05Z",
      "2024-02-29T03:04:05Z",
      "1900-02-29T03:04:05Z",
      "2000-02-29T03:04:05Z",
      "2026-01-02T24:00:00Z",
      "2026-01-02T03:60:00Z",
      "2026-01-02 03:04:05Z",
      "2026-01-02t03:04:05z",
      "2026-01-02",
      "",
    ];
    const theirs = times.filter((lastModified) => AnnotationsSchema.safeParse({ lastModified }).success);
    deepEqual(
      times.filter((lastModified) => annotations({ lastModified }) === undefined),
      theirs,
    );
  });
});

function decodes(text: string): boolean {
  try {
    atob(text);
    return true;
  } catch {
    return false;
  }
}
