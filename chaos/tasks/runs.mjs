/** Entries that end a run of a handler. A run without one was lost with its process. */
const ENDS = new Set(["end", "park", "abort"]);

/**
 * Returns the runs of each task by its number. A run has its node, its tool, its entries, and `ending`, the kind of the entry that
 * ended it. A worker runs a task at most once at a time.
 */
export function indexRuns(truth) {
  const tasks = new Map();
  for (const [place, entry] of truth.entries()) {
    const runs = tasks.get(entry.number) ?? [];
    tasks.set(entry.number, runs);
    if (entry.kind === "begin")
      runs.push({ node: entry.node, tool: entry.step, at: entry.at, entries: [], ending: undefined });
    const run = runs.findLast(({ node }) => node === entry.node);
    if (run === undefined) continue;
    run.entries.push({ ...entry, place });
    if (ENDS.has(entry.kind)) Object.assign(run, { ending: entry.kind, endedAt: entry.at });
  }
  return (number) => tasks.get(number) ?? [];
}

/** Returns all entries of a kind of some runs, in their order. */
export function entriesOf(runs, kind) {
  const entries = runs.flatMap((run) => run.entries.map((entry) => ({ ...entry, run })));
  return entries.filter((entry) => entry.kind === kind).sort((one, other) => one.place - other.place);
}

/** True if a run was on a worker at a time. */
export function wasRunning({ node, at, endedAt = Number.POSITIVE_INFINITY }, where, when) {
  return node === where && at <= when && when < endedAt;
}
