import { equal } from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { FakeClock } from "bowline/testing";
import { pause } from "#src/call/abortable.js";

test("a pause ends with its time or its signal, and leaves no timer", async () => {
  const clock = new FakeClock();
  const timed = pause(clock, 10);
  clock.advance(10);
  await timed;
  const abort = new AbortController();
  const aborted = pause(clock, 10, abort.signal);
  equal(clock.pending, 1);
  abort.abort();
  await aborted;
  equal(clock.pending, 0);
  await pause(clock, 10, abort.signal);
  equal(clock.pending, 0);
});

test("many pauses on one signal add one listener, and leave none", async () => {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const listeners = () => getEventListeners(signal, "abort").length;
  const pauses = Array.from({ length: 50 }, () => pause(clock, 10, signal));
  equal(listeners(), 1);
  clock.advance(10);
  await Promise.all(pauses);
  equal(listeners(), 0);
});
