import { equal } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "bowline/testing";
import { createCancelQueue, EarlyCancels } from "#src/era/legacy/server/early-cancels.js";

const createCancels = (clock = new FakeClock()) => new EarlyCancels(createCancelQueue(clock));

test("a cancellation that overtook its request is found by it, once, in either spelling of the id", () => {
  const early = createCancels();
  for (const [kept, taken] of [
    [7, 7],
    [7, "7"],
    ["7", 7],
    ["a", "a"],
  ] as const) {
    early.keep(kept);
    equal(early.take(taken), true);
    equal(early.take(taken), false);
    equal(early.take(kept), false);
  }
  early.keep("07");
  equal(early.take(7), false);
});

test("of two spellings the exact one is taken", () => {
  const early = createCancels();
  early.keep(7);
  early.keep("7");
  equal(early.take("7"), true);
  equal(early.take(7), true);
});

test("it is not kept for long, nor are many", () => {
  const clock = new FakeClock();
  const early = createCancels(clock);
  early.keep("old");
  clock.advance(10_000);
  equal(early.take("old"), false);
  for (let id = 0; id <= 256; id++) early.keep(id);
  equal(early.take(0), false);
  equal(early.take(1), true);
  equal(early.take(256), true);
});

test("one that comes again waits anew, and none waits when it was found or its session has ended", () => {
  const clock = new FakeClock();
  const early = createCancels(clock);
  early.keep("a");
  clock.advance(6_000);
  early.keep("a");
  clock.advance(6_000);
  equal(early.take("a"), true);
  equal(clock.pending, 0);
  early.keep("b");
  equal(clock.pending, 1);
  early.clear();
  equal(clock.pending, 0);
  equal(early.take("b"), false);
});

test("one with a long id is not kept", () => {
  const early = createCancels();
  early.keep("x".repeat(128));
  early.keep("x".repeat(129));
  equal(early.take("x".repeat(128)), true);
  equal(early.take("x".repeat(129)), false);
});
