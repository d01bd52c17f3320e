import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { judge, type Known } from "./known.js";
import type { Outcome } from "./run-pair.js";

const outcome = (pair: string, check: string, problem?: string): Outcome => ({ pair, check, problem, ms: 1 });
const entry: Known = { pair: "bowline -> v1 * legacy", check: "list", reason: "their fault" };

test("a failure that an entry names is a known difference, any other is a failure", () => {
  const named = outcome("bowline -> v1 http legacy", "list", "bad");
  const others = [
    outcome("bowline -> v1 http legacy", "plain", "bad"),
    outcome("bowline -> v2 http legacy", "list", "bad"),
  ];
  const verdict = judge([named, ...others], [entry], true);
  deepEqual(verdict.totals, { passed: 0, known: 1, failed: 2 });
  deepEqual(verdict.failures, others);
  deepEqual(verdict.stale, []);
});

test("an entry is stale when one of its pairs passes", () => {
  const outcomes = [outcome("bowline -> v1 http legacy", "list", "bad"), outcome("bowline -> v1 stdio legacy", "list")];
  deepEqual(judge(outcomes, [entry], true).stale, [entry]);
});

test("an entry without a pair is stale in a complete run alone", () => {
  deepEqual(judge([], [entry], true).stale, [entry]);
  deepEqual(judge([], [entry], false).stale, []);
});

test("an entry with sometimes is not stale when a pair passes, and still needs one", () => {
  const sometimes = { ...entry, sometimes: true };
  const outcomes = [outcome("bowline -> v1 http legacy", "list"), outcome("bowline -> v1 stdio legacy", "list", "bad")];
  const verdict = judge(outcomes, [sometimes], true);
  deepEqual([verdict.stale, verdict.failures, verdict.totals.known], [[], [], 1]);
  deepEqual(judge([], [sometimes], true).stale, [sometimes]);
});
