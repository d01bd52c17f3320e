import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { SharedSteps } from "#src/server/state/shared-steps.js";
import { gate } from "../../support/gate.js";

test("the end of a round waits for its running steps, and refuses new ones", async () => {
  const steps = new SharedSteps({ before: 1 });
  const paid = gate();
  const charge = steps.run("charge", async () => {
    await paid.opened;
    return "paid";
  });
  let done: unknown;
  const ended = steps.end().then((results) => {
    done = results;
  });
  await rejects(
    steps.run("ship", () => "shipped"),
    { message: 'step "ship" is not run: its round has ended' },
  );
  const joined = steps.run("charge", () => "paid twice");
  await new Promise(setImmediate);
  equal(done, undefined);
  paid.open();
  await ended;
  deepEqual([await charge, await joined, done], ["paid", "paid", { before: 1, charge: "paid" }]);
  equal(await steps.run("before", () => 2), 1);
});

test("results of another process are results of the round", async () => {
  const steps = new SharedSteps({ before: 1 });
  steps.adopt({ charge: "paid" });
  deepEqual([steps.has("charge"), steps.has("ship")], [true, false]);
  equal(await steps.run("charge", () => "paid twice"), "paid");
  deepEqual(steps.done, { before: 1, charge: "paid" });
});
