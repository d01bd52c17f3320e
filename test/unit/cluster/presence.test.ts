import { deepEqual, equal } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Cluster, Lease } from "bowline/cluster";
import { createMemoryState } from "bowline/testing";
import { Presence } from "#src/cluster/presence.js";
import { elapse, FakeClock } from "../../support/fake-clock.js";

const leaseMs = 10_000;

/** Two processes that share a state, with the presence of each. */
function createPair(t: TestContext) {
  const clock = new FakeClock();
  const state = createMemoryState({ clock });
  const present = (name: string) => {
    const cluster = state.node();
    const presence = new Presence({ cluster, clock, leaseMs, prefix: "ships/", name });
    t.after(async () => {
      await presence.close();
      await cluster.close();
    });
    return { cluster, presence };
  };
  return { clock, state, north: present("north"), south: present("south") };
}

test("a process counts as gone when it has released its lease, and as present when it holds it", async (t) => {
  const { clock, north, south } = createPair(t);
  equal(await north.presence.hold(), true);
  await elapse(clock, leaseMs);
  equal(await south.presence.isGone("north"), false);
  await north.presence.close();
  equal(await south.presence.isGone("north"), true);
});

test("no process counts as gone until the engine was reachable for the life of a lease", async (t) => {
  const { clock, state, south } = createPair(t);
  const isGone = () => south.presence.isGone("east");
  equal(await isGone(), false, "at the start");
  await elapse(clock, leaseMs);
  equal(await isGone(), true);
  state.cut(south.cluster);
  state.mend(south.cluster);
  equal(await isGone(), false, "after a gap");
  await elapse(clock, leaseMs);
  equal(await isGone(), true);
  south.presence.onAway();
  equal(await south.presence.inherit("east"), undefined);
});

test("a lease that was lost while the engine was away is held again", async (t) => {
  const { clock, state, north, south } = createPair(t);
  await north.presence.hold();
  for (const { cluster } of [north, south]) state.cut(cluster);
  await elapse(clock, 1.5 * leaseMs);
  deepEqual([north.presence.isHeld, north.presence.isLost], [false, true]);
  for (const { cluster } of [north, south]) state.mend(cluster);
  await elapse(clock, leaseMs);
  deepEqual([north.presence.isHeld, north.presence.isLost], [true, false]);
  equal(await south.presence.isGone("north"), false);
});

test("a lease that was lost before its reply arrived is acquired again", async () => {
  const ended = new AbortController();
  ended.abort();
  const given = [ended.signal, new AbortController().signal];
  let held = 0;
  const acquire = async (): Promise<Lease | undefined> => {
    const lost = given.shift();
    return lost && { lost, release: async () => {} };
  };
  const cluster = { leases: { acquire }, bus: { onGap: () => () => {} } } as unknown as Cluster;
  const onHeld = () => void held++;
  const presence = new Presence({ cluster, clock: new FakeClock(), leaseMs, prefix: "ships/", name: "north", onHeld });
  equal(await presence.hold(), false);
  equal(await presence.hold(), true);
  equal(held, 2);
});
