import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "bowline/testing";

test("timers fire in the order of their times, each at its own time, also those that a timer starts", () => {
  const clock = new FakeClock();
  const fired: [string, number][] = [];
  const note = (name: string) => fired.push([name, clock.now()]);
  clock.schedule(() => note("late"), 30);
  clock.schedule(() => {
    note("early");
    clock.schedule(() => note("inner"), 10);
  }, 10);
  const cancelled = clock.schedule(() => note("cancelled"), 15);
  clock.cancel(cancelled);
  equal(clock.pending, 2);
  clock.advance(29);
  deepEqual(fired, [
    ["early", 10],
    ["inner", 20],
  ]);
  equal(clock.now(), 29);
  clock.advance(1);
  deepEqual(fired.at(-1), ["late", 30]);
  equal(clock.pending, 0);
  deepEqual(clock.delays, [30, 10, 15, 10]);
});

test("one advance runs the timers in the order of their times, not of their start", () => {
  const clock = new FakeClock();
  const fired: [number, number][] = [];
  for (const ms of [30, 10, 20, 0]) clock.schedule(() => fired.push([ms, clock.now()]), ms);
  clock.advance(100);
  deepEqual(fired, [
    [0, 0],
    [10, 10],
    [20, 20],
    [30, 30],
  ]);
  equal(clock.now(), 100);
});

test("the time of day goes on with the clock", () => {
  const clock = new FakeClock();
  const before = clock.timeOfDay();
  equal(new Date(before).getUTCFullYear(), 2027);
  clock.advance(1000);
  equal(clock.timeOfDay() - before, 1000);
});

test("a wait for timers ends when so many were started", async () => {
  const clock = new FakeClock();
  let ended = false;
  const two = clock.started(2).then(() => {
    ended = true;
  });
  clock.schedule(() => {}, 1);
  await new Promise(setImmediate);
  equal(ended, false);
  clock.schedule(() => {}, 1);
  await two;
  await clock.started(1);
});
