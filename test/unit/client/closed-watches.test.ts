import { equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "bowline/testing";
import { RetryWaits } from "#src/call/backoff.js";
import type { ClientCore } from "#src/client/runtime.js";
import { openWatch } from "#src/client/subscriptions/watch.js";

test("a watch that has ended, or was never opened, is forgotten by its client", async () => {
  let refusal: Error | undefined;
  const core = {
    clock: new FakeClock(),
    waits: new RetryWaits(),
    listening: new Set(),
    missed() {},
    onProblem() {},
    listen: async () => {
      if (refusal !== undefined) throw refusal;
      return { honoured: { toolsListChanged: true }, close() {} };
    },
  };
  const open = () => openWatch(core as unknown as ClientCore, { toolsListChanged: true }, {});
  const watches = [await open(), await open()];
  equal(core.listening.size > 0, true);
  for (const watch of watches) await watch.close();
  equal(core.listening.size, 0);
  refusal = new Error("no");
  await rejects(open(), refusal);
  equal(core.listening.size, 0);
});
