import { assertOwnPackage } from "../lib/builds.mjs";
import { cores, pin } from "../lib/pin.mjs";
import { wires } from "../workload/wires.mjs";
import { clientSubject, rawSubject, withSubjects } from "./subjects.mjs";

const call = "echo";
const concurrency = 16;

/** Time limit of a run whose calls are counted, not timed. */
const ms = 60_000;

/**
 * Slices of a window. Other programs are busy for parts of a window, so the builds alternate within it. A single slice
 * is too short for a comparison, since not every slice has its share of garbage collection.
 */
const slices = 20;

const warmUpTurns = 4;

/**
 * Measures two builds on a wire, `old` and `new` in `folders`. Returns the CPU microseconds per call of each pair of
 * windows, grouped by the processes that ran them: `[[{ old, new }, ...], ...]`. Two processes of the same code may
 * differ during their whole life, so each group has its own processes.
 */
export async function measurePairs(run, wire, folders) {
  const groups = [];
  pin(process.pid, cores.load);
  try {
    const sizes = groupSizes(run.pairs, run.pairsPerStart);
    for (const [index, count] of sizes.entries()) {
      run.progress.step(`start ${index + 1} of ${sizes.length}`);
      groups.push(await measureGroup(run, wire, folders, index, count));
    }
  } finally {
    pin(process.pid, undefined);
  }
  return groups;
}

/** Splits a number of pairs into groups of at most `size`. */
export function groupSizes(pairs, size) {
  return Array.from({ length: Math.ceil(pairs / size) }, (_, index) => Math.min(size, pairs - index * size));
}

/**
 * Measures one group. The build that starts first alternates by group, and the build that runs first alternates by
 * turn.
 */
function measureGroup(run, wire, folders, index, count) {
  const order = turn(["old", "new"], index);
  const start = wires[wire].transport === "memory" ? clientSubject : rawSubject;
  const starts = order.map((name) => () => start("bowline", wire, { name, folder: folders[name] }));
  return withSubjects(starts, async (subjects) => {
    for (const { name, child } of subjects) {
      assertOwnPackage(await child.ask("resolve", "bowline/server"), folders[name]);
    }
    await warmUp(run, subjects);
    const calls = await callsPerSlice(run, subjects[0]);
    const pairs = [];
    for (let pair = 0; pair < count; pair++) pairs.push(await measurePair(subjects, calls));
    return pairs;
  });
}

const turn = (pair, index) => (index % 2 === 0 ? pair : [pair[1], pair[0]]);

/**
 * Warms both builds up with the same number of calls, in turns. The engine compiles in the background and discards code
 * that it optimized wrongly, so a number of calls is not enough: the turns of each build last at least as long as
 * `run.warmUp` says.
 */
async function warmUp(run, subjects) {
  const most = Math.ceil(run.warmUp.calls / warmUpTurns);
  for (const subject of subjects) await subject.check(call);
  for (let index = 0; index < warmUpTurns; index++) {
    for (const subject of turn(subjects, index)) {
      const done = await subject.run(call, { concurrency, most, ms });
      const left = run.warmUp.ms / warmUpTurns - done.ms;
      if (left > 0) await subject.run(call, { concurrency, ms: left });
    }
  }
}

/** Returns the number of calls that take about as long as a slice. Both builds make this number. */
async function callsPerSlice(run, subject) {
  const { perSecond } = await subject.run(call, { concurrency, ms: run.windowMs });
  return Math.max(concurrency, Math.round((perSecond * run.windowMs) / 1000 / slices));
}

/** Measures a window of each build, in slices that alternate: old new, new old, ... */
async function measurePair(subjects, calls) {
  const spent = Object.fromEntries(subjects.map(({ name }) => [name, 0]));
  for (let slice = 0; slice < slices; slice++) {
    for (const subject of turn(subjects, slice)) spent[subject.name] += (await cpuPerCall(subject, calls)) / slices;
  }
  return spent;
}

async function cpuPerCall(subject, most) {
  const before = await subject.cpuMs();
  const { calls } = await subject.run(call, { concurrency, most, ms });
  return (((await subject.cpuMs()) - before) * 1000) / calls;
}
