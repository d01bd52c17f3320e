import { deepEqual, rejects } from "node:assert/strict";
import { test } from "node:test";
import { Names } from "#src/nats/names.js";
import { prepare } from "#src/nats/start.js";
import { FakeClock } from "../../support/fake-clock.js";
import { fakeLine } from "./line.js";

/** Starts with streams that have these settings. Returns the warnings. */
async function warningsOf(settings: object): Promise<string[]> {
  const config = { description: "bowline 1", allow_direct: false, retention: "limits", storage: "file", ...settings };
  const line = fakeLine((path) => ({
    config: { num_replicas: 3, ...config, max_msgs_per_subject: path.endsWith("_documents") ? 1 : -1 },
  }));
  const warnings: string[] = [];
  const warn = (message: string) => warnings.push(message);
  await prepare(line, { names: new Names("p"), replicas: 3, clock: new FakeClock(), warn });
  return warnings;
}

test("streams in the memory of several servers are told and used", async () => {
  deepEqual(await warningsOf({}), []);
  deepEqual(await warningsOf({ storage: "memory" }), [
    "natsCluster: the stream p_documents has storage memory, so that it is lost if most of its servers restart at once; storage file keeps it",
    "natsCluster: the stream p_entries has storage memory, so that it is lost if most of its servers restart at once; storage file keeps it",
  ]);
});

test("streams in the memory of one server are refused", async () => {
  await rejects(warningsOf({ storage: "memory", num_replicas: 1 }), { failure: "refused" });
});
