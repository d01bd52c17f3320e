import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { ClusterError } from "bowline/cluster";
import { Shortage } from "#src/cluster/shortage.js";
import { FakeClock } from "../../support/fake-clock.js";

/** A shortage of an engine that stores a record after so many refusals. */
function shortageOf(refusals: number) {
  const clock = new FakeClock();
  const closing = new AbortController();
  const stored: number[] = [];
  const told = { attempts: 0, deleted: 0, over: 0 };
  const records = {
    put: async (_key: string, value: string, options?: { readonly ttlMs?: number }) => {
      if (++told.attempts <= refusals) throw new ClusterError("unavailable", "full");
      ok((options?.ttlMs ?? Number.POSITIVE_INFINITY) < 10_000);
      stored.push(value.length);
      return "1";
    },
    delete: async () => ++told.deleted > 0,
  };
  const onOver = () => void told.over++;
  const shortage = new Shortage({ clock, node: "n", records, closing: closing.signal, onOver });
  const pass = async (ms: number) => {
    clock.advance(ms);
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  };
  return { clock, closing, stored, told, shortage, pass };
}

test("a shortage lasts until a record can be stored, and its end is told once", async () => {
  const { clock, stored, told, shortage, pass } = shortageOf(3);
  equal(shortage.isOn, false);
  shortage.note();
  shortage.note();
  for (let failures = 1; failures <= 3; failures++) {
    await pass(2_000);
    deepEqual([told.attempts, shortage.isOn, told.over], [failures, true, 0]);
  }
  await pass(2_000);
  deepEqual([shortage.isOn, told], [false, { attempts: 4, deleted: 1, over: 1 }]);
  ok((stored[0] ?? 0) >= 65_536, "a record that needs room");
  equal(clock.pending, 0);
});

test("a shortage begins again, and not after the cluster was closed", async () => {
  const { clock, closing, told, shortage, pass } = shortageOf(0);
  for (const times of [1, 2]) {
    shortage.note();
    await pass(2_000);
    equal(told.over, times);
  }
  shortage.note();
  closing.abort();
  await pass(2_000);
  shortage.note();
  equal(told.over, 2);
  equal(clock.pending, 0);
});
