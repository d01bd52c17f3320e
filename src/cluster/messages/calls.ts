import { followSignal } from "../../call/abortable.js";
import type { Clock } from "../../call/clock.js";
import { unref } from "../../call/clock.js";
import { ClusterError, type ClusterFailure } from "../error.js";
import type { HostOperations } from "./host-operations.js";
import { type FromHost, type MessageLink, type OperationName, Outbox, type ToHost } from "./messages.js";
import { Source } from "./source.js";

/** Maximum number of operations that wait for their results. */
const MAX_WAITING = 10_000;

/** Time after which an operation without a result fails. */
const ANSWER_MS = 5_000;

/** Operations that change nothing. */
const READS: ReadonlySet<OperationName> = new Set(["get", "list", "count", "find", "readAfter"]);

interface Waiting {
  readonly name: OperationName;
  readonly due: number;
  readonly done: (value: unknown) => void;
  readonly failed: (error: ClusterError) => void;
}

/**
 * Operations that the host carries out. Those of one turn of the event loop are sent together. When the host does not
 * answer, operations fail at once until it does.
 */
export class Calls {
  readonly #clock: Clock;
  readonly #outbox: Outbox<ToHost>;
  /** Operations by id, the oldest first. */
  readonly #waiting = new Map<number, Waiting>();
  readonly #sources = new Map<number, Source<unknown>>();
  #ids = 0;
  #timer: unknown;
  #isSilent = false;
  #isClosed = false;

  constructor(clock: Clock, link: MessageLink<ToHost>) {
    this.#clock = clock;
    this.#outbox = new Outbox(link);
  }

  get isAvailable(): boolean {
    return !this.#isSilent && !this.#isClosed;
  }

  /** Runs an operation. Results pass through JSON, in which null takes the place of undefined. */
  run<N extends OperationName>(
    name: N,
    ...args: Parameters<HostOperations[N]>
  ): Promise<ReturnType<HostOperations[N]>> {
    return new Promise((resolve, failed) => {
      if (!this.isAvailable) return failed(this.#away(name));
      if (this.#waiting.size >= MAX_WAITING)
        return failed(
          new ClusterError("unavailable", `${name}: ${MAX_WAITING} operations wait for the primary process`),
        );
      const id = ++this.#ids;
      const done = (value: unknown) => resolve((value ?? undefined) as ReturnType<HostOperations[N]>);
      this.#waiting.set(id, { name, due: this.#clock.now() + ANSWER_MS, done, failed });
      this.#outbox.post([id, name, args]);
      if (this.#timer === undefined) this.#plan(ANSWER_MS);
    });
  }

  /** Yields the items of an iteration of the host. */
  async *iterate<Item>(
    signal: AbortSignal | undefined,
    name: "follow" | "openOf",
    ...args: readonly unknown[]
  ): AsyncIterable<Item> {
    if (this.#isClosed) throw this.#away(name);
    if (signal?.aborted) return;
    const id = ++this.#ids;
    const source = new Source<Item>(() => this.#outbox.post(["more", id]));
    const unfollow = signal && followSignal(signal, () => source.wake());
    this.#sources.set(id, source as Source<unknown>);
    this.#outbox.post(["open", id, name, args]);
    try {
      for (let page = await source.next(signal); page !== undefined; page = await source.next(signal))
        for (const item of page) {
          if (signal?.aborted) return;
          yield item;
        }
    } finally {
      unfollow?.();
      if (this.#sources.delete(id)) this.#outbox.post(["stop", id]);
    }
  }

  /** Takes a message of the host. Returns false for messages that belong to no operation. */
  receive(message: FromHost): boolean {
    this.#isSilent = false;
    switch (message[0]) {
      case "value":
        this.#take(message[1])?.done(message[2]);
        return true;
      case "failed":
        this.#take(message[1])?.failed(new ClusterError(message[2], message[3]));
        return true;
      case "item":
        this.#sources.get(message[1])?.push(message[2]);
        return true;
      case "ended":
        return this.#end(message[1], message[2], message[3]);
      default:
        return false;
    }
  }

  /** Ends all operations and iterations, and leaves the host. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#failAll();
    const error = this.#away("follow");
    for (const source of this.#sources.values()) source.end(error);
    this.#sources.clear();
    this.#outbox.post(["leave"]);
    this.#outbox.flush();
  }

  #end(id: number, failure?: ClusterFailure, text = ""): true {
    this.#sources.get(id)?.end(failure && new ClusterError(failure, text));
    this.#sources.delete(id);
    return true;
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size > 0) return waiting;
    this.#clock.cancel(this.#timer);
    this.#timer = undefined;
    return waiting;
  }

  /** Looks at the oldest operation when it should have its result. */
  #plan(ms: number): void {
    this.#timer = this.#clock.schedule(() => {
      this.#timer = undefined;
      const [oldest] = this.#waiting.values();
      if (oldest === undefined) return;
      const left = oldest.due - this.#clock.now();
      if (left > 0) return this.#plan(left);
      this.#isSilent = this.#failAll();
    }, ms);
    unref(this.#timer);
  }

  /** Fails all operations. The host does not get those that are not sent yet. Returns true if it will answer others. */
  #failAll(): boolean {
    this.#clock.cancel(this.#timer);
    this.#timer = undefined;
    const unsent = new Set<number>();
    this.#outbox.remove(([id]) => typeof id === "number" && unsent.add(id) !== undefined);
    const all = [...this.#waiting];
    this.#waiting.clear();
    for (const [id, { name, failed }] of all) {
      const isKnown = READS.has(name) || unsent.has(id);
      const error = this.#away(name);
      failed(isKnown ? error : new ClusterError("unknown_outcome", `${error.message}; it may have been carried out`));
    }
    return all.length > unsent.size;
  }

  #away(name: string): ClusterError {
    const why = this.#isClosed ? "the cluster is closed" : `the primary process has not answered for ${ANSWER_MS} ms`;
    return new ClusterError("unavailable", `${name}: ${why}`);
  }
}
