import { equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ClusterError } from "bowline/cluster";
import { Retries } from "#src/era/legacy/server/cluster/retries.js";
import { FakeClock } from "../../../../../support/fake-clock.js";
import { settle } from "../../../../../support/legacy-endpoint.js";

/** Operation on an engine that is away until `mend` is called. */
function away() {
  let isAway = true;
  let attempts = 0;
  const work = async () => {
    attempts++;
    if (isAway) throw new ClusterError("unavailable", "the engine is away");
  };
  return {
    work,
    attempts: () => attempts,
    mend: () => {
      isAway = false;
    },
  };
}

const AWAY = { code: "cluster_unavailable" };

async function pass(clock: FakeClock, ms: number, stepMs = 1_000): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(stepMs);
    await settle();
  }
}

test("an operation is repeated until the engine can be reached, at least once a second", async () => {
  const clock = new FakeClock();
  const engine = away();
  const done = new Retries(clock).inBackground(engine.work);
  await pass(clock, 60_000);
  const before = engine.attempts();
  equal(before >= 60, true);
  engine.mend();
  await pass(clock, 1_000);
  await done;
  equal(engine.attempts(), before + 1);
});

test("an operation is repeated for ten minutes at most", async () => {
  const clock = new FakeClock();
  const engine = away();
  const failed = rejects(new Retries(clock).untilReached(engine.work), AWAY);
  await pass(clock, 602_000);
  await failed;
  const last = engine.attempts();
  await pass(clock, 10_000);
  equal(engine.attempts(), last);
});

test("no more operations are repeated in the background than the maximum; others fail as they did", async () => {
  const clock = new FakeClock();
  const engine = away();
  const retries = new Retries(clock, 2);
  const repeated = [retries.inBackground(engine.work), retries.inBackground(engine.work)];
  await settle();
  await rejects(retries.inBackground(engine.work), AWAY);
  engine.mend();
  await pass(clock, 1_000);
  await Promise.all(repeated);
  // There is room again.
  const other = away();
  const next = retries.inBackground(other.work);
  await settle();
  other.mend();
  await pass(clock, 1_000);
  await next;
});

test("of operations with one name, one is repeated", async () => {
  const clock = new FakeClock();
  const engine = away();
  const retries = new Retries(clock);
  const repeated = retries.inBackground(engine.work, { name: "read q" });
  await settle();
  await rejects(retries.inBackground(engine.work, { name: "read q" }), AWAY);
  engine.mend();
  await pass(clock, 1_000);
  await repeated;
});

test("when the process shuts down, what waits is tried once more, and nothing is repeated", async () => {
  const clock = new FakeClock();
  const engine = away();
  const retries = new Retries(clock);
  const failed = rejects(retries.inBackground(engine.work), AWAY);
  await settle();
  retries.close();
  await failed;
  equal(engine.attempts(), 2);
  await rejects(retries.untilReached(engine.work), AWAY);
  equal(engine.attempts(), 3);
});
