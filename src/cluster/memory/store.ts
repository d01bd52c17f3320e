import { MemoryBuckets } from "../../call/buckets.js";
import { systemClock } from "../../call/clock.js";
import { ClusterError } from "../error.js";
import { OPEN_PAGE, type Store, type StoreEvents, type StoreLogs, type TakenTokens } from "../store.js";
import { Expiries } from "./expiries.js";
import { limitsOf, type MemoryClusterOptions } from "./limits.js";
import { LogTable } from "./logs.js";
import { RecordTable } from "./records.js";

/** Engine in memory, whose nodes are in this process. */
export class MemoryEngine {
  readonly records: RecordTable;
  readonly logs: LogTable;
  readonly #expiries: Expiries;
  readonly #buckets: MemoryBuckets;
  readonly #nodes = new Set<MemoryStore>();
  /** Texts that were sent while others are delivered. They come after those. */
  readonly #texts: string[] = [];
  #isDelivering = false;

  constructor(options: MemoryClusterOptions = {}) {
    const limits = limitsOf(options);
    const { clock = systemClock } = options;
    this.#expiries = new Expiries(clock);
    this.records = new RecordTable(this.#expiries, limits.maxRecords, limits.maxRecordedChars);
    this.logs = new LogTable(this.#expiries, limits.maxLogs, limits.maxLoggedChars);
    this.#buckets = new MemoryBuckets({ maxKeys: limits.maxBuckets, clock });
  }

  /** Numbers of what is kept. */
  get sizes() {
    const { records, logs } = this;
    return {
      ...records.sizes,
      ...logs.sizes,
      chars: logs.chars,
      expiries: this.#expiries.size,
      stores: this.#nodes.size,
    };
  }

  takeTokens(key: string, burst: number, refillMs: number, want: number): TakenTokens {
    for (let given = 0; ; given++) {
      const { ok, retryInMs } = given < want ? this.#buckets.take(key, { burst, refillMs }) : NO_MORE;
      if (!ok) return { given, retryInMs };
    }
  }

  /** Delivers texts to all nodes, each to all before the next. */
  send(...texts: readonly string[]): void {
    this.#texts.push(...texts);
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    for (let text = this.#texts.shift(); text !== undefined; text = this.#texts.shift()) this.#deliver(text);
    this.#isDelivering = false;
  }

  /** Delivers a text to all nodes, to another one first than the last time, so that none gets all jobs. */
  #deliver(text: string): void {
    const nodes = [...this.#nodes];
    for (const node of nodes) node.receive(text);
    const [first] = nodes;
    if (first !== undefined && this.#nodes.delete(first)) this.#nodes.add(first);
  }

  join(node: MemoryStore): void {
    this.#nodes.add(node);
  }

  leave(node: MemoryStore): void {
    this.#nodes.delete(node);
    if (this.#nodes.size === 0) this.stop();
  }

  /** Cancels the timer that ends what is over. The next operation starts it again. */
  stop(): void {
    this.#expiries.stop();
  }
}

const NO_MORE = { ok: false, retryInMs: 0 };

/** Store of a node, whose engine is in memory. */
export class MemoryStore implements Store {
  readonly #engine: MemoryEngine;
  #events: StoreEvents | undefined;
  #state: "up" | "cut off" | "closed" = "up";

  constructor(engine: MemoryEngine) {
    this.#engine = engine;
    engine.join(this);
  }

  get isUp(): boolean {
    return this.#state === "up";
  }

  async connect(events: StoreEvents): Promise<void> {
    this.#events = events;
  }

  get: Store["get"] = (key) => this.#run(({ records }) => records.get(key));

  put: Store["put"] = (key, value, options) =>
    this.#run((engine) => {
      const isStored = engine.records.put(key, value, options);
      if (isStored === true && options.notice !== undefined) engine.send(options.notice);
      return isStored !== false;
    });

  touch: Store["touch"] = (key, ttlMs, ifVersion) => this.#run(({ records }) => records.touch(key, ttlMs, ifVersion));

  delete: Store["delete"] = (key, ifVersion) => this.#run(({ records }) => records.delete(key, ifVersion));

  list: Store["list"] = (index, { after, limit }) => this.#run(({ records }) => records.list(index, after, limit));

  count: Store["count"] = (index) => this.#run(({ records }) => records.count(index));

  takeDue: Store["takeDue"] = (index, options) => this.#run(({ records }) => records.takeDue(index, options));

  takeTokens: Store["takeTokens"] = (key, burst, refillMs, want) =>
    this.#run((engine) => engine.takeTokens(key, burst, refillMs, want));

  readonly logs: StoreLogs = {
    create: (log, limits) => this.#run(({ logs }) => logs.create(log, limits)),
    claim: (log, stream, node, claim) => this.#run(({ logs }) => logs.claim(log, stream, node, claim)),
    append: (claimed, seq, entries, notice) =>
      this.#run((engine) => {
        const results = engine.logs.append(claimed, seq, entries);
        if (/^\d/.test(results[0] ?? "")) engine.send(notice);
        return results;
      }),
    find: (log, place) => this.#run(({ logs }) => logs.find(log, place)),
    read: (log, stream, after, limit) => this.#run(({ logs }) => logs.read(log, stream, after, limit)),
    open: (node, after) => this.#run(({ logs }) => logs.openOf(node, after, OPEN_PAGE)),
    drop: (log, notice) =>
      this.#run((engine) => {
        if (engine.logs.drop(log)) engine.send(notice);
      }),
  };

  send(texts: readonly string[]): Promise<void> {
    return this.#run((engine) => engine.send(...texts));
  }

  async close(): Promise<void> {
    this.#state = "closed";
    this.#engine.leave(this);
  }

  receive(text: string): void {
    if (this.isUp) this.#events?.onText(text);
  }

  /** Cuts the node off from its engine. */
  cut(): void {
    if (this.isUp) this.#state = "cut off";
  }

  /** Connects the node again. */
  mend(): void {
    if (this.#state !== "cut off") return;
    this.#state = "up";
    this.#events?.onMissed();
  }

  async #run<T>(work: (engine: MemoryEngine) => T): Promise<T> {
    if (this.#state === "up") return work(this.#engine);
    const what = this.#state === "closed" ? "is closed" : "is cut off from its state; it resumes after mend()";
    throw new ClusterError("unavailable", `this node of the cluster in memory ${what}`);
  }
}
