import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Cluster } from "#src/cluster/cluster.js";
import { MessageStore } from "#src/cluster/messages/store.js";
import { StoreCluster } from "#src/cluster/store-cluster.js";
import { FakeClock } from "../fake-clock.js";
import type { Order, Report } from "./message-host.js";

const PROGRAM = fileURLToPath(new URL("./message-host.js", import.meta.url));

/** Step of time in which both processes exchange their messages. */
const STEP_MS = 50;

/** Node of a test, with its number at the host. */
export interface MessageNode {
  readonly number: number;
  readonly store: MessageStore;
  readonly cluster: Cluster;
}

/** Process that hosts the states of tests. */
export class MessageHost {
  readonly #child: ChildProcess = fork(PROGRAM);
  readonly #nodes = new Map<number, (report: Report) => void>();
  readonly #worlds = new Map<number, () => void>();
  #numbers = 0;

  constructor() {
    this.#child.on("message", (report: Report) => {
      if (report.kind === "advanced") this.#worlds.get(report.world)?.();
      else this.#nodes.get(report.node)?.(report);
    });
  }

  open(): MessageWorld {
    return new MessageWorld(this, ++this.#numbers);
  }

  order(order: Order, written?: () => void): void {
    this.#child.send(order, () => written?.());
  }

  connect(world: number, clock: FakeClock): Promise<MessageNode> {
    const number = ++this.#numbers;
    return new Promise((resolve) => {
      let store: MessageStore | undefined;
      this.#nodes.set(number, (report) => {
        if (report.kind === "batch") store?.receive(report.batch);
        if (report.kind !== "connected") return;
        const link = {
          later: setImmediate,
          send: (batch: Extract<Order, { kind: "batch" }>["batch"], written: () => void) =>
            this.order({ kind: "batch", node: number, batch }, written),
        };
        store = new MessageStore(link, clock);
        resolve({ number, store, cluster: new StoreCluster(store, { node: report.name, clock }) });
      });
      this.order({ kind: "connect", world, node: number });
    });
  }

  advance(world: number, ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#worlds.set(world, resolve);
      this.order({ kind: "advance", world, ms });
    });
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
  }
}

/** State of one test in the process of a host. Both processes have fake clocks. */
export class MessageWorld {
  readonly #host: MessageHost;
  readonly #world: number;
  readonly #nodes = new Map<Cluster, MessageNode>();
  readonly clock = new FakeClock();

  constructor(host: MessageHost, world: number) {
    this.#host = host;
    this.#world = world;
  }

  readonly node = async (): Promise<Cluster> => {
    const node = await this.#host.connect(this.#world, this.clock);
    this.#nodes.set(node.cluster, node);
    return node.cluster;
  };

  /** Returns the store of a node, which takes the messages of the host. */
  storeOf(node: Cluster): MessageStore {
    return (this.#nodes.get(node) as MessageNode).store;
  }

  readonly crash = (node: Cluster): void => this.order("mute", node);

  /** Closes a node. Time passes, since the host may not answer it. */
  readonly close = async (node: Cluster): Promise<void> => {
    let isClosed = false;
    const closing = node.close().finally(() => {
      isClosed = true;
    });
    while (!isClosed) await this.elapse(STEP_MS);
    await closing;
  };

  readonly elapse = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= STEP_MS) {
      this.clock.advance(Math.min(left, STEP_MS));
      // Messages of the timers are sent before the clock of the host goes on.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      await this.#host.advance(this.#world, Math.min(left, STEP_MS));
    }
  };

  /** Lets time pass while this process is stopped. Its timers are late. */
  async stop(ms: number): Promise<void> {
    await this.#host.advance(this.#world, ms);
    const { clock } = this;
    const now = clock.now.bind(clock);
    clock.now = () => now() + ms;
  }

  order(kind: "mute" | "end" | "hold" | "read", node: Cluster): void {
    this.#host.order({ kind, node: (this.#nodes.get(node) as MessageNode).number });
  }
}
