import { contract, engineContract, type Open } from "../contract/contract.js";
import { Dice } from "./dice.js";
import { SimEngine } from "./engine/engine.js";
import { SimProcess } from "./process.js";
import { Scheduler } from "./scheduler.js";

/** Runs what is due in the next turn of the event loop. Later events wait for `runUntil`. */
class EagerScheduler extends Scheduler {
  override schedule(callback: () => void, ms: number) {
    if (ms <= 0) setImmediate(() => this.runUntil(this.now()));
    return super.schedule(callback, ms);
  }
}

const open: Open = () => {
  const scheduler = new EagerScheduler();
  const engine = new SimEngine({ scheduler, dice: new Dice(1), isInstant: true });
  return {
    node: () => engine.connect(new SimProcess("n", scheduler)),
    crash: (node) => engine.find(node).cut(),
    elapse: (ms) => scheduler.runUntil(scheduler.now() + ms),
    engine: { kill: () => engine.stop(), start: () => engine.start() },
  };
};

contract("simulated", open);
engineContract("simulated", open);
