import { equal } from "node:assert/strict";
import { test } from "node:test";
import { ServerTime, stampOf } from "#src/nats/server-time.js";
import { FakeClock } from "../../support/fake-clock.js";

const STAMP = 1_800_000_000_000;

/** Returns a time that was found out by a round trip of 10 ms. */
function found() {
  const clock = new FakeClock();
  const time = new ServerTime(clock);
  clock.advance(10);
  time.set(STAMP, 0, 10);
  return { clock, time };
}

test("the time goes on with the clock of this process", () => {
  const { clock, time } = found();
  equal(time.now(), STAMP);
  clock.advance(500);
  equal(time.now(), STAMP + 500);
});

test("a stamp that was read is the time, if the round trip explains it", () => {
  const { clock, time } = found();
  time.saw(STAMP + 4);
  equal(time.now(), STAMP + 4);
  time.saw(STAMP + 3);
  equal(time.now(), STAMP + 4);
  clock.advance(20);
  equal(time.now(), STAMP + 20);
});

test("a stamp of a server whose clock is ahead moves the time by the round trip at most", () => {
  const { clock, time } = found();
  time.saw(STAMP + 60_000);
  equal(time.now(), STAMP + 10);
  clock.advance(1_000);
  equal(time.now(), STAMP + 1_010);
  time.set(STAMP + 1_005, 1_010, 1_010);
  equal(time.now(), STAMP + 1_005);
});

test("times of JetStream have fractions of milliseconds", () => {
  equal(stampOf("2027-01-15T08:00:00Z"), STAMP);
  equal(stampOf("2027-01-15T08:00:00.0015Z"), STAMP + 1.5);
});
