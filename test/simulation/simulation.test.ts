import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { BREAKS } from "./engine/breaks.js";
import { simulate } from "./simulation.js";

test("one hundred seeds hold all invariants, and do enough", async () => {
  const counts: Record<string, number> = {};
  for (let seed = 1; seed <= 100; seed++) {
    const { violations, counts: own } = await simulate(seed);
    deepEqual(violations, [], `npm run simulate -- --seed ${seed}`);
    for (const [name, count] of Object.entries(own)) counts[name] = (counts[name] ?? 0) + count;
  }
  const least = {
    "settled answered": 500,
    "questions answered": 150,
    "calls resumed": 20,
    "streams resumed": 25,
    "tasks completed": 300,
    "tasks cancelled": 40,
    "task answers": 300,
    "task notifications": 500,
  };
  for (const [name, count] of Object.entries(least)) ok((counts[name] ?? 0) >= count, `${name}: ${counts[name]}`);
  for (const kind of ["crash", "pause", "link", "restart", "drain"])
    ok((counts[`faults ${kind}`] ?? 0) > 0, `no run has the fault ${kind}`);
});

for (const kind of ["sessions", "tasks"] as const) {
  test(`a seed decides everything (${kind})`, async () => {
    const run = (seed: number) => simulate(seed, { kind });
    const [one, again, other] = [await run(3), await run(3), await run(4)];
    equal(again.hash, one.hash);
    equal(again.events, one.events);
    notEqual(other.hash, one.hash);
  });
}

for (const broken of BREAKS) {
  test(`the checks see that a safeguard is missing (${broken})`, async () => {
    for (let seed = 1; seed <= 500; seed++) if ((await simulate(seed, { broken })).violations.length > 0) return;
    ok(false, "no seed of 500 has failed");
  });
}
