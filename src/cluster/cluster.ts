import type { Clock } from "../call/clock.js";

/**
 * State that the processes of a deployment share: values, logs, messages, leases, jobs and rates. An engine such as Redis
 * or PostgreSQL stores it; without one it is in memory.
 *
 * A failed operation rejects with a {@link ClusterError}, whose `failure` tells if the engine may have carried it out.
 * Durations are judged by the clock of the engine.
 */
export interface Cluster {
  /** Random name of this process. It is new for each start. */
  readonly node: string;
  readonly records: Records;
  readonly logs: Logs;
  readonly bus: Bus;
  readonly leases: Leases;
  readonly queue: Queue;
  readonly buckets: ClusterBuckets;
  /** True while the engine can be reached and can store, as far as is known. */
  readonly available: boolean;
  /** Connects the changes of a server with those of the servers of other processes. Called by servers. */
  connectChanges(local: LocalChanges, server: ChangingServer): LocalChanges;
  /**
   * Releases the leases and jobs of this process and its connections. Iterations end, and later operations fail as
   * `unavailable`. Idempotent.
   */
  close(): Promise<void>;
}

/** Value with its version. */
export interface Stored {
  readonly key: string;
  readonly value: string;
  /** Changes with each `put`. Two values of one key never have the same version. */
  readonly version: string;
}

/** Entry of a record in an index. Entries of an index are ordered by score, then by key. */
export interface IndexEntry {
  readonly index: string;
  readonly score: number;
}

export interface PutOptions {
  /** Time after which the record and its index entries are gone. Without it they stay until they are deleted. */
  readonly ttlMs?: number;
  /** Stores the value only if the record has this version, or, with null, only if there is no record. */
  readonly ifVersion?: string | null;
  /** Index entries of the record, at most one for each index. They replace the former ones. Without them it has none. */
  readonly index?: readonly IndexEntry[];
}

/** Small values with a version, a life and index entries. */
export interface Records {
  get(key: string): Promise<Stored | undefined>;
  /** Stores a value. Returns its version, or undefined if `ifVersion` did not match and nothing was stored. */
  put(key: string, value: string, options?: PutOptions): Promise<string | undefined>;
  /** Extends the life of a record. Does not change its version. Returns false if there is no record. */
  touch(key: string, ttlMs: number): Promise<boolean>;
  /** Deletes a record, with `ifVersion` only one of that version. Returns true if a record was deleted. */
  delete(key: string, ifVersion?: string): Promise<boolean>;
  /**
   * Returns the records of an index in the order of their scores. `after` is the place of a record
   * that an earlier call returned. The listing continues after it, even if the record is gone.
   */
  list(index: string, options: { readonly after?: IndexPlace; readonly limit: number }): Promise<readonly Listed[]>;
  count(index: string): Promise<number>;
}

/** Place in an index. */
export interface IndexPlace {
  readonly score: number;
  readonly key: string;
}

/** Record of an index with its place. */
export interface Listed extends Stored {
  readonly score: number;
  /** Remaining life of the record by the clock of the engine. Undefined if the record has no end. */
  readonly leftMs: number | undefined;
}

/** Entry of a log. */
export interface LogEntry {
  /** Unique in its log. Contains letters, digits, `-` and `.` only. */
  readonly id: string;
  readonly data: string;
  /** True for the entry that ends its stream. */
  readonly last: boolean;
}

export interface LogOptions {
  /** Time that an entry is kept after it was appended. */
  readonly keepMs: number;
  /** Maximum number of entries of all streams together. The oldest are evicted first, the newest stays. */
  readonly maxEntries: number;
  /** Maximum size of the entries. The memory form counts a UTF-16 code unit as a byte. */
  readonly maxBytes: number;
  /**
   * Maximum number of claimed streams. At the limit, a claim of a further stream fails with `refused`. A stream that has
   * ended counts until its entries are evicted.
   * @default 10_000
   */
  readonly maxStreams?: number;
}

/** Ordered entries in streams. The streams of one log are limited and dropped together. */
export interface Logs {
  /**
   * Creates a log. Does nothing if it exists. Fails with `dropped` within `keepMs` after the log was dropped, so that a
   * process that does not know of the drop cannot bring the log back.
   */
  create(log: string, options: LogOptions): Promise<void>;
  /**
   * Makes this process the writer of a stream. From this moment, each earlier writer of the stream is refused with a
   * {@link ClusterError} of failure `fenced`. Fails with `dropped` if the log does not exist, and with `refused` if it has `maxStreams` streams.
   */
  claim(log: string, stream: string): Promise<Writer>;
  /** Returns the stream of an entry, or undefined if the entry is unknown or no longer kept. */
  find(log: string, id: string): Promise<string | undefined>;
  /**
   * Returns the entries of a stream after an entry or, without an id, all that are kept. Returns undefined if that entry
   * is not kept, so that entries after it may be missing.
   */
  readAfter(log: string, stream: string, id?: string): Promise<readonly LogEntry[] | undefined>;
  /**
   * Yields the entries of a stream after an entry or, without one, from the oldest that is kept, each once and in order,
   * and waits for more, also while the engine is away. Ends after the last entry of the stream, when the log is dropped or
   * does not exist, or when the signal fires. Throws with failure `missed` if entries are missing, and with
   * `unavailable` when the cluster is closed.
   */
  follow(log: string, stream: string, after: string | undefined, signal: AbortSignal): AsyncIterable<LogEntry>;
  /** Yields the streams that a node claimed last and that have no end mark. */
  openOf(node: string): AsyncIterable<{ readonly log: string; readonly stream: string }>;
  /**
   * Deletes a log with its streams. An append after it fails with `dropped`, and nothing comes back. The name can be
   * used again after the `keepMs` of the log.
   */
  drop(log: string): Promise<void>;
}

