import { equal } from "node:assert/strict";
import { test } from "node:test";
import { MemoryEngine, MemoryStore } from "#src/cluster/memory/store.js";
import type { Store } from "#src/cluster/store.js";
import { StoreCluster } from "#src/cluster/store-cluster.js";
import { FakeClock } from "../../support/fake-clock.js";
import { replaceParts } from "../../support/nodes-world.js";

test("a job whose notice is lost is found within five seconds", async (t) => {
  const clock = new FakeClock();
  const store = new MemoryStore(new MemoryEngine({ clock }));
  const deaf: Store["connect"] = (events) => store.connect({ ...events, onText: () => {} });
  const cluster = new StoreCluster(replaceParts<Store>(store, { connect: deaf }), { clock });
  t.after(() => cluster.close());
  const next = cluster.queue.take(new AbortController().signal)[Symbol.asyncIterator]().next();
  await new Promise((resolve) => setImmediate(resolve));
  await cluster.queue.add("j", "text");
  clock.advance(5_000);
  equal((await next).value.job, "text");
});
