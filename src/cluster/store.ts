import type { IndexPlace, Listed, Stored } from "./cluster.js";

/**
 * Storage of a cluster: everything that differs from engine to engine. `storeCluster` makes a cluster of it, with leases,
 * jobs, rates and messages.
 *
 * Each operation is atomic, and rejects with a `ClusterError`. Time is judged by the clock of the engine. Keys, names and
 * values are any text.
 */
export interface Store {
  /**
   * Starts the store. Settles after the first attempt: it rejects with a `ClusterError` if the engine cannot be reached or
   * used, and the start is tried again in the background. Operations wait for the first attempt, and fail at once as
   * `unavailable` while the engine is away. Called once, before any other method.
   */
  connect(events: StoreEvents): Promise<void>;
  /** True while the engine can be reached, and its messages arrive. */
  readonly isUp: boolean;
  /** Closes the connections. Operations that wait fail. Idempotent. */
  close(): Promise<void>;

  get(key: string): Promise<Stored | undefined>;
  /**
   * Stores a record. Resolves with false if `ifVersion` does not match. A put that has been carried out can be repeated:
   * it resolves with true as long as the record has its version. A put that keeps the version renews a lease: it needs no
   * room in a full engine where that is possible.
   */
  put(key: string, value: string, options: StorePut): Promise<boolean>;
  /** Replaces the life of a record, and keeps its version. Resolves with false if there is no record, or none of `ifVersion`. */
  touch(key: string, ttlMs: number, ifVersion?: string): Promise<boolean>;
  /** Deletes a record, with `ifVersion` only one of that version. Resolves with true if a record was deleted. */
  delete(key: string, ifVersion?: string): Promise<boolean>;
  /** Lists the records of an index by score, then by key in the order of UTF-8 or of UTF-16, after a place. */
  list(
    index: string,
    options: { readonly after?: IndexPlace | undefined; readonly limit: number },
  ): Promise<readonly Listed[]>;
  count(index: string): Promise<number>;
  /**
   * Takes the first records of an index whose scores have passed. Their version becomes `token`, and their only entries
   * one in the index for `leaseMs` from now, and one in the index that {@link takenBy} names, with score 0. Without a
   * record that is due, resolves with the milliseconds until the first one is, or with undefined if the index is empty.
   */
  takeDue(index: string, options: TakeDue): Promise<readonly DueRecord[] | number | undefined>;
  /**
   * Takes up to `want` tokens of a bucket, which has `burst` tokens at first and at most, and gets one each `refillMs`.
   * The bucket keeps the time until it is full, so that what was taken counts when `burst` changes.
   * Resolves with their number and, if it is 0, the time until there is one.
   */
  takeTokens(key: string, burst: number, refillMs: number, want: number): Promise<TakenTokens>;

  readonly logs: StoreLogs;

  /**
   * Sends texts to all processes, this one included, each at most once and in the order in which they were sent. Resolves
   * when they are on their way. What is sent from then on arrives here if the store is up. Needs no room in a full engine.
   */
  send(texts: readonly string[]): Promise<void>;
  /** Opens the connection anew that receives texts, since it delivers nothing. */
  readonly listenAgain?: (() => void) | undefined;
}

/** What a store tells its cluster. */
export interface StoreEvents {
  /** Called with each text that a process has sent, in order for each sender. */
  onText(text: string): void;
  /** Called when texts may have been missed, as after a loss of the connection. */
  onMissed(): void;
  /** Called when the engine refused to store something, since it is full or read-only. */
  onShort(): void;
}

/** Entry of a record in an index. `inMs` counts from the present of the engine's clock. */
export type StoreEntry =
  | { readonly index: string; readonly score: number }
  | { readonly index: string; readonly inMs: number };

export interface StorePut {
  /** Version that the record gets. No two values of one key have the same. */
  readonly version: string;
  /** Stores only if the record has this version, or, with null, only if there is none. */
  readonly ifVersion?: string | null | undefined;
  /** Time after which the record and its entries are gone. Without it they stay. */
  readonly ttlMs?: number | undefined;
  /** Entries of the record, at most one for each index. They replace the former ones. */
  readonly index?: readonly StoreEntry[] | undefined;
  /** Text that is sent to all processes if something was stored. */
  readonly notice?: string | undefined;
}

export interface TakeDue {
  readonly most: number;
  readonly leaseMs: number;
  readonly token: string;
}

