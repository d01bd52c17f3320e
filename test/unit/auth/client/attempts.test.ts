import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import type { AuthStore } from "bowline/auth/client";
import { type Attempt, AttemptStore } from "#src/auth/client/code-flow.js";
import { AuthRecords } from "#src/auth/client/store.js";
import { failsAt } from "../../../support/auth-world.js";

const SERVER = "https://mcp.example/mcp";
const attemptOf = (state: string) => ({ state, server: SERVER, startedAt: 0 }) as Attempt;

/** Creates a store of attempts over a map. `failing` is the key that cannot be deleted. */
function open() {
  const values = new Map<string, unknown>();
  const disk = { failing: "" };
  const store: AuthStore = {
    get: async (key) => values.get(key),
    set: async (key, value) => void values.set(key, value),
    delete: async (key) => {
      if (key === disk.failing) throw new Error("the disk is full");
      values.delete(key);
    },
  };
  return { values, disk, attempts: new AttemptStore(new AuthRecords(store), () => 0) };
}

test("the last attempt of a server leaves nothing behind", async () => {
  const { values, attempts } = open();
  await attempts.save(attemptOf("a"));
  await attempts.save(attemptOf("b"));
  await attempts.drop(attemptOf("a"));
  deepEqual([...values.keys()], [`attempts ${SERVER}`, "attempt b"]);
  await attempts.drop(attemptOf("b"));
  equal(values.size, 0);
});

for (const failing of ["attempt a", `attempts ${SERVER}`]) {
  test(`a store that cannot delete fails the drop of an attempt: ${failing}`, async () => {
    const { disk, attempts } = open();
    await attempts.save(attemptOf("a"));
    disk.failing = failing;
    await rejects(attempts.drop(attemptOf("a")), failsAt("store", /the disk is full/));
  });
}
