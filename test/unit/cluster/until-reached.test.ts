import { equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { closedError } from "#src/cluster/error.js";
import { untilReached } from "#src/cluster/until-reached.js";
import { FakeClock } from "../../support/fake-clock.js";

test("an operation on a cluster that is closed is not repeated", async () => {
  let attempts = 0;
  const repetition = { clock: new FakeClock(), signal: () => new AbortController().signal };
  const work = async () => {
    attempts++;
    throw closedError("put a record");
  };
  await rejects(untilReached(repetition, work), /the cluster is closed/);
  equal(attempts, 1);
});
