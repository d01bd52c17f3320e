import { parentPort, workerData } from "node:worker_threads";
import type { Break } from "./engine/breaks.js";
import { kindOf, simulate } from "./simulation.js";

/**
 * Runs the seeds that its parent names, and reports each outcome. With a broken safeguard, a failure counts only if the
 * seed holds with the safeguard.
 */
const { broken } = workerData as { readonly broken: Break | undefined };

parentPort?.on("message", async ({ from, count }: { readonly from: number; readonly count: number }) => {
  const outcomes = [];
  for (let seed = from; seed < from + count; seed++) {
    const outcome = await simulate(seed, { broken });
    const isCaught = broken !== undefined && outcome.violations.length > 0;
    const { violations } = isCaught ? await simulate(seed, { kind: kindOf(seed, broken) }) : { violations: [] };
    outcomes.push(violations.length === 0 ? outcome : { ...outcome, violations: [] });
  }
  parentPort?.postMessage(outcomes);
});
parentPort?.postMessage([]);
