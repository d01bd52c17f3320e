import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { KeepAlive, type Quiet } from "#src/http/sse/keep-alive.js";
import { FakeClock } from "../../../support/fake-clock.js";

class Stream implements Quiet {
  spokeAt: number;
  readonly wokenAt: number[] = [];

  constructor(clock: FakeClock) {
    this.spokeAt = clock.now();
  }

  onQuiet(now: number): void {
    this.spokeAt = now;
    this.wokenAt.push(now);
  }
}

test("each is woken once per interval of its own silence", () => {
  const clock = new FakeClock();
  const open = new KeepAlive<Stream>(clock, 1000);
  const first = new Stream(clock);
  open.add(first);
  clock.advance(500);
  const second = new Stream(clock);
  open.add(second);
  clock.advance(2000);
  deepEqual(first.wokenAt, [1000, 2000]);
  deepEqual(second.wokenAt, [1500, 2500]);
});

test("what is due at nearly the same time shares a wake-up", () => {
  const clock = new FakeClock();
  let wakeUps = 0;
  const counting = {
    now: () => clock.now(),
    schedule: (callback: () => void, ms: number) =>
      clock.schedule(() => {
        wakeUps += 1;
        callback();
      }, ms),
    cancel: (handle: unknown) => clock.cancel(handle),
  };
  const open = new KeepAlive<Stream>(counting, 1000);
  const streams = Array.from({ length: 500 }, () => {
    clock.advance(2);
    const stream = new Stream(clock);
    open.add(stream);
    return stream;
  });
  clock.advance(9000);
  equal(wakeUps <= 90, true, `${wakeUps} wake-ups`);
  for (const { wokenAt } of streams) equal(wokenAt.length >= 8, true);
});

test("the timer goes when nobody is open, and comes back with the next", () => {
  const clock = new FakeClock();
  const open = new KeepAlive<Stream>(clock, 1000);
  const first = new Stream(clock);
  open.add(first);
  open.delete(first);
  clock.advance(1000);
  equal(clock.pending, 0);
  deepEqual(first.wokenAt, []);
  const second = new Stream(clock);
  open.add(second);
  clock.advance(1000);
  deepEqual(second.wokenAt, [2000]);
  open.stop();
  equal(clock.pending, 0);
});
