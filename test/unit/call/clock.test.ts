import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "bowline/testing";
import { LONGEST_DELAY, systemClock, timeLeft } from "#src/call/clock.js";

test("a wait longer than timers can take waits as long as they can, and does not fire at once", (t) => {
  const delays: unknown[] = [];
  t.mock.method(globalThis, "setTimeout", (_: () => void, ms: number) => delays.push(ms));
  for (const ms of [5, LONGEST_DELAY, LONGEST_DELAY + 1, Number.POSITIVE_INFINITY]) systemClock.schedule(() => {}, ms);
  deepEqual(delays, [5, LONGEST_DELAY, LONGEST_DELAY, LONGEST_DELAY]);
});

test("the time that is left is never negative, has a bound, and may have no end", () => {
  const clock = new FakeClock();
  clock.advance(100);
  equal(timeLeft(clock), undefined);
  equal(timeLeft(clock, 150), 50);
  equal(timeLeft(clock, 50), 0);
  equal(timeLeft(clock, 150, 20), 20);
  equal(timeLeft(clock, undefined, 20), 20);
});
