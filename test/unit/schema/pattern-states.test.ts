import { equal } from "node:assert/strict";
import { test } from "node:test";
import { readPattern } from "#src/schema/json-schema/pattern-syntax.js";

test("the states of a pattern are counted, and a pattern may have exactly as many as are allowed", () => {
  for (const [source, states] of [
    ["a", 2],
    ["abc", 4],
    ["a|b", 4],
    ["a*", 3],
    ["a+", 3],
    ["a{3,}", 5],
    ["a{2,4}", 7],
    ["(?:ab)*", 5],
  ] as const) {
    const tree = readPattern(source, states);
    equal(typeof tree === "string" ? tree : tree.states, states, source);
    equal(typeof readPattern(source, states - 1), "string", source);
  }
});
