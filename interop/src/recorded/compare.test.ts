import { equal } from "node:assert/strict";
import { test } from "node:test";
import { differenceOf } from "./compare.js";

test("a replay that shows the same has no difference, and a pseudonym stands for any text", () => {
  const live = { text: "the key is ghp_1234 and the user is me", list: [1, null, "a"] };
  equal(differenceOf(live, structuredClone(live)), undefined);
  equal(differenceOf(live, { ...live, text: "the key is <key:1> and the user is <env:USER>" }), undefined);
  equal(differenceOf("a b c", "<key:1>"), undefined);
});

test("a difference is told by its place", () => {
  equal(differenceOf({ a: [{ b: 1 }] }, { a: [{ b: 2 }] }), "/a/0/b: 1, replayed as 2");
  equal(differenceOf({ a: [1] }, { a: [1, 2] }), "/a/1: nothing, replayed as 2");
  equal(differenceOf("a key", "a <key:1> more"), '/: "a key", replayed as "a <key:1> more"');
  equal(differenceOf("my key", "a <key:1>"), '/: "my key", replayed as "a <key:1>"');
  equal(differenceOf(null, {}), "/: null, replayed as {}");
});
