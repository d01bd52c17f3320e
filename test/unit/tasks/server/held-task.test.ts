import { equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ClusterError } from "#src/cluster/error.js";
import type { StoredTask, TaskStore } from "#src/tasks/server/store.js";
import { HeldTask } from "#src/tasks/server/store.js";
import { FakeClock } from "../../../support/fake-clock.js";

test("a change that waits for the engine is given up when the run has ended", async () => {
  const clock = new FakeClock();
  const store = { change: () => Promise.reject(new ClusterError("unavailable", "away")) } as unknown as TaskStore;
  const stored = { record: { id: "a", fence: 1, stage: "running" }, version: "1" } as unknown as StoredTask;
  const { signal: lost } = new AbortController();
  const held = new HeldTask(stored, { store, clock, lost, maxChars: 1_000, onChange: () => {} });
  const given = rejects(
    held.change((record) => record),
    { code: "task_lost" },
  );
  await new Promise(setImmediate);
  equal(clock.pending, 1);
  held.release();
  await given;
  equal(clock.pending, 0);
});
