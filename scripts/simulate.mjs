import { availableParallelism } from "node:os";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { at, wantsJson } from "./lib/project.mjs";

/**
 * Runs servers, clients and faults over a simulated engine and clock: `node scripts/simulate.mjs [--seeds 10000]
 * [--from 1] [--seed <number>] [--break <safeguard>] [--json]`. A seed decides everything, so that a failing one can be
 * run again. Odd seeds have sessions and even seeds have tasks. `--seed` runs one seed alone and prints its trace.
 * `--break` switches a safeguard off, of the engine (fence, end, gap, answer, wake, drop), of tasks (lease, journal,
 * requeue), or all of them one after another; then a seed that fails is expected within 500.
 */
const { values: options } = parseArgs({
  options: {
    seeds: { type: "string" },
    seed: { type: "string" },
    from: { type: "string", default: "1" },
    break: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const BREAKS = ["fence", "end", "gap", "answer", "wake", "drop", "lease", "journal", "requeue"];
const CHUNK = 20;
const json = wantsJson();
const broken = options.break === "all" ? BREAKS : options.break === undefined ? [undefined] : [options.break];
for (const name of broken)
  if (name !== undefined && !BREAKS.includes(name)) fail(`--break ${name}: use ${BREAKS.join(", ")} or all`);
const start = performance.now();

if (options.seed !== undefined) await replay(numberOf("seed"));
else report(await runAll());

function numberOf(name, otherwise) {
  const number = Number(options[name] ?? otherwise);
  if (!Number.isSafeInteger(number) || number < 0) fail(`--${name} must be a whole number`);
  return number;
}

function fail(message) {
  console.error(message);
  process.exit(2);
}

async function runAll() {
  const runs = [];
  for (const name of broken) runs.push({ broken: name, ...(await runSeeds(name)) });
  return runs;
}

/** Runs the seeds on all cores. With a broken safeguard it ends at the first seed that fails. */
async function runSeeds(broken) {
  const from = numberOf("from");
  const end = from + numberOf("seeds", broken === undefined ? 10_000 : 500);
  const failures = [];
  const counts = {};
  let next = from;
  let seeds = 0;
  const isOver = () => next >= end || (broken !== undefined && failures.length > 0);
  const take = (outcomes) => {
    for (const outcome of outcomes) {
      seeds++;
      for (const [name, count] of Object.entries(outcome.counts)) counts[name] = (counts[name] ?? 0) + count;
      if (outcome.violations.length > 0) failures.push(outcome);
      if (outcome.violations.length > 0 && !json && broken === undefined) console.log(`FAIL ${lineOf(outcome)}`);
    }
  };
  const work = () =>
    new Promise((resolve, reject) => {
      const worker = new Worker(pathToFileURL(at("build/test/simulation/worker.js")), { workerData: { broken } });
      worker.on("error", reject);
      worker.on("message", (outcomes) => {
        take(outcomes);
        if (isOver()) return resolve(worker.terminate());
        const count = Math.min(CHUNK, end - next);
        worker.postMessage({ from: next, count });
        next += count;
      });
    });
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  failures.sort((one, other) => one.seed - other.seed);
  return { seeds, failures, counts };
}

async function replay(seed) {
  const { simulate } = await import(pathToFileURL(at("build/test/simulation/simulation.js")));
  const outcome = await simulate(seed, { broken: broken[0], onLine: json ? undefined : (line) => console.log(line) });
  if (json) console.log(JSON.stringify(outcome, null, 2));
  else console.log(outcome.violations.length === 0 ? `seed ${seed} holds` : lineOf(outcome));
  process.exitCode = outcome.violations.length === 0 ? 0 : 1;
}

function lineOf({ seed, violations: [{ invariant, text }], faults }) {
  return `seed ${seed}: ${invariant}: ${text.replaceAll("\n", " ").slice(0, 400)} (faults: ${faults.join(", ") || "none"})`;
}

/** Prints the runs. A run counts as one test; a run without a broken safeguard fails once per seed. */
function report(runs) {
  const isGood = ({ broken, failures }) => (broken === undefined) === (failures.length === 0);
  const ok = runs.every(isGood);
  process.exitCode = ok ? 0 : 1;
  const ms = Math.round(performance.now() - start);
  if (json) return console.log(JSON.stringify({ ok, ms, runs }, null, 2));
  for (const { broken, seeds, failures, counts } of runs) {
    if (broken === undefined) {
      for (const [name, count] of Object.entries(counts).sort()) console.log(`${String(count).padStart(10)} ${name}`);
      console.log(`${seeds} seeds, ${failures.length} with a broken invariant, ${(ms / 1000).toFixed(1)} s`);
    } else if (failures.length === 0) console.log(`FAIL without ${broken}: not caught in ${seeds} seeds`);
    else console.log(`without ${broken}: caught by ${lineOf(failures[0])}`);
  }
  const failed = runs.reduce((sum, run) => sum + (isGood(run) ? 0 : Math.max(1, run.failures.length)), 0);
  console.log(`\n${runs.filter(isGood).length} passed, ${failed} failed`);
}
