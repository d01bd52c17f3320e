import { bucketsContract } from "./buckets.js";
import { busContract } from "./bus.js";
import { closeContract } from "./close.js";
import { followContract } from "./follow.js";
import { leasesContract } from "./leases.js";
import { logLimitsContract } from "./log-limits.js";
import { logsContract } from "./logs.js";
import { queueContract } from "./queue.js";
import { recordsContract } from "./records.js";
import { textsContract } from "./texts.js";
import { casesOf, type Open } from "./world.js";

export { engineContract } from "./engine.js";
export { fullContract } from "./full.js";
export { lostReplyContract } from "./lost-replies.js";
export type { Open } from "./world.js";

/** Registers the tests of what each form of a cluster promises. `open` creates the state of one test. */
export function contract(name: string, open: Open): void {
  const add = casesOf(name, open);
  recordsContract(add);
  logsContract(add);
  logLimitsContract(add);
  followContract(add);
  busContract(add);
  leasesContract(add);
  queueContract(add);
  bucketsContract(add);
  textsContract(add);
  closeContract(add);
}
