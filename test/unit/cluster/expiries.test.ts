import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Expiries, Expiring } from "#src/cluster/memory/expiries.js";
import { FakeClock } from "../../support/fake-clock.js";

class Item extends Expiring {
  constructor(readonly onExpire: (item: Item) => void) {
    super();
  }

  expire(): void {
    this.onExpire(this);
  }
}

test("items end at their times, by one timer", () => {
  const clock = new FakeClock();
  const expiries = new Expiries(clock);
  const ended: string[] = [];
  const item = (name: string) => new Item(() => ended.push(`${name} at ${clock.now()}`));
  for (const [name, ms] of [
    ["c", 30],
    ["a", 10],
    ["b", 20],
  ] as const)
    expiries.set(item(name), ms);
  equal(clock.pending, 1);
  clock.advance(9);
  deepEqual(ended, []);
  clock.advance(30);
  deepEqual(ended, ["a at 10", "b at 20", "c at 30"]);
  equal(clock.pending, 0);
});

test("a longer life schedules no timer, a shorter one does", () => {
  const clock = new FakeClock();
  const expiries = new Expiries(clock);
  const ended: number[] = [];
  const item = new Item(() => ended.push(clock.now()));
  expiries.set(item, 100);
  for (let ms = 200; ms < 1_000; ms += 100) expiries.set(item, ms);
  equal(clock.delays.length, 1);
  clock.advance(100);
  deepEqual(ended, []);
  expiries.set(item, 50);
  clock.advance(50);
  deepEqual(ended, [150]);
  equal(expiries.size, 0);
});

test("an item that is due is found expired without the timer, and ends once", () => {
  let now = 0;
  const clock = { now: () => now, schedule: () => ({}), cancel: () => undefined };
  const expiries = new Expiries(clock);
  let ended = 0;
  expiries.set(new Item(() => ended++), 10);
  now = 10;
  expiries.catchUp();
  expiries.catchUp();
  equal(ended, 1);
});

test("a stopped queue has no timer and starts again with the next item", () => {
  const clock = new FakeClock();
  const expiries = new Expiries(clock);
  let ended = 0;
  expiries.set(new Item(() => ended++), 10);
  expiries.stop();
  equal(clock.pending, 0);
  expiries.set(new Item(() => ended++), 20);
  clock.advance(20);
  equal(ended, 2);
});

test("any order of changes ends each item at its last time", () => {
  const change = fc.record({
    at: fc.nat(9),
    ms: fc.integer({ min: 1, max: 50 }),
    kind: fc.constantFrom("set", "remove"),
  });
  const step = fc.record({ changes: fc.array(change, { maxLength: 6 }), ms: fc.nat(20) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const clock = new FakeClock();
      const expiries = new Expiries(clock);
      const due = new Map<Item, number>();
      const items = Array.from({ length: 10 }, () => {
        return new Item((item) => {
          equal(due.get(item), clock.now());
          due.delete(item);
        });
      });
      for (const { changes, ms } of steps) {
        for (const { at, ms, kind } of changes) {
          const item = items[at] as Item;
          if (kind === "set") due.set(item, clock.now() + ms);
          else due.delete(item);
          if (kind === "set") expiries.set(item, ms);
          else expiries.remove(item);
        }
        clock.advance(ms);
        for (const at of due.values()) ok(at > clock.now());
        equal(expiries.size, due.size);
        ok(clock.pending <= 1);
      }
    }),
  );
});
