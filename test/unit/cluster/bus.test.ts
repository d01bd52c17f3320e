import { deepEqual, equal, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ClusterError } from "bowline/cluster";
import { MemoryEngine, MemoryStore } from "#src/cluster/memory/store.js";
import type { Store } from "#src/cluster/store.js";
import { StoreCluster } from "#src/cluster/store-cluster.js";
import { replaceParts } from "../../support/nodes-world.js";

/** Two nodes, of which one has a store with other parts. */
function open(t: TestContext, parts: (store: Store) => Partial<Store>) {
  const engine = new MemoryEngine();
  const create = (store: Store) => {
    const node = new StoreCluster(store, { heartbeatMs: Number.POSITIVE_INFINITY });
    t.after(() => node.close());
    return node;
  };
  const store = new MemoryStore(engine);
  return { node: create(replaceParts<Store>(store, parts(store))), other: create(new MemoryStore(engine)) };
}

test("a process to which nothing is sent can publish, but not subscribe", async (t) => {
  const { node, other } = open(t, () => ({ isUp: false }));
  const texts: string[] = [];
  await other.bus.subscribe("t", (text) => texts.push(text));
  await node.bus.publish("t", "1");
  deepEqual(texts, ["1"]);
  await rejects(
    node.bus.subscribe("t", () => {}),
    { failure: "unavailable" },
  );
});

test("others learn of a message that could not be sent when its sender closes", async (t) => {
  let isAway = false;
  const { node, other } = open(t, (store) => ({
    send: async (texts) => {
      if (isAway) throw new ClusterError("unavailable", "away");
      await store.send(texts);
    },
  }));
  let gaps = 0;
  other.bus.onGap(() => gaps++);
  await node.bus.publish("t", "1");
  isAway = true;
  await rejects(node.bus.publish("t", "2"), { failure: "unavailable" });
  isAway = false;
  equal(gaps, 0);
  await node.close();
  equal(gaps, 1);
});
