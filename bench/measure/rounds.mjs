import { isNoisy, othersBetween, quiet, snapshot } from "../lib/noise.mjs";
import { cores, pin } from "../lib/pin.mjs";
import { tabulate } from "./tabulate.mjs";

/**
 * Measures each cell (`{ call, concurrency, ms }`) of a plan for every subject, in rounds in which the subjects take
 * turns, so that a disturbance of the machine affects all of them. Returns the result of `tabulate`.
 */
export async function measure(run, subjects, plan, floor) {
  await warmUp(run, subjects, plan);
  await quiet(run.patience);
  pin(process.pid, cores.load);
  try {
    const cells = {};
    for (const cell of plan) cells[nameOf(cell)] = await measureCell(run, subjects, cell);
    return tabulate(cells, floor);
  } finally {
    pin(process.pid, undefined);
  }
}

const nameOf = ({ call, concurrency }) => `${call}@${concurrency}`;

/**
 * Checks every response once before any is timed. Code is compiled by how often it runs: slow subjects get the time for
 * this number of calls, fast ones make as many calls as the time allows.
 */
async function warmUp(run, subjects, plan) {
  const { calls: most, ms } = run.warmUp;
  for (const subject of subjects) {
    run.progress.step(`warming up ${subject.name}`);
    const calls = [...new Set(plan.map(({ call }) => call))].filter((call) => subject.can.includes(call));
    for (const call of calls) {
      const remark = await subject.check(call);
      if (remark !== undefined) run.remark(`${subject.name}: ${remark}`);
      if (call === "echo") {
        await subject.run(call, { concurrency: 16, most, ms });
        await subject.run(call, { concurrency: 16, ms: ms / 3 });
      } else await subject.run(call, { concurrency: 16, most: most / 20, ms: ms / 2 });
    }
  }
}

async function measureCell(run, subjects, cell) {
  const able = subjects.filter(({ can }) => can.includes(cell.call));
  const series = Object.fromEntries(able.map(({ name }) => [name, []]));
  for (let round = 0; round < run.rounds; round++) {
    for (let turn = 0; turn < able.length; turn++) {
      const subject = able[(turn + round) % able.length];
      run.progress.step(`${nameOf(cell)}, round ${round + 1} of ${run.rounds}, ${subject.name}`);
      series[subject.name].push(await measureWindow(run, subject, cell));
    }
  }
  return series;
}

/** Measures one window. If other programs disturbed it, measures a second one and takes the quieter of the two. */
async function measureWindow(run, subject, cell) {
  const first = await oneWindow(subject, cell);
  run.windows.all++;
  if (!isNoisy(first.others)) return first;
  run.windows.noisy++;
  if (run.patience.ms <= 0) return first;
  run.windows.again++;
  await quiet(run.patience);
  const second = await oneWindow(subject, cell);
  return second.others < first.others ? second : first;
}

async function oneWindow(subject, { call, ...options }) {
  const before = snapshot();
  const start = await subject.cpuMs();
  const result = await subject.run(call, options);
  const end = await subject.cpuMs();
  return {
    perSecond: result.perSecond,
    p50Us: result.p50 * 1000,
    p99Us: result.p99 * 1000,
    cpuUs: ((end - start) * 1000) / result.calls,
    others: othersBetween(before, snapshot()),
  };
}
