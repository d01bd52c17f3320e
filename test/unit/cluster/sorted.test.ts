import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Sorted } from "#src/cluster/memory/index-table.js";

const order = (one: number, other: number) => one - other;

function sortedOf(items: Iterable<number>): Sorted<number> {
  const sorted = new Sorted<number>((one, other) => one > other);
  for (const item of items) sorted.add(item);
  return sorted;
}

test("items that are added in any order are listed in theirs", () => {
  const items = Array.from({ length: 5_000 }, (_, at) => (at * 7_919) % 5_000);
  const sorted = sortedOf(items);
  deepEqual(sorted.list(undefined, 10_000), items.toSorted(order));
  deepEqual(
    sorted.list(1_022, 1_030),
    Array.from({ length: 1_030 }, (_, at) => 1_023 + at),
  );
  for (const item of items) if (item % 3 !== 0) sorted.remove(item);
  deepEqual(sorted.list(undefined, 10_000), items.filter((item) => item % 3 === 0).toSorted(order));
  for (const item of items) sorted.remove(item);
  equal(sorted.size, 0);
  deepEqual(sorted.list(undefined, 1), []);
});

test("any changes give the items of a set, sorted", () => {
  const change = fc.record({
    isAdded: fc.boolean(),
    from: fc.nat(3_000),
    count: fc.nat(900),
    step: fc.integer({ min: 1, max: 7 }),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), fc.nat(4_000), fc.nat(700), (changes, after, limit) => {
      const set = new Set<number>();
      const sorted = sortedOf([]);
      for (const { isAdded, from, count, step } of changes) {
        for (let item = from; item < from + count; item += step) {
          if (isAdded && !set.has(item)) sorted.add(item);
          else if (!isAdded) sorted.remove(item);
          if (isAdded) set.add(item);
          else set.delete(item);
        }
      }
      const wanted = [...set].sort(order);
      equal(sorted.size, set.size);
      deepEqual(sorted.list(undefined, 100_000), wanted);
      deepEqual(sorted.list(after, limit), wanted.filter((item) => item > after).slice(0, limit));
    }),
    { numRuns: 60 },
  );
});
