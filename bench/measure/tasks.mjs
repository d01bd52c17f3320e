import { Child } from "../lib/child.mjs";
import { withEngine } from "../lib/engines.mjs";
import { spread } from "../lib/stats.mjs";

const megabyte = 1_048_576;
const waiting = 100_000;
/** Tasks that wait before the first measurement, so that tables, indexes and code exist. */
const first = 1_000;
/** Time after which timers of requests have ended. */
const quietMs = 16_000;

const callsPerSlice = 1_600;
const warmUpCalls = 16_000;

/**
 * Measures what tasks cost: `{ waiting: { engine: { heapMb, timers, perSecond } }, promotion: { plainUs, moreUs } }`.
 * `heapMb` and `timers` are what a hundred thousand tasks that wait for an answer add to the process. `moreUs` is the
 * CPU time that `promoteAfterMs` adds to a call that ends in time.
 */
export async function measureTasks(run) {
  const promotion = await withHost(["memory"], (host) => measurePromotion(run, host));
  const result = { memory: await withHost(["memory"], (host) => measureWaiting(run, "memory", host)) };
  for (const name of ["redis", "sqlite"]) {
    const measured = await withEngine(run, name, (url) =>
      withHost([name, url], (host) => measureWaiting(run, name, host)),
    );
    if (measured !== undefined) result[name] = measured;
  }
  return { promotion, waiting: result };
}

async function withHost(args, use) {
  const child = new Child("tasks", args, {});
  try {
    await child.ready;
    return await use(child);
  } finally {
    await child.stop();
  }
}

async function measureWaiting(run, engine, host) {
  run.progress.step(`${engine}, ${waiting} tasks that wait`);
  const timers = await host.ask("timers");
  await host.ask("wait", first);
  const before = await host.ask("settled");
  const begun = performance.now();
  await host.ask("wait", waiting);
  const seconds = (performance.now() - begun) / 1000;
  await new Promise((resolve) => setTimeout(resolve, quietMs));
  const after = await host.ask("settled");
  return {
    heapMb: spread([(after.heap - before.heap) / megabyte]),
    timers: spread([(await host.ask("timers")) - timers]),
    perSecond: spread([waiting / seconds]),
  };
}

/** Measures both tools in turns. The tool that is first alternates. */
async function measurePromotion(run, host) {
  const tools = ["plain", "prompt"];
  for (const tool of [...tools, ...tools]) await host.ask("cpuUs", tool, warmUpCalls);
  const samples = [];
  for (let turn = 0; turn < 8 * run.rounds; turn++) {
    run.progress.step(`promotion, turn ${turn + 1}`);
    const sample = {};
    for (const tool of turn % 2 === 0 ? tools : tools.toReversed())
      sample[tool] = await host.ask("cpuUs", tool, callsPerSlice);
    samples.push(sample);
  }
  return {
    plainUs: spread(samples.map(({ plain }) => plain)),
    moreUs: spread(samples.map(({ plain, prompt }) => prompt - plain)),
  };
}
