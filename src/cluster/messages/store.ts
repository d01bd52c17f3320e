import { type Clock, systemClock, unref } from "../../call/clock.js";
import { ClusterError } from "../error.js";
import type { Store, StoreEvents, StoreLogs } from "../store.js";
import {
  type FromHost,
  type HostCall,
  type MessageLink,
  type OperationName,
  Outbox,
  type ResultOf,
  type ToHost,
} from "./link.js";

/** Maximum number of operations that wait for their results. */
const MAX_WAITING = 10_000;

/** Time after which an operation without a result fails. */
const ANSWER_MS = 5_000;

/** Operations that change nothing. */
const READS: ReadonlySet<OperationName> = new Set(["get", "list", "count", "logs.find", "logs.read", "logs.open"]);

interface Waiting {
  readonly name: OperationName;
  readonly due: number;
  readonly done: (value: unknown) => void;
  readonly failed: (error: ClusterError) => void;
}

/**
 * Store in the memory of another process of this machine, the host. Operations of one turn of the event loop are sent
 * together. When the host does not answer, operations fail at once until it does.
 */
export class MessageStore implements Store {
  readonly #clock: Clock;
  readonly #outbox: Outbox<ToHost>;
  /** Operations by id, the oldest first. */
  readonly #waiting = new Map<number, Waiting>();
  #events: StoreEvents | undefined;
  #ids = 0;
  #timer: unknown;
  #isSilent = false;
  #isClosed = false;

  constructor(link: MessageLink<ToHost>, clock: Clock = systemClock) {
    this.#clock = clock;
    this.#outbox = new Outbox(link);
  }

  async connect(events: StoreEvents): Promise<void> {
    this.#events = events;
  }

  get isUp(): boolean {
    return !this.#isSilent && !this.#isClosed;
  }

  /** Ends all operations, and leaves the host. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#failAll();
    this.#outbox.post(["leave"]);
    this.#outbox.flush();
  }

  /** Takes messages of the host. */
  receive(batch: readonly FromHost[]): void {
    this.#isSilent = false;
    for (const message of batch) {
      if (message[0] === "value") this.#take(message[1])?.done(message[2]);
      else if (message[0] === "failed") this.#take(message[1])?.failed(new ClusterError(message[2], message[3]));
      else if (message[0] === "text") this.#events?.onText(message[1]);
      else this.#events?.onMissed();
    }
  }

  get: Store["get"] = (...args) => this.#ask("get", ...args);
  put: Store["put"] = (key, value, options) =>
    this.#ask("put", key, value, options.ttlMs === undefined ? options : { ...options, ttlMs: finite(options.ttlMs) });
  touch: Store["touch"] = (key, ttlMs, ifVersion) => this.#ask("touch", key, finite(ttlMs), ifVersion);
  delete: Store["delete"] = (...args) => this.#ask("delete", ...args);
  list: Store["list"] = async (index, options) => {
    const found = await this.#ask("list", index, { ...options, limit: finite(options.limit) });
    return found.map((listed) => ({ ...listed, leftMs: listed.leftMs ?? undefined }));
  };
  count: Store["count"] = (...args) => this.#ask("count", ...args);
  takeDue: Store["takeDue"] = (...args) => this.#ask("takeDue", ...args);
  takeTokens: Store["takeTokens"] = (...args) => this.#ask("takeTokens", ...args);
  send: Store["send"] = (...args) => this.#ask("send", ...args);

  readonly logs: StoreLogs = {
    create: (...args) => this.#ask("logs.create", ...args),
    claim: (...args) => this.#ask("logs.claim", ...args),
    append: (claimed, seq, entries, notice) =>
      this.#ask(
        "logs.append",
        claimed,
        seq,
        entries.map(({ data, last }) => ({ data, last })),
        notice,
      ),
    find: (...args) => this.#ask("logs.find", ...args),
    read: (...args) => this.#ask("logs.read", ...args),
    open: (...args) => this.#ask("logs.open", ...args),
    drop: (...args) => this.#ask("logs.drop", ...args),
  };

  /** Asks the host for an operation. JSON has null in place of undefined. */
  #ask<Name extends OperationName>(name: Name, ...args: HostCall<Name>[2]): Promise<ResultOf<Name>> {
    return new Promise((resolve, failed) => {
      if (!this.isUp) return failed(this.#away(name));
      if (this.#waiting.size >= MAX_WAITING) {
        const text = `${name}: ${MAX_WAITING} operations wait for the primary process already; limit concurrent calls`;
        return failed(new ClusterError("unavailable", text));
      }
      const id = ++this.#ids;
      const done = (value: unknown) => resolve((value ?? undefined) as ResultOf<Name>);
      this.#waiting.set(id, { name, due: this.#clock.now() + ANSWER_MS, done, failed });
      this.#outbox.post([id, name, args] as HostCall);
      if (this.#timer === undefined) this.#plan(ANSWER_MS);
    });
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

/** JSON has no infinite numbers. */
const finite = (limit: number) => Math.min(limit, Number.MAX_SAFE_INTEGER);
