import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "bowline/testing";
import { ChangeOutbox } from "#src/era/change-outbox.js";

/** An outbox whose wire is full until `drain`. */
function full(most: number) {
  const clock = new FakeClock();
  const written: string[] = [];
  let overflows = 0;
  let drain = () => {};
  const write = (method: string, { uri }: { uri?: unknown }) => {
    written.push(String(uri ?? method));
    return new Promise<void>((resolve) => {
      drain = resolve;
    });
  };
  const outbox = new ChangeOutbox(write, clock, most, () => void overflows++);
  outbox.add({ kind: "resource", uri: "r:0" });
  const wait = (count: number) => {
    for (let n = 1; n <= count; n++) outbox.add({ kind: "resource", uri: `r:${n}` });
  };
  return { clock, written, outbox, wait, overflows: () => overflows, drain: () => drain() };
}

test("as many changes may wait as are allowed, for any time", () => {
  const { clock, wait, overflows } = full(3);
  wait(3);
  equal(clock.pending, 0);
  clock.advance(1e9);
  equal(overflows(), 0);
});

test("one change more is an overflow when the reader takes nothing for a second", () => {
  const { clock, wait, overflows } = full(3);
  wait(4);
  clock.advance(999);
  equal(overflows(), 0);
  clock.advance(1);
  equal(overflows(), 1);
});

test("equal changes wait once", () => {
  const { clock, wait, overflows } = full(3);
  wait(3);
  wait(3);
  equal(clock.pending, 0);
  equal(overflows(), 0);
});

test("a reader that takes something in time gets what waits, in order, and is not given up", async () => {
  const { clock, wait, overflows, drain, written } = full(3);
  wait(4);
  clock.advance(999);
  drain();
  await new Promise(setImmediate);
  deepEqual(written, ["r:0", "r:1"]);
  for (let n = 0; n < 3; n++) {
    drain();
    await new Promise(setImmediate);
  }
  deepEqual(written, ["r:0", "r:1", "r:2", "r:3", "r:4"]);
  clock.advance(1e9);
  equal(overflows(), 0);
});

test("what waits is dropped when the outbox is closed, and handed over when it is flushed", async () => {
  const closed = full(3);
  closed.wait(4);
  closed.outbox.close();
  equal(closed.clock.pending, 0);
  closed.drain();
  await new Promise(setImmediate);
  deepEqual(closed.written, ["r:0"]);
  const flushed = full(3);
  flushed.wait(2);
  flushed.outbox.flush();
  deepEqual(flushed.written, ["r:0", "r:1", "r:2"]);
});
