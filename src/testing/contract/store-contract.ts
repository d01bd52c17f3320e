import { assertOptions, type Known } from "../../protocol/known-options.js";
import { bucketsContract } from "./buckets.js";
import { busContract } from "./bus.js";
import { closeContract } from "./close.js";
import { engineCases } from "./engine.js";
import { followContract } from "./follow.js";
import { leasesContract } from "./leases.js";
import { logLimitsContract } from "./log-limits.js";
import { logsContract } from "./logs.js";
import { queueContract } from "./queue.js";
import { recordsContract } from "./records.js";
import { storesContract } from "./stores.js";
import { textsContract } from "./texts.js";
import { casesOf, type Open, type Register } from "./world.js";

export interface StoreContractOptions {
  /** Registers a test, such as `test` of `node:test` or of another runner. A test takes up to a minute. */
  readonly test: Register;
  /** Opens the state of one test. Its nodes are clusters of the store, as `storeCluster` creates them. */
  readonly open: Open;
}

const OPTIONS: Known<StoreContractOptions> = {
  test: [{ function: "any" }, "required"],
  open: [{ function: "any" }, "required"],
};

/** Registers the tests of what each cluster promises, and so each store. */
export function storeContract(options: StoreContractOptions): void {
  assertOptions({ storeContract }, options, OPTIONS);
  const { test, open } = options;
  const add = casesOf(test, open);
  recordsContract(add);
  logsContract(add);
  logLimitsContract(add);
  followContract(add);
  busContract(add);
  leasesContract(add);
  queueContract(add);
  bucketsContract(add);
  textsContract(add);
  storesContract(add);
  closeContract(add);
}

/** Registers the tests of a cluster whose engine ends and starts again. The world has an `engine`. */
export function engineContract(options: StoreContractOptions): void {
  assertOptions({ engineContract }, options, OPTIONS);
  const { test, open } = options;
  engineCases(casesOf(test, open));
}
