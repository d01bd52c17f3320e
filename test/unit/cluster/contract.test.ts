import type { Cluster } from "#src/cluster/cluster.js";
import { createMemoryState } from "#src/cluster/memory/state.js";
import { contract, engineContract, type Open } from "../../contract/contract.js";
import { elapse, FakeClock } from "../../support/fake-clock.js";

/** World on a fake clock. The engine is the connection of all nodes. */
const open: Open = () => {
  const clock = new FakeClock();
  const state = createMemoryState({ clock });
  const nodes: Cluster[] = [];
  const each = (change: (node: Cluster) => void) => () => nodes.forEach(change);
  return {
    node: () => {
      const node = state.node();
      nodes.push(node);
      return node;
    },
    crash: state.cut,
    elapse: (ms) => elapse(clock, ms),
    engine: { kill: each(state.cut), start: each(state.mend) },
  };
};

contract("memory", open);
engineContract("memory", open);
