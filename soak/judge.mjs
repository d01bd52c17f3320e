const MIB = 1024 * 1024;
/** Minimum counts of a run of ten minutes. */
const FLOORS = { seconds: 600, calls: 100_000, outages: 1_000 };
const HEAP = { share: 0.05, bytes: 2 * MIB };

/** Returns the minimum counts of a run of this many seconds. */
export function floorsOf(seconds) {
  const scale = Math.min(1, seconds / FLOORS.seconds);
  return { calls: Math.floor(FLOORS.calls * scale), outages: Math.floor(FLOORS.outages * scale) };
}

/** Returns all problems of a run, one line each. Empty if it passes. */
export function judge({ before, after, closed, lanes, floods, floors }) {
  return [
    ...lanes.flatMap(({ name, unexpected, messages }) =>
      unexpected === 0 ? [] : messages.map(({ message, count }) => `${name}: ${count} x ${message}`),
    ),
    ...growthOf("the process", before, after),
    ...Object.entries(before.children).flatMap(([name, child]) =>
      growthOf(`the child of ${name}`, child, after.children[name]),
    ),
    ...Object.entries(before.stats).flatMap(([name, stats]) =>
      differences(`stats() of ${name}`, stats, after.stats[name]),
    ),
    ...differences("handles after everything is closed", closed.expected, closed.handles),
    ...floods
      .filter(({ refuses, refused, times }) => refuses && times > 0 && refused === 0)
      .map(({ name, bound }) => `a flood of ${name} was never refused (${bound})`),
    ...Object.entries(floors)
      .filter(([what, floor]) => sum(lanes, what) < floor)
      .map(([what, floor]) => `${sum(lanes, what)} ${what} were made; the floor is ${floor}`),
  ];
}

/** True if the heap has not grown by more than its allowance. */
export function isHeapWithin(before, after) {
  return after - before <= Math.max(HEAP.bytes, before * HEAP.share);
}

export const sum = (lanes, what) => lanes.reduce((total, lane) => total + lane[what], 0);

function growthOf(whose, before, after) {
  const grown = isHeapWithin(before.heap, after.heap)
    ? []
    : [`the heap of ${whose} grew from ${before.heap} to ${after.heap} bytes`];
  const sockets = differences(`sockets of ${whose}`, { open: before.sockets ?? 0 }, { open: after.sockets ?? 0 });
  return [...grown, ...differences(`handles of ${whose}`, before.handles, after.handles), ...sockets];
}

function differences(what, before, after) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names
    .filter((name) => (before[name] ?? 0) !== (after[name] ?? 0))
    .map((name) => `${what}: ${name} was ${before[name] ?? 0} and is ${after[name] ?? 0}`);
}
