import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type Bus, ClusterError, type SharedChange } from "bowline/cluster";
import { createMemoryState } from "bowline/testing";
import { ClusterChanges } from "#src/cluster/changes.js";
import { FakeClock } from "../../support/fake-clock.js";
import { replaceParts } from "../../support/nodes-world.js";

test("a process whose first subscription to changes fails hears of them later", async (t) => {
  const clock = new FakeClock();
  const state = createMemoryState({ clock });
  const [one, other] = [state.node(), state.node()];
  t.after(() => Promise.all([one.close(), other.close()]));
  let failures = 2;
  const bus = replaceParts<Bus>(one.bus, {
    subscribe: async (topic, listener) => {
      if (failures-- > 0) throw new ClusterError("unavailable", "The engine is away");
      return one.bus.subscribe(topic, listener);
    },
  });
  const heard: SharedChange[] = [];
  const local = { publish: (change: SharedChange) => void heard.push(change), subscribe: () => () => {} };
  const server = { options: { stateKeys: [] }, watched: new Map(), clock, report: () => {}, onClosing: () => () => {} };
  new ClusterChanges({ bus }, local, server);
  for (let second = 0; second < 3; second++) {
    await setImmediate();
    clock.advance(1_000);
  }
  await setImmediate();
  await other.bus.publish("changes", JSON.stringify({ kind: "tools" }));
  await setImmediate();
  deepEqual(heard, [{ kind: "tools" }]);
});

test("a change that a process could not publish reaches the others when it can, once", async (t) => {
  const clock = new FakeClock();
  const state = createMemoryState({ clock });
  const [one, other] = [state.node(), state.node()];
  t.after(() => Promise.all([one.close(), other.close()]));
  let failures = 3;
  const bus = replaceParts(one.bus, {
    async publish(topic, text) {
      if (failures-- > 0) throw new ClusterError("unavailable", "The engine is away");
      return one.bus.publish(topic, text);
    },
  });
  const here: SharedChange[] = [];
  const there: unknown[] = [];
  const local = { publish: (change: SharedChange) => void here.push(change), subscribe: () => () => {} };
  const server = { options: { stateKeys: [] }, watched: new Map(), clock, report: () => {}, onClosing: () => () => {} };
  const changes = new ClusterChanges({ bus }, local, server);
  await other.bus.subscribe("changes", (text) => void there.push(JSON.parse(text)));
  changes.publish({ kind: "tools" });
  changes.publish({ kind: "resource", uri: "x:y" });
  await setImmediate();
  deepEqual([here, there], [[{ kind: "tools" }, { kind: "resource", uri: "x:y" }], []]);
  for (let second = 0; second < 4; second++) {
    clock.advance(1_000);
    await setImmediate();
  }
  deepEqual(there, [{ kind: "tools" }, { kind: "resource", uri: "x:y" }]);
  deepEqual(failures, -2);
});
