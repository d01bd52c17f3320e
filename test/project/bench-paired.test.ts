import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

interface Interval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

const { pairedDifferences, groupedMedian, verdictOn } = await loadScript<{
  pairedDifferences(pairs: readonly (readonly [number, number])[]): number[];
  groupedMedian(groups: readonly (readonly number[])[]): Interval;
  verdictOn(interval: { low: number; high: number }, accepted: number): string;
}>("bench/lib/stats.mjs");

const { groupSizes } = await loadScript<{ groupSizes(pairs: number, size: number): number[] }>(
  "bench/measure/pairs.mjs",
);

const { summarize } = await loadScript<{
  summarize(groups: readonly (readonly { old: number; new: number }[])[]): {
    oldUs: number;
    newUs: number;
    difference: Interval;
    verdict: string;
  };
}>("bench/compare.mjs");

const { toComparison } = await loadScript<{ toComparison(document: object): string }>("bench/report/compare.mjs");

/** Values spread evenly around a center, in a fixed order that is not sorted. */
const around = (center: number, width: number, count: number) =>
  Array.from({ length: count }, (_, index) => center + width * (((index * 7) % count) / (count - 1) - 0.5));

test("a paired difference is a share of the first of the pair", () => {
  deepEqual(
    pairedDifferences([
      [10, 11],
      [200, 150],
    ]),
    [0.1, -0.25],
  );
});

test("values that are all equal have an interval without width", () => {
  deepEqual(
    groupedMedian([
      [2, 2],
      [2, 2],
    ]),
    { median: 2, low: 2, high: 2 },
  );
});

test("the interval holds the median, lies within the values and is the same each time", () => {
  const groups = [around(1, 4, 10), around(1, 4, 10), around(1, 4, 10), around(1, 4, 10)];
  const { median, low, high } = groupedMedian(groups);
  ok(Math.abs(median - 1) < 0.3, `the median is ${median}`);
  ok(low < median && median < high, `${low} .. ${high}`);
  ok(low > -1 && high < 3, `${low} .. ${high}`);
  deepEqual(groupedMedian(groups), { median, low, high });
});

test("one value that is far off moves neither the median nor the interval far", () => {
  const values = around(0, 1, 40);
  const { median, high } = groupedMedian([[...values, 1000]]);
  ok(Math.abs(median) < 0.1, `the median is ${median}`);
  ok(high < 0.5, `the interval ends at ${high}`);
});

test("groups that differ make the interval wider than the same values without groups", () => {
  const groups = [-3, -1, 1, 3].map((center) => around(center, 0.5, 10));
  const grouped = groupedMedian(groups);
  const alike = groupedMedian(around(0, 1, 10).map((_, index) => groups.map((group) => group[index] ?? Number.NaN)));
  ok(grouped.high - grouped.low > 1.5 * (alike.high - alike.low), JSON.stringify({ grouped, alike }));
});

test("what is no number is left out, and nothing at all has no median", () => {
  deepEqual(groupedMedian([[1, Number.NaN], [Number.NaN]]), { median: 1, low: 1, high: 1 });
  ok(Number.isNaN(groupedMedian([]).median));
});

test("an interval of builds that do not differ holds 0 about nineteen times of twenty", () => {
  const random = normals();
  const rounds = 100;
  let held = 0;
  for (let round = 0; round < rounds; round++) {
    const groups = Array.from({ length: 8 }, () => {
      const own = 2 * random();
      return Array.from({ length: 5 }, () => own + 5 * random());
    });
    const { low, high } = groupedMedian(groups);
    if (low <= 0 && high >= 0) held++;
  }
  ok(held >= 90, `${held} of ${rounds}`);
});

test("a verdict is given when the whole interval is on one side of what is accepted", () => {
  equal(verdictOn({ low: -0.05, high: 0.03 }, 0.03), "at most 3 % worse");
  equal(verdictOn({ low: 0.031, high: 0.2 }, 0.03), "worse");
  equal(verdictOn({ low: 0.01, high: 0.05 }, 0.03), "undecided");
  equal(verdictOn({ low: Number.NaN, high: Number.NaN }, 0.03), "undecided");
});

test("pairs are split into groups, the last of which may be smaller", () => {
  deepEqual(groupSizes(40, 5), [5, 5, 5, 5, 5, 5, 5, 5]);
  deepEqual(groupSizes(7, 5), [5, 2]);
  deepEqual(groupSizes(1, 5), [1]);
});

test("a comparison tells both builds, the difference and the verdict of each wire", () => {
  const pair = { old: 10, new: 11 };
  const wire = summarize([
    [pair, pair],
    [pair, pair],
  ]);
  equal(wire.oldUs, 10);
  equal(wire.newUs, 11);
  equal(wire.verdict, "worse");
  const text = toComparison({
    old: { ref: "main", commit: "0123456789abcdef" },
    new: { commit: "fedcba9876543210", changed: true },
    wires: { "http modern": wire },
  });
  ok(text.includes("main (0123456789ab)"), text);
  ok(text.includes("fedcba987654 with changes"), text);
  ok(/http modern +10\.00 +11\.00 +\+10\.0 % +\+10\.0 % \.\. \+10\.0 % +worse/.test(text), text);
});

/** Normally distributed numbers, the same each time. */
function normals(): () => number {
  let state = 12_345;
  const uniform = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state + 1) / 0x80000001;
  };
  return () => Array.from({ length: 12 }, uniform).reduce((sum, value) => sum + value, -6);
}
