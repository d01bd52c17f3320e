import { engineContract as engine, storeContract } from "#src/testing/contract/store-contract.js";
import type { Open } from "#src/testing/contract/world.js";
import { registerAs } from "./register.js";
import { timersContract } from "./timers.js";

export type { Open } from "#src/testing/contract/world.js";
export { fullContract } from "./full.js";
export { lostReplyContract } from "./lost-replies.js";

/** Registers the tests of what each form of a cluster promises. `open` creates the state of one test. */
export function contract(name: string, open: Open): void {
  storeContract({ test: registerAs(name), open });
  timersContract(registerAs(name), open);
}

/** Registers the tests of a cluster whose engine ends and starts again. */
export function engineContract(name: string, open: Open): void {
  engine({ test: registerAs(name), open });
}