/** Writer of a stream. */
export interface Writer {
  /**
   * Appends an entry. `seq` counts the entries of this writer from 0. A repeated `seq` appends nothing and returns the
   * id of the first attempt, so that an append with an unknown outcome can be repeated. Fails with `missed` if that entry
   * is not kept any more. Fails with `refused` if a `seq` is repeated with other data or another end mark, if a `seq` was
   * skipped, and if the stream has ended.
   */
  append(seq: number, data: string, options?: { readonly last?: boolean }): Promise<string>;
  /** True if the entry with this id was appended by this writer. */
  wrote(id: string): boolean;
}

/**
 * Messages to all processes, each delivered at most once and, from one sender, in order. A process that may have missed
 * a message is told by `onGap`.
 */
export interface Bus {
  publish(topic: string, text: string): Promise<void>;
  /**
   * Calls the listener for each message of a topic, those of this process included. `from` is the node of the sender.
   * Resolves when messages that are published from now on will arrive.
   */
  subscribe(topic: string, listener: (text: string, from: string) => void): Promise<() => void>;
  /**
   * Calls the listener when messages may have been missed, and after this process was stopped for some heartbeats. Returns
   * a function that removes the listener.
   */
  onGap(listener: () => void): () => void;
}

/** Exclusive rights with a life. */
export interface Leases {
  /**
   * Returns undefined if the lease is held, by another process or by this one. A lease renews itself until it is
   * released or lost. An attempt with an unknown outcome can be repeated: this process then takes the lease that it may
   * hold, and releases it in the background otherwise.
   */
  acquire(name: string, ttlMs: number): Promise<Lease | undefined>;
}

export interface Lease {
  /** Aborted before another holder can have acquired the lease, but not by `release`. `close` of the cluster aborts it. */
  readonly lost: AbortSignal;
  /** Makes the lease available. Does nothing if it was released or lost. */
  release(): Promise<void>;
}

/** Jobs for workers. A job that a worker does not finish goes to another one. */
export interface Queue {
  /** Adds a job. Returns false if there is a job with this id already. */
  add(id: string, job: string, options?: { readonly delayMs?: number }): Promise<boolean>;
  /**
   * Yields jobs, one at a time, until the signal fires or the cluster is closed. A job that was yielded stays with this
   * process.
   */
  take(signal: AbortSignal, options?: TakeOptions): AsyncIterable<Job>;
}

export interface TakeOptions {
  /** Time after which the job of a process that is lost goes to another one. */
  readonly leaseMs?: number;
  /**
   * Returns the number of jobs that this process can work on now. An engine may take as many in one operation. Those that
   * were not yielded at the end go back to the queue.
   * @default () => 1
   */
  readonly most?: () => number;
}

/** Job that this process works on. Its lease renews itself until `done` or `later`. */
export interface Job {
  readonly id: string;
  readonly job: string;
  /** 1 for the first attempt. It counts lost workers and `later`. */
  readonly attempt: number;
  /** Aborted before another worker can get the job. */
  readonly lost: AbortSignal;
  /** Removes the job. Fails with `fenced` if the job was lost. A repeated call does nothing. */
  done(): Promise<void>;
  /** Returns the job to the queue. Fails with `fenced` if the job was lost. */
  later(delayMs: number): Promise<void>;
}

/** Token buckets that all processes share. */
export interface ClusterBuckets {
  /**
   * Takes a token, or returns the time until one is available. `burst` is the capacity of a bucket, `refillMs` the
   * milliseconds in which one token is refilled.
   */
  take(
    key: string,
    limit: { readonly burst: number; readonly refillMs: number },
  ): Promise<{ readonly ok: boolean; readonly retryInMs: number }>;
}

/** Change of a list or a resource. */
export type SharedChange =
  | { readonly kind: "tools" | "prompts" | "resources" }
  | { readonly kind: "resource"; readonly uri: string };

/** Bus of changes inside a process. */
export interface LocalChanges {
  publish(change: SharedChange): void;
  subscribe(listener: (change: SharedChange) => void): () => void;
}

/** Parts of a server that the bus of changes uses. */
export interface ChangingServer {
  readonly options: { readonly stateKeys?: unknown; readonly stateCodec?: unknown };
  readonly clock: Clock;
  /** Number of subscribers by resource URI. */
  readonly watched: ReadonlyMap<string, number>;
  report(error: unknown, where: { readonly where: string }): void;
  onClosing(listener: () => void): () => void;
}

/** Cluster whose state is in an engine, such as Redis. It starts when it is created. */
export interface EngineCluster extends Cluster {
  /**
   * Settles after the first attempt to start. Rejects with a `ClusterError` if the engine cannot be reached or used.
   * The start is tried again then, so that a process may continue without it.
   */
  readonly ready: Promise<void>;
}
