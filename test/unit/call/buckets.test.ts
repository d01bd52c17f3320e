import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "bowline/testing";
import { MemoryBuckets } from "#src/call/buckets.js";

const limit = { burst: 2, refillMs: 100 };
const taken = { ok: true, retryInMs: 0 };

test("as many tokens as the burst are taken at once, and then one per interval", () => {
  const clock = new FakeClock();
  const buckets = new MemoryBuckets({ clock });
  deepEqual([buckets.take("a", limit), buckets.take("a", limit)], [taken, taken]);
  deepEqual(buckets.take("a", limit), { ok: false, retryInMs: 100 });
  deepEqual(buckets.take("b", limit), taken, "another key has tokens of its own");
  clock.advance(99);
  deepEqual(buckets.take("a", limit), { ok: false, retryInMs: 1 });
  clock.advance(1);
  deepEqual(buckets.take("a", limit), taken);
  deepEqual(buckets.take("a", limit), { ok: false, retryInMs: 100 });
  clock.advance(1e6);
  deepEqual([buckets.take("a", limit), buckets.take("a", limit)], [taken, taken], "no more than the burst gathers");
  equal(buckets.take("a", limit).ok, false);
});

test("a full bucket is forgotten first, and a key that is known needs no room", () => {
  const clock = new FakeClock();
  const buckets = new MemoryBuckets({ clock, maxKeys: 2 });
  buckets.take("old", limit);
  buckets.take("busy", limit);
  buckets.take("busy", limit);
  equal(buckets.size, 2);
  buckets.take("old", limit);
  equal(buckets.size, 2);
  clock.advance(150);
  // "old" was used later and is as full as "busy": both have 1.5 tokens, and the longest unused goes.
  buckets.take("new", limit);
  equal(buckets.size, 2);
  equal(buckets.take("old", limit).ok, true);
});

test("where none is full, the one that is full first goes", () => {
  const buckets = new MemoryBuckets({ clock: new FakeClock(), maxKeys: 2 });
  for (const key of ["a", "a", "b"]) buckets.take(key, limit);
  buckets.take("c", limit);
  equal(buckets.size, 2);
  equal(buckets.take("a", limit).ok, false, "the emptiest is remembered");
});

test("the burst is exact, also where the interval is no whole number", () => {
  for (const burst of [3, 7, 11, 13, 600]) {
    const clock = new FakeClock();
    clock.advance(123_456.7);
    const buckets = new MemoryBuckets({ clock });
    const limit = { burst, refillMs: 60_000 / burst };
    for (let at = 0; at < burst; at++) deepEqual(buckets.take("a", limit), taken, `token ${at} of ${burst}`);
    equal(buckets.take("a", limit).ok, false);
  }
});
