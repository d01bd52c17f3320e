import { deepEqual, ok } from "node:assert/strict";
import { MemoryEngine, MemoryStore } from "#src/cluster/memory/store.js";
import { StoreCluster } from "#src/cluster/store-cluster.js";
import { FakeClock } from "../../support/fake-clock.js";
import { LegacyEndpoint, messages, settle } from "../../support/legacy-endpoint.js";
import { replaceParts } from "../../support/nodes-world.js";
import { proves } from "../../support/verifies.js";

const stateKeys = [{ id: "k", secret: new Uint8Array(32) }];
const numbers = (to: number) => Array.from({ length: to }, (_, at) => at + 1);

proves(
  "cluster:stream:together",
  { wire: "legacy-http" },
  "50 messages take a few appends of a slow store, and arrive once and in order",
  async (t) => {
    const clock = new FakeClock();
    const store = new MemoryStore(new MemoryEngine({ clock }));
    const sizes: number[] = [];
    let isSlow = false;
    const logs = replaceParts(store.logs, {
      append: async (claimed, seq, entries, notice) => {
        if (isSlow) {
          sizes.push(entries.length);
          for (let wait = 0; wait < 5; wait++) await settle();
        }
        return store.logs.append(claimed, seq, entries, notice);
      },
    });
    const cluster = new StoreCluster(replaceParts(store, { logs }), { clock, heartbeatMs: Number.POSITIVE_INFINITY });
    const endpoint = new LegacyEndpoint({ resumable: true }, { cluster, stateKeys, clock });
    t.after(async () => {
      await endpoint.server.close();
      await cluster.close();
    });
    endpoint.server.tool("count", {}, (_args, ctx) => {
      isSlow = true;
      for (const number of numbers(50)) void ctx.progress(number);
      return "done";
    });
    const client = await endpoint.open();
    const call = client.call(1, "count");
    await call.done;
    deepEqual(
      messages(call).map(({ params, id }) => params?.progress ?? id),
      [...numbers(50), 1],
    );
    ok(sizes.length <= 4, `appends of ${sizes} entries`);
  },
);
