import type { Cluster } from "#src/cluster/cluster.js";
import { contract, engineContract, type Open } from "../contract/contract.js";
import { Dice } from "./dice.js";
import { SimEngine } from "./engine/engine.js";
import { connect } from "./engine/store.js";
import { SimProcess } from "./process.js";
import { Scheduler } from "./scheduler.js";

/** Runs what is due in the next turn of the event loop. Later events wait for `runUntil`. */
class EagerScheduler extends Scheduler {
  override schedule(callback: () => void, ms: number) {
    if (ms <= 0) setImmediate(() => this.runUntil(this.now()));
    return super.schedule(callback, ms);
  }
}

/** Time in which nodes connect again. */
const RECONNECT_MS = 2_500;

const open: Open = () => {
  const scheduler = new EagerScheduler();
  const engine = new SimEngine({ scheduler, dice: new Dice(1), isInstant: true });
  const processes = new Map<Cluster, SimProcess>();
  return {
    node: async () => {
      const process = new SimProcess(`n${processes.size}`, scheduler);
      const cluster = connect(engine, process);
      processes.set(cluster, process);
      await cluster.ready;
      return cluster;
    },
    crash: (node) => engine.cut(processes.get(node) as SimProcess),
    elapse: (ms) => scheduler.runUntil(scheduler.now() + ms),
    engine: {
      kill: () => engine.stop(),
      start: () => {
        engine.start();
        return scheduler.runUntil(scheduler.now() + RECONNECT_MS);
      },
    },
  };
};

contract("simulated", open);
engineContract("simulated", open);
