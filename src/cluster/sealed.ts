import { pause } from "../call/abortable.js";
import { type Backoff, backoffMs } from "../call/backoff.js";
import { systemClock } from "../call/clock.js";
import { atCaller } from "../protocol/at-caller.js";
import { KeyRing, type RingKey } from "../protocol/key-ring.js";
import { assertOptions, type Known } from "../protocol/known-options.js";
import { assertRing } from "../protocol/ring-keys.js";
import { ClusterChanges } from "./changes.js";
import type {
  Bus,
  ChangingServer,
  Cluster,
  ClusterBuckets,
  Job,
  Leases,
  Listed,
  LocalChanges,
  LogEntry,
  LogOptions,
  Logs,
  PutOptions,
  Queue,
  Records,
  Stored,
  TakeOptions,
  Writer,
} from "./cluster.js";
import { ClusterError } from "./error.js";

/** Options of {@link sealedCluster}. */
export interface SealedClusterOptions {
  /** Keys. The first key seals, all keys open. Each process needs them. */
  readonly keys: readonly RingKey[];
}

const OPTIONS: Known<SealedClusterOptions> = { keys: "array" };

/**
 * Seals everything that a cluster stores or sends: values of records, entries of logs, messages and jobs. Each text is
 * bound to its place, so that the engine can neither read nor exchange them. Keys, indexes and times stay readable.
 */
export function sealedCluster(cluster: Cluster, options: SealedClusterOptions): Cluster {
  assertOptions({ sealedCluster }, options, OPTIONS);
  const { keys } = options;
  atCaller(sealedCluster, () => assertRing("sealedCluster keys", keys));
  return new SealedCluster(cluster, new Sealer(keys));
}

/** Seals texts, each for one place. */
class Sealer {
  readonly #ring: KeyRing;

  constructor(keys: readonly RingKey[]) {
    this.#ring = new KeyRing(keys);
  }

  async close(text: string, place: string): Promise<string> {
    const { keyId, iv, data } = await this.#ring.encrypt(text, place);
    return `${keyId}.${iv}.${data}`;
  }

  async open(sealed: string, place: string): Promise<string> {
    const [keyId = "", iv = "", data = ""] = sealed.split(".");
    if (!this.#ring.ids.includes(keyId))
      throw new ClusterError("refused", `${place} is sealed with a key that is not in the keys of sealedCluster`);
    try {
      return await this.#ring.decrypt({ keyId, iv, data }, place);
    } catch (cause) {
      throw new ClusterError("refused", `${place} was changed, or sealed for another place`, { cause });
    }
  }
}

class SealedCluster implements Cluster {
  readonly #cluster: Cluster;
  readonly records: Records;
  readonly logs: Logs;
  readonly bus: Bus;
  readonly queue: Queue;

  constructor(cluster: Cluster, sealer: Sealer) {
    this.#cluster = cluster;
    this.records = new SealedRecords(cluster.records, sealer);
    this.logs = new SealedLogs(cluster.logs, sealer);
    this.bus = new SealedBus(cluster.bus, sealer);
    this.queue = new SealedQueue(cluster.queue, sealer);
  }

  get node(): string {
    return this.#cluster.node;
  }

  get available(): boolean {
    return this.#cluster.available;
  }

  get leases(): Leases {
    return this.#cluster.leases;
  }

  get buckets(): ClusterBuckets {
    return this.#cluster.buckets;
  }

  connectChanges(local: LocalChanges, server: ChangingServer): LocalChanges {
    return new ClusterChanges(this, local, server);
  }

  close(): Promise<void> {
    return this.#cluster.close();
  }
}

class SealedRecords implements Records {
  constructor(
    readonly inner: Records,
    readonly sealer: Sealer,
  ) {}

  async get(key: string): Promise<Stored | undefined> {
    const stored = await this.inner.get(key);
    return stored && this.#open(stored);
  }

  async put(key: string, value: string, options?: PutOptions): Promise<string | undefined> {
    return this.inner.put(key, await this.sealer.close(value, placeOfRecord(key)), options);
  }

  touch: Records["touch"] = (key, ttlMs) => this.inner.touch(key, ttlMs);

  delete: Records["delete"] = (key, ifVersion) => this.inner.delete(key, ifVersion);

  async list(index: string, options: Parameters<Records["list"]>[1]): Promise<readonly Listed[]> {
    return Promise.all((await this.inner.list(index, options)).map((stored) => this.#open(stored)));
  }

  count: Records["count"] = (index) => this.inner.count(index);

  async #open<S extends Stored>(stored: S): Promise<S> {
    return { ...stored, value: await this.sealer.open(stored.value, placeOfRecord(stored.key)) };
  }
}

class SealedLogs implements Logs {
  constructor(
    readonly inner: Logs,
    readonly sealer: Sealer,
  ) {}

  create(log: string, options: LogOptions): ReturnType<Logs["create"]> {
    return this.inner.create(log, options);
  }

  async claim(log: string, stream: string): Promise<Writer> {
    return new SealedWriter(await this.inner.claim(log, stream), this.sealer, placeOfStream(log, stream));
  }

  find: Logs["find"] = (log, id) => this.inner.find(log, id);

