import { ClusterError } from "../error.js";

/** Connection of a node to the state in memory. */
export class Link {
  /** Random name of the node. */
  readonly node: string = crypto.randomUUID();
  /** Iterations that wait on this node. */
  readonly waiters = new Set<{ wake(): void }>();
  isUp = true;
  isClosed = false;

  /** Throws if the node has lost the state. Each operation calls it first. */
  check(): void {
    if (!this.isUp) throw this.#loss();
  }

  /** Wakes the iterations, so that they look at the link again. */
  change(isUp: boolean, isClosed: boolean): void {
    this.isUp = isUp;
    this.isClosed = isClosed;
    for (const waiter of this.waiters) waiter.wake();
  }

  #loss(): ClusterError {
    const text = this.isClosed
      ? "is closed; create a new node for further operations"
      : "is cut off from its state; it resumes after mend()";
    return new ClusterError("unavailable", `node ${this.node} of the cluster in memory ${text}`);
  }
}
