import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { countOpen, type SubscriptionOwner as Owner } from "#src/era/open-subscriptions.js";
import type { ServerRuntime } from "#src/era/server-era.js";

test("an owner without open subscriptions is not counted any more", () => {
  const subscriptions = { open: 0, anonymous: 0, byOwner: new Map<unknown, number>() };
  const [ada, bob] = ["ada", "bob"].map((key) => ({ key, anonymous: key === "ada", isUnknown: false })) as [
    Owner,
    Owner,
  ];
  const runtime = { subscriptions } as unknown as ServerRuntime;
  countOpen(runtime, ada, 2);
  countOpen(runtime, bob, 1);
  countOpen(runtime, ada, -1);
  deepEqual(
    [...subscriptions.byOwner],
    [
      ["ada", 1],
      ["bob", 1],
    ],
  );
  countOpen(runtime, ada, -1);
  deepEqual([...subscriptions.byOwner], [["bob", 1]]);
  deepEqual([subscriptions.open, subscriptions.anonymous], [1, 0]);
});
