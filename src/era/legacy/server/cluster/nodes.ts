import { type Clock, unref } from "../../../../call/clock.js";
import type { Cluster } from "../../../../cluster/cluster.js";
import { Presence } from "../../../../cluster/presence.js";
import { each } from "../../../../cluster/update.js";

/** Index of the processes that serve sessions. */
const NODES = "nodes";
/** Start of the keys and leases of processes. */
const PREFIX = "nodes/";
/** Number of looks at another process during the lifetime of a lease. */
const LOOKS = 10;
/** Number of living processes at which each process looks. The nearest may have started a moment ago, and not look yet. */
const LIVING = 2;
/** Number of times that the list is read during the lifetime of a lease. */
const READS = 2;

export interface NodesOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly leaseMs: number;
  /** Ends the calls of a process that has died. */
  onDead(node: string): Promise<void>;
  /** True if this process has ended all streams that it has to end. */
  leavesNothing(): boolean;
  /** Called when this process has its lease again, after others may have declared it dead. */
  onReturned(): void;
  report(error: unknown): void;
}

/**
 * Processes that serve sessions. Each one has a lease. A process looks at its predecessor in the list of all: when it
 * can acquire the predecessor's lease, the predecessor is dead, and no other process declares it dead at the same time.
 */
export class Nodes {
  readonly #options: NodesOptions;
  readonly #presence: Presence;
  #isListed = false;
  #timer: unknown;
  #looking: Promise<void> | undefined;
  /** Other processes, beginning with the one before this process. */
  #predecessors: readonly string[] = [];
  /** Time at which the list was read. */
  #readAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(options: NodesOptions) {
    const { cluster, clock, leaseMs, onReturned } = options;
    this.#options = options;
    const onHeld = () => {
      this.#isListed = false;
      onReturned();
    };
    this.#presence = new Presence({ cluster, clock, leaseMs, prefix: PREFIX, name: cluster.node, onHeld });
    this.#look();
  }

  /** True if the process is listed, or its death has not been noticed yet. */
  async isListed(node: string): Promise<boolean> {
    return (await this.#options.cluster.records.get(keyOf(node))) !== undefined;
  }

  /**
   * Lists this process, unless it is listed. A process must not begin calls before, since no other one would end them
   * after its death. It is listed even if it cannot acquire its lease at present.
   */
  enlist(): Promise<void> | undefined {
    // Other processes remove one from the list that has lost its lease.
    if (this.#presence.isLost) this.#isListed = false;
    if (this.#isListed) return undefined;
    // Without a lease, it would be declared dead.
    return this.#looking?.then(() => this.#presence.hold()).then(() => this.#enlist());
  }

  /** Removes this process from the list, unless another one has to end its streams. */
  async close(): Promise<void> {
    this.#closed = true;
    const { cluster, clock, leavesNothing } = this.#options;
    clock.cancel(this.#timer);
    await this.#looking;
    try {
      if (this.#isListed && leavesNothing()) await cluster.records.delete(keyOf(cluster.node));
    } finally {
      await this.#presence.close();
    }
  }

  #look(): void {
    const { clock, leaseMs, report } = this.#options;
    this.#looking = this.#lookOnce().catch((error: unknown) => {
      this.#presence.onAway();
      report(error);
    });
    this.#looking.then(() => {
      if (this.#closed) return;
      this.#timer = clock.schedule(() => this.#look(), leaseMs / LOOKS);
      unref(this.#timer);
    });
  }

  async #lookOnce(): Promise<void> {
    if (!this.#options.cluster.available) return this.#presence.onAway();
    if (!(await this.#presence.hold())) return;
    await this.#enlist();
    if (this.#presence.isSteady) await this.#endPredecessors();
  }

  async #enlist(): Promise<void> {
    const { records, node } = this.#options.cluster;
    if (this.#isListed) return;
    await records.put(keyOf(node), "", { index: [{ index: NODES, score: 0 }] });
    this.#isListed = true;
  }

  /** Looks at the predecessors in the list, until two of them are alive. */
  async #endPredecessors(): Promise<void> {
    const { cluster, clock, leaseMs, onDead } = this.#options;
    if (clock.now() - this.#readAt >= leaseMs / READS) {
      this.#predecessors = await this.#readPredecessors();
      this.#readAt = clock.now();
    }
    let living = 0;
    for (const node of this.#predecessors) {
      if (this.#closed || !this.#presence.isHeld) return;
      const lease = await this.#presence.inherit(node);
      if (lease === undefined) {
        if (++living === LIVING) return;
        continue;
      }
      this.#readAt = Number.NEGATIVE_INFINITY;
      try {
        // It may have left, or another process was faster.
        if (!(await this.isListed(node))) continue;
        await onDead(node);
        if (!lease.lost.aborted) await cluster.records.delete(keyOf(node));
      } finally {
        await lease.release();
      }
    }
  }

  /** Returns the other processes, beginning with the one before this process. */
  async #readPredecessors(): Promise<readonly string[]> {
    const { cluster } = this.#options;
    const nodes: string[] = [];
    for await (const { key } of each(cluster.records, NODES)) nodes.push(key.slice(PREFIX.length));
    const own = nodes.indexOf(cluster.node);
    return [...nodes.slice(0, Math.max(own, 0)).reverse(), ...nodes.slice(own + 1).reverse()];
  }
}

function keyOf(node: string): string {
  return `${PREFIX}${node}`;
}