  async readAfter(log: string, stream: string, id?: string): Promise<readonly LogEntry[] | undefined> {
    const entries = await this.inner.readAfter(log, stream, id);
    return entries && Promise.all(entries.map((entry) => this.#open(entry, log, stream)));
  }

  async *follow(log: string, stream: string, after: string | undefined, signal: AbortSignal): AsyncIterable<LogEntry> {
    for await (const entry of this.inner.follow(log, stream, after, signal)) yield await this.#open(entry, log, stream);
  }

  openOf: Logs["openOf"] = (node) => this.inner.openOf(node);

  drop: Logs["drop"] = (log) => this.inner.drop(log);

  async #open(entry: LogEntry, log: string, stream: string): Promise<LogEntry> {
    return { ...entry, data: await this.sealer.open(entry.data, placeOfStream(log, stream)) };
  }
}

/** Number of entries that can be repeated. */
const MAX_REPEATED = 8;

/** Writer that repeats an entry with the same sealed text, since an entry with other data would be refused. */
class SealedWriter implements Writer {
  /** Latest entries by sequence number, oldest first. */
  readonly #latest = new Map<number, { readonly data: string; readonly sealed: Promise<string> }>();

  constructor(
    readonly inner: Writer,
    readonly sealer: Sealer,
    readonly place: string,
  ) {}

  async append(seq: number, data: string, options?: { readonly last?: boolean }): Promise<string> {
    const known = this.#latest.get(seq);
    const entry = known?.data === data ? known : { data, sealed: this.sealer.close(data, this.place) };
    if (known === undefined) this.#latest.set(seq, entry);
    const [oldest] = this.#latest.keys();
    if (this.#latest.size > MAX_REPEATED && oldest !== undefined) this.#latest.delete(oldest);
    return this.inner.append(seq, await entry.sealed, options);
  }
}

/** Bus whose messages stay in the order in which they were published. A message with an unknown key is a gap. */
class SealedBus implements Bus {
  readonly #gapListeners = new Set<() => void>();
  #sending: Promise<unknown> = Promise.resolve();

  constructor(
    readonly inner: Bus,
    readonly sealer: Sealer,
  ) {}

  publish(topic: string, text: string): Promise<void> {
    const before = this.#sending;
    const sealed = this.sealer.close(text, placeOfTopic(topic));
    const sent = before.then(async () => this.inner.publish(topic, await sealed));
    this.#sending = sent.catch(() => {});
    return sent;
  }

  subscribe(topic: string, listener: (text: string, from: string) => void): ReturnType<Bus["subscribe"]> {
    let heard: Promise<unknown> = Promise.resolve();
    let isOn = true;
    const stop = this.inner.subscribe(topic, (sealed, from) => {
      const opened = this.sealer.open(sealed, placeOfTopic(topic));
      heard = Promise.all([opened, heard.catch(() => {})]).then(
        ([text]) => {
          if (isOn) listener(text, from);
        },
        () => this.#tellGap(),
      );
    });
    const leave = (stop: Awaited<ReturnType<Bus["subscribe"]>>) => () => {
      isOn = false;
      return stop();
    };
    return stop instanceof Promise ? stop.then(leave) : leave(stop);
  }

  onGap(listener: () => void): () => void {
    const own = () => listener();
    const leave = this.inner.onGap(own);
    this.#gapListeners.add(own);
    return () => {
      this.#gapListeners.delete(own);
      leave();
    };
  }

  /** Tells that a message could not be opened, and so was missed. */
  #tellGap(): void {
    for (const listener of [...this.#gapListeners]) listener();
  }
}

/** Delays before a job comes again that this process cannot open, and before it is tried again to give it back. */
const UNOPENED: Backoff = { delayMs: 1_000, maxDelayMs: 60_000 };
const GIVE_BACK_MS = 1_000;

/** Maximum number of keys whose absence is told, and maximum length of their ids. */
const MAX_TOLD = 100;
const MAX_ID = 100;

class SealedQueue implements Queue {
  /** Ids of the keys whose absence was told. */
  readonly #told = new Set<string>();

  constructor(
    readonly inner: Queue,
    readonly sealer: Sealer,
  ) {}

  async add(id: string, job: string, options?: { readonly delayMs?: number }): Promise<boolean> {
    return this.inner.add(id, await this.sealer.close(job, placeOfJob(id)), options);
  }

  async *take(signal: AbortSignal, options?: TakeOptions): AsyncIterable<Job> {
    for await (const job of this.inner.take(signal, options)) {
      const text = await this.#open(job);
      if (text === undefined) continue;
      yield {
        id: job.id,
        job: text,
        attempt: job.attempt,
        lost: job.lost,
        done: () => job.done(),
        later: (ms) => job.later(ms),
      };
    }
  }

  /**
   * Returns the text of a job. A job that cannot be opened is given back, since another process may have its key. Throws
   * the error of the first one with a key.
   */
  async #open(job: Job): Promise<string | undefined> {
    try {
      return await this.sealer.open(job.job, placeOfJob(job.id));
    } catch (error) {
      void giveBack(job);
      const [id = ""] = job.job.slice(0, MAX_ID).split(".");
      if (this.#told.has(id) || this.#told.size >= MAX_TOLD) return undefined;
      this.#told.add(id);
      throw error;
    }
  }
}

/** Gives a job back. Tries again while the engine is away. */
async function giveBack(job: Job): Promise<void> {
  const delayMs = backoffMs(job.attempt - 1, UNOPENED);
  while (!job.lost.aborted) {
    try {
      return await job.later(delayMs);
    } catch (error) {
      if (error instanceof ClusterError && error.failure === "fenced") return;
      await pause(systemClock, GIVE_BACK_MS, job.lost);
    }
  }
}

function placeOfRecord(key: string): string {
  return `record "${key}"`;
}

function placeOfStream(log: string, stream: string): string {
  return `stream "${stream}" of log "${log}"`;
}

function placeOfTopic(topic: string): string {
  return `topic "${topic}"`;
}

function placeOfJob(id: string): string {
  return `job "${id}"`;
}
