import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "bowline/testing";
import { DeadlineQueue } from "#src/call/deadline-queue.js";

function queueOf(ms: number) {
  const clock = new FakeClock();
  const due: string[] = [];
  return { clock, due, queue: new DeadlineQueue<string>(clock, ms, (item) => due.push(item)) };
}

test("there is one timer while an item waits, and none when the last has gone", () => {
  const { clock, due, queue } = queueOf(100);
  const [a, b] = [queue.add("a"), queue.add("b")];
  equal(clock.pending, 1);
  queue.remove(a);
  equal(clock.pending, 1);
  queue.remove(b);
  queue.remove(b);
  equal(clock.pending, 0);
  queue.add("c").leave();
  equal(clock.pending, 0);
  clock.advance(1000);
  deepEqual(due, []);
});

test("each item is due at its own time, and one that was touched waits anew", () => {
  const { clock, due, queue } = queueOf(100);
  const first = queue.add("first");
  clock.advance(40);
  queue.add("second");
  clock.advance(50);
  queue.touch(first);
  clock.advance(49);
  deepEqual(due, []);
  clock.advance(1);
  deepEqual(due, ["second"]);
  equal(clock.pending, 1);
  clock.advance(49);
  deepEqual(due, ["second"]);
  clock.advance(1);
  deepEqual(due, ["second", "first"]);
  queue.touch(first);
  equal(clock.pending, 0);
  clock.advance(1000);
  equal(due.length, 2, "what is over is not touched");
});

test("items are found in the order of their times", () => {
  const { queue } = queueOf(100);
  const first = queue.add("a1");
  queue.add("a2");
  queue.add("b1");
  equal(
    queue.find((item) => item.startsWith("a")),
    "a1",
  );
  queue.touch(first);
  equal(
    queue.find((item) => item.startsWith("a")),
    "a2",
  );
  equal(
    queue.find((item) => item === "none"),
    undefined,
  );
});

test("a time that no timer can wait for is no limit", () => {
  for (const ms of [Number.POSITIVE_INFINITY, 0, 2 ** 31]) {
    const { clock, queue } = queueOf(ms);
    queue.remove(queue.add("a"));
    queue.add("b");
    equal(clock.delays.length, 0, String(ms));
    equal(
      queue.find(() => true),
      "b",
    );
  }
  const { clock, queue } = queueOf(2 ** 31 - 1);
  queue.add("a");
  equal(clock.delays.length, 1);
});

test("a timer that fires early for the first waits for the rest of its time", () => {
  const { clock, due, queue } = queueOf(100);
  const first = queue.add("first");
  clock.advance(60);
  queue.add("second");
  queue.remove(first);
  clock.advance(40);
  deepEqual(due, []);
  clock.advance(59);
  deepEqual(due, []);
  clock.advance(1);
  deepEqual(due, ["second"]);
  deepEqual(clock.delays, [100, 60]);
});
