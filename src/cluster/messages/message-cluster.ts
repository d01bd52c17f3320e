import { settlesWithin } from "../../call/abortable.js";
import { type Clock, systemClock, unref } from "../../call/clock.js";
import { ClusterChanges } from "../changes.js";
import type {
  ChangingServer,
  Cluster,
  IndexPlace,
  Listed,
  LocalChanges,
  LogEntry,
  LogOptions,
  Logs,
  PutOptions,
  Records,
  Stored,
  Writer,
} from "../cluster.js";
import { EngineBuckets } from "../engine/buckets.js";
import { EngineLeases } from "../engine/leases.js";
import { EngineQueue } from "../engine/queue.js";
import { MessageBus } from "./bus.js";
import { Calls } from "./calls.js";
import type { FromHost, MessageLink, ToHost } from "./messages.js";

export interface MessageClusterOptions {
  /** Name that the host gave to this process. */
  readonly node: string;
  readonly link: MessageLink<ToHost>;
  readonly clock?: Clock;
}

/** Interval in which the process finds out that it was stopped. */
const HEARTBEAT_MS = 3_000;

/** Time for which `close` waits for the host. */
const CLOSE_MS = 1_000;

/** Cluster whose state another process of the machine has in memory, and shares by messages. */
export class MessageCluster implements Cluster {
  readonly node: string;
  readonly records: Records;
  readonly logs: Logs;
  readonly bus: MessageBus;
  readonly leases: EngineLeases;
  readonly queue: EngineQueue;
  readonly buckets: EngineBuckets;
  readonly #clock: Clock;
  readonly #calls: Calls;
  readonly #stop = new AbortController();
  #timer: unknown;
  #closing: Promise<void> | undefined;

  constructor({ node, link, clock = systemClock }: MessageClusterOptions) {
    const calls = new Calls(clock, link);
    this.node = node;
    this.#clock = clock;
    this.#calls = calls;
    this.records = new MessageRecords(calls);
    this.logs = new MessageLogs(calls);
    this.bus = new MessageBus(calls);
    this.leases = new EngineLeases(clock, {
      acquire: (...args) => calls.run("acquire", ...args),
      renew: (...args) => calls.run("renew", ...args),
      release: (...args) => calls.run("release", ...args),
    });
    this.queue = new EngineQueue(clock, jobsBy(calls), this.#stop.signal);
    this.buckets = new EngineBuckets(clock, (...args) => calls.run("takeTokens", ...args));
    this.#plan();
  }

  get available(): boolean {
    return this.#calls.isAvailable;
  }

  connectChanges(local: LocalChanges, server: ChangingServer): LocalChanges {
    return new ClusterChanges(this, local, server);
  }

  receive(batch: readonly FromHost[]): void {
    for (const message of batch) {
      if (this.#calls.receive(message)) continue;
      if (message[0] === "heard") this.bus.deliver(message[1], message[2], message[3]);
      else if (message[0] === "gap") this.bus.gap();
      else this.queue.wake();
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#clock.cancel(this.#timer);
    this.#stop.abort();
    const released = Promise.all([this.leases.close(), this.queue.close()]).then(() => {});
    await settlesWithin(released, CLOSE_MS);
    this.bus.close();
    this.#calls.close();
  }

  #plan(): void {
    const due = this.#clock.now() + HEARTBEAT_MS;
    this.#timer = this.#clock.schedule(() => {
      // Others may have taken a process that was stopped for lost.
      if (this.#clock.now() - due > 2 * HEARTBEAT_MS) this.bus.gap();
      this.#plan();
    }, HEARTBEAT_MS);
    unref(this.#timer);
  }
}

function jobsBy(calls: Calls) {
  return {
    add: (id: string, job: string, delayMs: number) => calls.run("addJob", id, job, delayMs),
    take: async (token: string, leaseMs: number) => {
      const job = await calls.run("takeJob", token, leaseMs);
      return job && [job];
    },
    renew: (id: string, token: string, leaseMs: number) => calls.run("renewJob", id, token, leaseMs),
    done: (id: string, token: string) => calls.run("finishJob", id, token),
    later: (id: string, token: string, delayMs: number) => calls.run("returnJob", id, token, delayMs),
    free: (token: string) => calls.run("freeJob", token),
    // The host tells all processes.
    changed: () => {},
  };
}

class MessageRecords implements Records {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  get(key: string): Promise<Stored | undefined> {
    return this.#calls.run("get", key);
  }

  put(key: string, value: string, options: PutOptions = {}): Promise<string | undefined> {
    const { ttlMs } = options;
    return this.#calls.run("put", key, value, ttlMs === undefined ? options : { ...options, ttlMs: finite(ttlMs) });
  }

  touch(key: string, ttlMs: number): Promise<boolean> {
    return this.#calls.run("touch", key, finite(ttlMs));
  }

  delete(key: string, ifVersion?: string): Promise<boolean> {
    return this.#calls.run("delete", key, ifVersion);
  }

  async list(index: string, options: { readonly after?: IndexPlace; readonly limit: number }): Promise<Listed[]> {
    const found = await this.#calls.run("list", index, { ...options, limit: finite(options.limit) });
    return found.map((listed) => ({ ...listed, leftMs: listed.leftMs ?? undefined }));
  }

  count(index: string): Promise<number> {
    return this.#calls.run("count", index);
  }
}

class MessageLogs implements Logs {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  create(log: string, options: LogOptions): Promise<void> {
    const limits = Object.entries(options).map(([name, limit]) => [name, finite(limit)]);
    return this.#calls.run("create", log, Object.fromEntries(limits));
  }

  async claim(log: string, stream: string): Promise<Writer> {
    const claim = await this.#calls.run("claim", log, stream);
    return {
      append: (seq, data, { last = false } = {}) => this.#calls.run("append", log, stream, claim, seq, data, last),
    };
  }

  find(log: string, id: string): Promise<string | undefined> {
    return this.#calls.run("find", log, id);
  }

  readAfter(log: string, stream: string, id?: string): Promise<readonly LogEntry[] | undefined> {
    return this.#calls.run("readAfter", log, stream, id);
  }

  follow(log: string, stream: string, after: string | undefined, signal: AbortSignal): AsyncIterable<LogEntry> {
    return this.#calls.iterate(signal, "follow", log, stream, after);
  }

  openOf(node: string): AsyncIterable<{ readonly log: string; readonly stream: string }> {
    return this.#calls.iterate(undefined, "openOf", node);
  }

  drop(log: string): Promise<void> {
    return this.#calls.run("drop", log);
  }
}

/** JSON has no infinite numbers. */
const finite = (limit: number) => Math.min(limit, Number.MAX_SAFE_INTEGER);