/** Returns the index of the records that {@link Store.takeDue} has taken with a token. */
export const takenBy = (token: string) => `taken/${token}`;

/** Record that was taken because it was due. */
export interface DueRecord extends Stored {
  /** Number of times that it was taken since it was created. */
  readonly takes: number;
}

export interface TakenTokens {
  readonly given: number;
  readonly retryInMs: number;
}

/** Limits of a log, as its creator gave them. */
export interface StoreLogLimits {
  readonly keepMs: number;
  readonly maxEntries: number;
  /** Maximum size of the entries. The newest entry stays even if it is larger. */
  readonly maxBytes: number;
  readonly maxStreams: number;
}

/** Stream that a writer has claimed. */
export interface ClaimedStream {
  readonly log: string;
  readonly stream: string;
  /** Number of the log. It is new for each creation. */
  readonly id: string;
  /** Random name of the claim. */
  readonly claim: string;
}

/** Place of an entry: its log, its number there, and the claim by which it was written. */
export interface LogPlace {
  readonly id: string;
  readonly n: string;
  readonly claim: string;
}

/** Stream without an end mark. */
export interface OpenStream {
  readonly log: string;
  readonly stream: string;
  readonly id: string;
}

/** Entries of a stream after a place, with the state of the stream at the same moment. */
export interface StreamPage {
  readonly id: string;
  /** Entries that are kept, in order. */
  readonly entries: readonly StoredEntry[];
  /** True if the entry at the place is kept, or if there was no place. */
  readonly isKept: boolean;
  /** Number of the newest entry of the stream that is not kept any more, or 0. */
  readonly trimmed: string;
  /** True if the stream was claimed and is not forgotten. */
  readonly isKnown: boolean;
  readonly isEnded: boolean;
  /** Number of the newest entry of the stream, kept or not. */
  readonly top: string;
}

export interface StoredEntry {
  readonly n: string;
  readonly claim: string;
  readonly data: string;
  readonly last: boolean;
}

/**
 * Result of the append of an entry: its number, or a reason. `different` and `order` are followed by a colon and the
 * sequence number that comes next.
 */
export type AppendResult = string;

/** Number of streams that one call of `open` lists at most. */
export const OPEN_PAGE = 500;

/**
 * Logs, each with numbered entries in streams. Numbers rise within a log. An entry is kept for `keepMs`, unless limits of
 * the log evict it before. A stream whose end was evicted is forgotten.
 */
export interface StoreLogs {
  /** Creates a log. Does nothing if it exists. Resolves with false within `keepMs` after it was dropped. */
  create(log: string, limits: StoreLogLimits): Promise<boolean>;
  /**
   * Gives a stream to a writer of a node. The writers of earlier claims are refused from then on. Resolves with the number of
   * the log, or with `full:` and `maxStreams`, or with undefined if there is no log. A stream that has ended stays so.
   */
  claim(log: string, stream: string, node: string, claim: string): Promise<string | undefined>;
  /**
   * Appends entries, whose sequence numbers begin with `seq`. Those of a claim begin with 0. Resolves with a result per entry
   * up to the first that was refused:
   * - its number, also if it was appended before with the same data
   * - `dropped` if the log of this number is gone
   * - `fenced` if there was a later claim, or the stream is not known
   * - `missed` if it was appended before and is not kept any more
   * - `different:<next>` if it was appended before with other data
   * - `order:<next>` if a sequence number was skipped
   * - `ended` if the stream has ended
   */
  append(
    claimed: ClaimedStream,
    seq: number,
    entries: readonly { readonly data: string; readonly last: boolean }[],
    notice: string,
  ): Promise<readonly AppendResult[]>;
  /** Resolves with the stream of an entry that is kept. */
  find(log: string, place: LogPlace): Promise<string | undefined>;
  /** Resolves with undefined if there is no log. */
  read(log: string, stream: string, after: LogPlace | undefined, limit: number): Promise<StreamPage | undefined>;
  /**
   * Resolves with up to {@link OPEN_PAGE} streams that a node claimed last and that have no end, in an order of the engine,
   * after one that an earlier call has returned.
   */
  open(node: string, after: OpenStream | undefined): Promise<readonly OpenStream[]>;
  /** Deletes a log with its streams and entries. Sends the notice if there was one. */
  drop(log: string, notice: string): Promise<void>;
}
