import { deepEqual, equal, ok } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ClusterChanges } from "#src/cluster/changes.js";
import type { SharedChange } from "#src/cluster/cluster.js";
import { createMemoryState } from "#src/cluster/memory/state.js";
import { MemoryChangeBus } from "#src/store/change-bus.js";
import { FakeClock } from "../../support/fake-clock.js";

const SPREAD_MS = 3_000;
const ALL = ["tools", "prompts", "resources", "x:1", "x:2"];
const nameOf = (change: SharedChange) => (change.kind === "resource" ? change.uri : change.kind);

/** Changes of a server with some listeners, each with the changes that it was told. */
function create(t: TestContext, listeners: number) {
  const clock = new FakeClock();
  const state = createMemoryState({ clock });
  const node = state.node();
  t.after(() => node.close());
  const errors: unknown[] = [];
  let close = () => {};
  const changes = new ClusterChanges(node, new MemoryChangeBus(), {
    options: { stateKeys: [] },
    clock,
    watched: new Map([
      ["x:1", 1],
      ["x:2", 3],
    ]),
    report: (error) => errors.push(error),
    onClosing: (listener) => {
      close = listener;
      return () => {};
    },
  });
  const told = Array.from({ length: listeners }, () => [] as string[]);
  const leaves = told.map((names) => changes.subscribe((change) => names.push(nameOf(change))));
  const gap = () => {
    state.cut(node);
    state.mend(node);
  };
  const count = () => told.filter((names) => names.length > 0).length;
  return { changes, clock, close: () => close(), count, errors, gap, leaves, told };
}

test("after a gap, the listeners are told in groups over some seconds, each of each change once", (t) => {
  const { clock, count, gap, told } = create(t, 300);
  gap();
  equal(count(), 0);
  let largest = 0;
  for (let passed = 0; passed < SPREAD_MS; passed += 100) {
    const before = count();
    clock.advance(100);
    largest = Math.max(largest, count() - before);
  }
  equal(largest, 10);
  equal(count(), 300);
  clock.advance(10 * SPREAD_MS);
  for (const names of told) deepEqual(names, ALL);
  equal(clock.pending, 0);
});

test("several gaps tell each change once to the listeners that wait", (t) => {
  const { clock, gap, told } = create(t, 30);
  for (let gaps = 0; gaps < 5; gaps++) {
    gap();
    clock.advance(10);
  }
  clock.advance(10 * SPREAD_MS);
  for (const names of told) deepEqual(names, ALL);
});

test("a listener that was told before a further gap is told again in the next round, and no more", (t) => {
  const { clock, count, gap, told } = create(t, 30);
  gap();
  clock.advance(SPREAD_MS / 2);
  equal(count(), 15);
  for (let gaps = 0; gaps < 5; gaps++) gap();
  clock.advance(SPREAD_MS / 2);
  for (const names of told) deepEqual(names, ALL, "at most once in a round");
  clock.advance(10 * SPREAD_MS);
  deepEqual(
    told.map((names) => names.length / ALL.length),
    told.map((_, at) => (at < 15 ? 2 : 1)),
  );
});

test("a listener that leaves is not told, and one that throws harms no other", (t) => {
  const { changes, clock, errors, gap, leaves, told } = create(t, 3);
  const wrong = new Error("wrong");
  changes.subscribe(() => {
    throw wrong;
  });
  gap();
  leaves[1]?.();
  clock.advance(SPREAD_MS);
  deepEqual(told, [ALL, [], ALL]);
  deepEqual(errors, [wrong]);
});

test("a server that closes tells nobody of a gap", (t) => {
  const { clock, close, count, gap } = create(t, 3);
  gap();
  ok(clock.pending > 0);
  close();
  clock.advance(SPREAD_MS);
  equal(count(), 0);
  equal(clock.pending, 0);
});
