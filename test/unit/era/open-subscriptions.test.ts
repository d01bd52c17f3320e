import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { countOpen } from "#src/era/open-subscriptions.js";
import type { ServerRuntime } from "#src/era/server-era.js";

test("an owner without open subscriptions is not counted any more", () => {
  const subscriptions = { open: 0, byOwner: new Map<unknown, number>() };
  const runtime = { subscriptions } as unknown as ServerRuntime;
  countOpen(runtime, "ada", 2);
  countOpen(runtime, "bob", 1);
  countOpen(runtime, "ada", -1);
  deepEqual(
    [...subscriptions.byOwner],
    [
      ["ada", 1],
      ["bob", 1],
    ],
  );
  countOpen(runtime, "ada", -1);
  deepEqual([...subscriptions.byOwner], [["bob", 1]]);
  equal(subscriptions.open, 1);
});
