import { deepEqual, equal, notEqual } from "node:assert/strict";
import { test } from "node:test";
import { Dice } from "./dice.js";
import { SimProcess } from "./process.js";
import { Scheduler } from "./scheduler.js";
import { withSeededCrypto } from "./seeded-crypto.js";

/** Scheduler with a list of what has run. */
function stage() {
  const scheduler = new Scheduler();
  const ran: string[] = [];
  const note = (text: string) => () => void ran.push(`${scheduler.now()} ${text}`);
  return { scheduler, ran, note };
}

test("events run in the order of their times, then of their creation", async () => {
  const { scheduler, ran, note } = stage();
  scheduler.schedule(note("c"), 20);
  scheduler.schedule(note("a"), 10);
  scheduler.schedule(note("b"), 10);
  scheduler.cancel(scheduler.schedule(note("cancelled"), 15));
  scheduler.schedule(note("late"), 30);
  equal(scheduler.pending, 4);
  await scheduler.runUntil(25);
  deepEqual(ran, ["10 a", "10 b", "20 c"]);
  equal(scheduler.now(), 25);
  equal(scheduler.pending, 1);
});

test("all microtasks run before the next event", async () => {
  const { scheduler, ran, note } = stage();
  scheduler.schedule(async () => {
    for (let turn = 0; turn < 50; turn++) await undefined;
    note("after 50 turns")();
  }, 10);
  scheduler.schedule(note("next"), 10);
  scheduler.schedule(async () => {
    await scheduler.sleep(5);
    note("slept")();
  }, 10);
  await scheduler.runUntil(100);
  deepEqual(ran, ["10 after 50 turns", "10 next", "15 slept"]);
});

test("a run ends early when it is over", async () => {
  const { scheduler, ran, note } = stage();
  for (const ms of [1, 2, 3]) scheduler.schedule(note("event"), ms);
  await scheduler.runUntil(100, () => ran.length === 2);
  deepEqual(ran, ["1 event", "2 event"]);
});

for (const first of ["timers", "arrivals"] as const)
  test(`a paused process gets its timers and messages when it continues, in order (${first})`, async () => {
    const { scheduler, ran, note } = stage();
    const process = new SimProcess("n", scheduler);
    process.schedule(note("timer"), 10);
    process.schedule(note("later timer"), 30);
    const cancelled = process.schedule(note("cancelled"), 15);
    scheduler.schedule(() => process.pause(), 5);
    scheduler.schedule(() => process.enter(note("message")), 20);
    scheduler.schedule(() => process.cancel(cancelled), 25);
    scheduler.schedule(() => process.resume(first), 50);
    await scheduler.runUntil(100);
    const timers = ["50 timer", "50 later timer"];
    deepEqual(ran, first === "timers" ? [...timers, "50 message"] : ["50 message", ...timers]);
  });

test("nothing runs in a process after its crash", async () => {
  const { scheduler, ran, note } = stage();
  const process = new SimProcess("n", scheduler);
  process.onCrash = note("crash");
  process.pause();
  process.enter(note("waiting"));
  process.schedule(note("timer"), 10);
  process.crash();
  process.resume("timers");
  process.enter(note("late"));
  await scheduler.runUntil(100);
  deepEqual(ran, ["0 crash"]);
});

test("equal seeds decide alike, and close seeds differently", () => {
  const draw = (seed: number) => Array.from({ length: 5 }, () => new Dice(seed).below(1_000_000));
  deepEqual(draw(7), draw(7));
  notEqual(new Dice(7).below(1_000_000), new Dice(8).below(1_000_000));
  const dice = new Dice(1);
  const hits = Array.from({ length: 10_000 }, () => dice.chance(25)).filter(Boolean).length;
  equal(Math.round(hits / 1_000), 3);
});

test("random ids follow the seed during a run, and no longer", async () => {
  const draw = () => withSeededCrypto(new Dice(3), async () => crypto.randomUUID());
  const id = await draw();
  equal(await draw(), id);
  notEqual(crypto.randomUUID(), crypto.randomUUID());
  equal(Object.hasOwn(crypto, "randomUUID"), false);
});
