import { ClusterError } from "../error.js";
import { holderOf } from "../leases.js";
import type { MemoryClusterOptions } from "../memory/limits.js";
import { MemoryEngine, MemoryStore } from "../memory/store.js";
import { JOBS, JOBS_NOTICE } from "../queue.js";
import { type StorePut, type TakeDue, takenBy } from "../store.js";
import { type FromHost, type HostCall, type MessageLink, Outbox, type ToHost } from "./link.js";

/** Maximum number of texts that wait for a process that does not read, and of their characters. */
const MAX_TEXTS = 10_000;
const MAX_CHARS = 16 * 1024 * 1024;

/** State in the memory of this process that other processes share by messages. */
export class StateHost {
  readonly #engine: MemoryEngine;

  constructor(options: MemoryClusterOptions = {}) {
    this.#engine = new MemoryEngine(options);
  }

  /** Connects a process. */
  connect(link: MessageLink<FromHost>): HostedNode {
    return new HostedNode(this.#engine, link);
  }

  /** Ends the timer of the state. */
  close(): void {
    this.#engine.stop();
  }
}

/** Node of the process at the other end of a link. */
export class HostedNode {
  /** Name of the node. */
  readonly name = crypto.randomUUID();
  readonly #store: MemoryStore;
  readonly #outbox: Outbox<FromHost>;
  readonly #held: Held;
  /** Texts that are not sent yet. A notice that comes twice is sent once. */
  readonly #unsent = new Set<string>();
  #chars = 0;

  constructor(engine: MemoryEngine, link: MessageLink<FromHost>) {
    this.#held = new Held(engine, this.name);
    this.#store = new MemoryStore(engine);
    this.#outbox = new Outbox({
      later: link.later,
      send: (batch, written) => {
        this.#chars = 0;
        this.#unsent.clear();
        link.send(batch, written);
      },
    });
    void this.#store.connect({ onText: (text) => this.#pass(text), onMissed: () => {}, onShort: () => {} });
  }

  receive(batch: readonly ToHost[]): void {
    for (const message of batch) {
      if (message[0] === "leave") this.close();
      else void this.#run(message);
    }
  }

  /** Frees everything that the process holds. Called when the process has ended. Idempotent. */
  close(): void {
    if (!this.#store.isUp) return;
    this.#held.free();
    void this.#store.close();
  }

  async #run([id, name, args]: HostCall): Promise<void> {
    try {
      const value = await this.#operate(name, args);
      this.#outbox.post(["value", id, value]);
    } catch (error) {
      const { failure, message } = failureOf(error);
      this.#outbox.post(["failed", id, failure, message]);
    }
  }

  #operate(name: string, args: readonly unknown[]): unknown {
    // JSON has null in place of undefined.
    const given = args.map((arg) => arg ?? undefined);
    const [group, operation = ""] = name.split(".");
    const target = group === "logs" ? this.#store.logs : this.#store;
    const run = (target as unknown as Record<string, (...args: readonly unknown[]) => unknown>)[operation || name];
    this.#held.note(name, given);
    return run?.apply(target, given);
  }

  /** Passes on a text. If the process does not read, all that wait are dropped, and it is told so. */
  #pass(text: string): void {
    if (this.#unsent.has(text)) return;
    this.#chars += text.length;
    if (this.#unsent.size < MAX_TEXTS && this.#chars <= MAX_CHARS) {
      this.#unsent.add(text);
      return this.#outbox.post(["text", text]);
    }
    this.#chars = 0;
    this.#unsent.clear();
    this.#outbox.remove(([kind]) => kind === "text" || kind === "missed");
    this.#outbox.post(["missed"]);
  }
}

/** Maximum number of tokens of takes that are remembered before those without jobs are forgotten. */
const MAX_TOKENS = 1_000;

/** Leases and jobs of a process, which are free at once when it ends. */
class Held {
  readonly #engine: MemoryEngine;
  readonly #node: string;
  /** Version of each lease that the process may hold, by key. */
  readonly #leases = new Map<string, string>();
  /** Tokens with which it may have taken jobs. */
  readonly #tokens = new Set<string>();

  constructor(engine: MemoryEngine, node: string) {
    this.#engine = engine;
    this.#node = node;
  }

  note(operation: string, [key, value, options]: readonly unknown[]): void {
    if (operation === "put" && holderOf(key as string, value as string) === this.#node)
      this.#leases.set(key as string, (options as StorePut).version);
    else if (operation === "delete") this.#leases.delete(key as string);
    else if (operation === "takeDue") this.#noteToken((value as TakeDue).token);
  }

  free(): void {
    const { records } = this.#engine;
    for (const [key, version] of this.#leases) records.delete(key, version);
    for (const token of this.#tokens)
      for (const { key, value } of records.list(takenBy(token), undefined, Number.POSITIVE_INFINITY))
        records.put(key, value, { version: crypto.randomUUID(), ifVersion: token, index: [{ index: JOBS, inMs: 0 }] });
    this.#engine.send(JOBS_NOTICE);
  }

  #noteToken(token: string): void {
    this.#tokens.add(token);
    if (this.#tokens.size <= MAX_TOKENS) return;
    for (const old of this.#tokens)
      if (old !== token && this.#engine.records.count(takenBy(old)) === 0) this.#tokens.delete(old);
  }
}

function failureOf(error: unknown): Pick<ClusterError, "failure" | "message"> {
  return error instanceof ClusterError ? error : { failure: "refused", message: `the state of the workers: ${error}` };
}
