import { pause } from "#src/call/abortable.js";
import { Link } from "#src/cluster/connection.js";
import { ClusterError } from "#src/cluster/error.js";
import type { Store, StoreEvents } from "#src/cluster/store.js";
import { StoreCluster } from "#src/cluster/store-cluster.js";
import type { SimProcess } from "../process.js";
import { SimConnection } from "./connection.js";
import type { SimEngine } from "./engine.js";

const READS = new Set(["get", "list", "count", "find", "read", "open"]);

/** Time after which an operation without a reply fails. */
const TIMEOUT_MS = 1_500;

/** Store of a process in the simulated engine. As with Redis, one connection carries operations and another one texts. */
export class SimStore implements Store {
  readonly get: Store["get"];
  readonly put: Store["put"];
  readonly touch: Store["touch"];
  readonly delete: Store["delete"];
  readonly list: Store["list"];
  readonly count: Store["count"];
  readonly takeDue: Store["takeDue"];
  readonly takeTokens: Store["takeTokens"];
  readonly send: Store["send"];
  readonly logs: Store["logs"];
  readonly #engine: SimEngine;
  readonly #process: SimProcess;
  #operations: Link<SimConnection> | undefined;
  #texts: Link<SimConnection> | undefined;

  constructor(engine: SimEngine, process: SimProcess) {
    this.#engine = engine;
    this.#process = process;
    const { store } = engine;
    const { logs } = store;
    this.get = this.#carried("get", store.get);
    this.put = this.#carried("put", store.put);
    this.touch = this.#carried("touch", store.touch);
    this.delete = this.#carried("delete", store.delete);
    this.list = this.#carried("list", store.list);
    this.count = this.#carried("count", store.count);
    this.takeDue = this.#carried("takeDue", store.takeDue);
    this.takeTokens = this.#carried("takeTokens", store.takeTokens);
    this.send = this.#carried("send", (texts) => store.send(texts));
    this.logs = {
      create: this.#carried("create", logs.create),
      claim: this.#carried("claim", logs.claim),
      append: this.#carried("append", logs.append),
      find: this.#carried("find", logs.find),
      read: this.#carried("read", logs.read),
      open: this.#carried("open", logs.open),
      drop: this.#carried("drop", logs.drop),
    };
  }

  async connect({ onText, onMissed }: StoreEvents): Promise<void> {
    let wasUp = false;
    const options = {
      engine: "the engine",
      clock: this.#process,
      timeoutMs: TIMEOUT_MS,
      failureOf,
      isAnswer: (error: unknown) => error instanceof ClusterError,
    };
    const texts = new Link({
      ...options,
      name: "texts",
      open: (onClose) => this.#open(onText, onClose),
      prepare: (connection) => connection.ask("subscribe", [], async () => void this.#engine.listeners.add(connection)),
      onUp: () => wasUp && onMissed(),
    });
    const operations = new Link({
      ...options,
      name: "operations",
      open: (onClose) => this.#open(() => {}, onClose),
      prepare: () => texts.tried("start").catch(() => {}),
      onUp: () => {
        wasUp = true;
      },
    });
    this.#texts = texts;
    this.#operations = operations;
    await Promise.all([texts.tried("start"), operations.tried("start")]);
  }

  get isUp(): boolean {
    return this.#operations?.isUp === true && this.#texts?.isUp === true;
  }

  listenAgain(): void {
    this.#texts?.reset();
  }

  async close(): Promise<void> {
    await Promise.all([this.#operations?.close(), this.#texts?.close()]);
  }

  async #open(onText: (text: string) => void, onClose: () => void): Promise<SimConnection> {
    await pause(this.#process, this.#engine.delay() + this.#engine.delay());
    if (!this.#engine.reaches(this.#process)) throw new Error("the connection was refused");
    return new SimConnection(this.#engine, this.#process, onText, onClose);
  }

  /** Returns an operation that the engine carries out. */
  #carried<A extends readonly unknown[], T>(
    name: string,
    work: (...args: A) => Promise<T>,
  ): (...args: A) => Promise<T> {
    return (...args) => {
      const ask = (connection: SimConnection) => connection.ask(name, args, () => work(...args));
      return (this.#operations as Link<SimConnection>).ask(name, READS.has(name), ask);
    };
  }
}

function failureOf(error: unknown, what: string, isRead: boolean): ClusterError {
  if (error instanceof ClusterError) return error;
  return new ClusterError(isRead ? "unavailable" : "unknown_outcome", `${what}: ${(error as Error).message}`);
}

/** Connects a process to the engine. */
export function connect(engine: SimEngine, process: SimProcess): StoreCluster {
  const cluster = new StoreCluster(new SimStore(engine, process), { clock: process, node: process.name });
  if (engine.broken === "gap") cluster.bus.onGap = () => () => {};
  return cluster;
}
