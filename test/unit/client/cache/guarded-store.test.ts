import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "bowline/testing";
import { GuardedStore } from "#src/client/cache/guarded-store.js";
import type { CacheStore } from "#src/client/cache/store.js";

test("a store that deletes nothing is given up before what it should have deleted fills the memory", async () => {
  let asked = 0;
  const store: CacheStore = {
    get: () => {
      asked++;
      return [];
    },
    set: () => {},
    delete: () => {
      throw new Error("read-only");
    },
  };
  const problems: Error[] = [];
  const guarded = new GuardedStore(store, new FakeClock(), (problem) => problems.push(problem));
  guarded.delete("first");
  equal(guarded.get("first"), undefined);
  deepEqual([guarded.get("other"), asked], [[], 1]);
  for (let round = 0; round < 1_001; round++) guarded.delete(`key ${round}`);
  equal(guarded.get("key 0"), undefined);
  equal(guarded.get("other"), undefined);
  equal(asked, 1);
  equal(problems[0]?.message, "The cache store failed to delete: read-only");
});
