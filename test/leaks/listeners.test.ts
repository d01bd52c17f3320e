import { deepEqual, equal } from "node:assert/strict";
import { getEventListeners } from "node:events";
import { createWaiting } from "../support/abort-many.js";
import { eachBareWire } from "../support/bare-wire.js";
import { until } from "../support/census.js";
import { verifies } from "../support/verifies.js";

const CALLS = 1000;
const AT_ONCE = 50;

verifies(
  ["protocol:cancel:listener-cleanup", "client-transport:http:signal-listeners"],
  "one signal for a thousand calls, fifty at a time",
  eachBareWire,
  async (world, t) => {
    const warnings: string[] = [];
    const onWarning = (warning: Error) => warnings.push(warning.message);
    process.on("warning", onWarning);
    t.after(() => process.off("warning", onWarning));
    const { client } = await world.connect(createWaiting().server);
    const { signal } = new AbortController();
    for (let made = 0; made < CALLS; made += AT_ONCE) {
      const calls = Array.from({ length: AT_ONCE }, () => client.callTool("echo", {}, { signal }));
      equal(getEventListeners(signal, "abort").length, 1);
      await Promise.all(calls);
      equal(getEventListeners(signal, "abort").length, 0);
    }
    deepEqual(warnings, []);
  },
);

verifies(
  "protocol:cancel:listener-cleanup",
  "a signal that ended a call, and one that did not, are let go of by watches too",
  eachBareWire,
  async (world) => {
    const { server } = createWaiting();
    const { client } = await world.connect(server);
    const abort = new AbortController();
    for (let n = 0; n < 20; n++) {
      const watch = await client.watch({ toolsListChanged: true }, { signal: abort.signal });
      equal(getEventListeners(abort.signal, "abort").length, 1);
      await watch.close();
      equal(getEventListeners(abort.signal, "abort").length, 0);
    }
    const watch = await client.watch({ toolsListChanged: true }, { signal: abort.signal });
    abort.abort("enough");
    await until("the watch has ended", () => watch.ended === "closed");
    equal(getEventListeners(abort.signal, "abort").length, 0);
    equal(client.pending, 0);
  },
);
