import { parentPort, workerData } from "node:worker_threads";
import type { Break } from "./engine/state.js";
import { simulate } from "./simulation.js";

/** Runs the seeds that its parent names, and reports each outcome. */
const { broken } = workerData as { readonly broken: Break | undefined };

parentPort?.on("message", async ({ from, count }: { readonly from: number; readonly count: number }) => {
  const outcomes = [];
  for (let seed = from; seed < from + count; seed++) outcomes.push(await simulate(seed, { broken }));
  parentPort?.postMessage(outcomes);
});
parentPort?.postMessage([]);
