import { equal } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "bowline/testing";
import { EarlyCancels } from "#src/era/legacy/early-cancels.js";

test("a cancellation that overtook its request is found by it, once and by the very id", () => {
  const early = new EarlyCancels(new FakeClock());
  early.keep(7);
  equal(early.take("7"), false);
  equal(early.take(7), true);
  equal(early.take(7), false);
});

test("it is not kept for long, nor are many", () => {
  const clock = new FakeClock();
  const early = new EarlyCancels(clock);
  early.keep("old");
  clock.advance(10_000);
  equal(early.take("old"), false);
  for (let id = 0; id <= 256; id++) early.keep(id);
  equal(early.take(0), false);
  equal(early.take(1), true);
  equal(early.take(256), true);
});
