import type { MaybePromise } from "../call/maybe-promise.js";
import type { Cluster } from "./cluster.js";

/** Change of a list or a resource. */
type Change = { readonly kind: "tools" | "prompts" | "resources" } | { readonly kind: "resource"; readonly uri: string };

/** Bus of changes inside a process. */
interface LocalChanges {
  publish(change: Change): void;
  subscribe(listener: (change: Change) => void): () => void;
}

/** Parts of a server that the bus of changes uses. */
export interface ChangingServer {
  /** Number of subscribers by resource URI. */
  readonly watched: ReadonlyMap<string, number>;
  report(error: unknown, where: { readonly where: string }): void;
  onClosing(listener: () => void): () => void;
}

const TOPIC = "changes";
const LISTS = ["tools", "prompts", "resources"] as const;

/**
 * Connects the changes of a server with the servers of the other processes. A change that is published in one process
 * reaches the listeners of all. After a gap, every list and every watched resource counts as changed.
 */
export class ClusterChanges implements LocalChanges {
  readonly #cluster: Pick<Cluster, "bus">;
  readonly #local: LocalChanges;
  readonly #server: ChangingServer;
  #stop: MaybePromise<() => MaybePromise<void>> | undefined;

  constructor(cluster: Pick<Cluster, "bus">, local: LocalChanges, server: ChangingServer) {
    this.#cluster = cluster;
    this.#local = local;
    this.#server = server;
    const { bus } = cluster;
    this.#attempt(() => {
      this.#stop = bus.subscribe(TOPIC, (text) => this.#receive(text));
      return this.#stop;
    });
    const forgetGaps = bus.onGap(() => this.#onGap());
    server.onClosing(() => {
      forgetGaps();
      this.#attempt(async () => (await this.#stop)?.());
    });
  }

  publish(change: Change): void {
    this.#attempt(() => this.#cluster.bus.publish(TOPIC, JSON.stringify(change)));
  }

  subscribe(listener: (change: Change) => void): () => void {
    return this.#local.subscribe(listener);
  }

  #receive(text: string): void {
    const change = JSON.parse(text) as Change;
    this.#local.publish(change);
  }

  #onGap(): void {
    for (const kind of LISTS) this.#local.publish({ kind });
    for (const uri of [...this.#server.watched.keys()]) this.#local.publish({ kind: "resource", uri });
  }

  /** Reports a failure. A change that could not be published is a gap for this process too. */
  #attempt(work: () => MaybePromise<unknown>): void {
    const report = (error: unknown) => this.#server.report(error, { where: "cluster" });
    try {
      const result = work();
      if (result instanceof Promise) result.catch(report);
    } catch (error) {
      report(error);
    }
  }
}
