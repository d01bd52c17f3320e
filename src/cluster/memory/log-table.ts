import type { LogEntry, LogOptions } from "../cluster.js";
import { fullError, MAX_STREAMS } from "../log-errors.js";
import { type Expiries, Expiring } from "./expiries.js";
import { assertRoom } from "./limit.js";
import type { Waiter } from "./waiter.js";
import { Window } from "./window.js";

export interface Entry extends LogEntry {
  readonly stream: Stream;
  /** Number of the entry in its stream. */
  readonly number: number;
  readonly goneAt: number;
}

/** Stream of a log. */
export class Stream {
  readonly entries = new Window<Entry>();
  /** Created for the first follower. */
  followers: Set<Waiter> | undefined;
  /** Node that claimed the stream last. */
  owner: string | undefined;
  /** Number of the last claim. */
  claim = 0;
  /** Sequence number that the writer appends next. */
  seq = 0;
  isEnded = false;

  constructor(
    readonly log: Log,
    readonly name: string,
  ) {}

  wake(): void {
    if (this.followers !== undefined) for (const follower of this.followers) follower.wake();
  }

  follow(waiter: Waiter): void {
    this.followers ??= new Set();
    this.followers.add(waiter);
  }

  leave(waiter: Waiter): void {
    this.followers?.delete(waiter);
    if (this.followers?.size === 0) this.followers = undefined;
    this.log.tidy(this);
  }
}

/** Log with its streams. It expires when its oldest entry does. */
export class Log extends Expiring {
  readonly streams = new Map<string, Stream>();
  readonly #byId = new Map<string, Entry>();
  readonly #entries = new Window<Entry>();
  chars = 0;
  isDropped = false;
  /** Number of claimed streams. */
  claimed = 0;

  constructor(
    readonly table: LogTable,
    readonly name: string,
    readonly options: LogOptions,
    /** Number of the last claim before the log was created. */
    readonly after: number,
  ) {
    super();
  }

  /** Number of entries. */
  get size(): number {
    return this.#entries.size;
  }

  find(id: string): Entry | undefined {
    return this.#byId.get(id);
  }

  stream(name: string): Stream {
    let stream = this.streams.get(name);
    if (stream === undefined) {
      stream = new Stream(this, name);
      this.streams.set(name, stream);
    }
    return stream;
  }

  /** Returns a stream for a claim. Throws if the log has too many streams. */
  claim(name: string): Stream {
    const { maxStreams = MAX_STREAMS } = this.options;
    const found = this.streams.get(name);
    if (found !== undefined && found.claim > 0) return found;
    if (this.claimed >= maxStreams) throw fullError(this.name, name, maxStreams);
    this.claimed++;
    return found ?? this.stream(name);
  }

  append(stream: Stream, id: string, data: string, last: boolean): void {
    const { expiries } = this.table;
    const { keepMs, maxEntries, maxBytes } = this.options;
    const entry = { id, data, last, stream, number: stream.entries.end, goneAt: expiries.now() + keepMs };
    stream.entries.push(entry);
    this.#entries.push(entry);
    this.#byId.set(id, entry);
    this.chars += data.length;
    this.table.chars += data.length;
    if (this.place < 0) expiries.setAt(this, entry.goneAt);
    while ((this.size > maxEntries || this.chars > maxBytes) && this.size > 1) this.evict();
    this.table.trim(this);
    stream.wake();
  }

  /** Drops the oldest entry. */
  evict(): void {
    const entry = this.#entries.shift();
    if (entry === undefined) return;
    entry.stream.entries.shift();
    this.#byId.delete(entry.id);
    this.chars -= entry.data.length;
    this.table.chars -= entry.data.length;
    this.tidy(entry.stream);
    if (this.size === 0) this.table.rest(this);
  }

  /** Forgets a stream of which nothing is left to know. */
  tidy(stream: Stream): void {
    const isUsed = stream.followers !== undefined || stream.entries.size > 0 || (stream.claim > 0 && !stream.isEnded);
    if (isUsed || this.streams.get(stream.name) !== stream) return;
    this.streams.delete(stream.name);
    if (stream.claim > 0) this.claimed--;
  }

  expire(): void {
    const now = this.table.expiries.now();
    let first = this.#entries.at(this.#entries.first);
    for (; first !== undefined && first.goneAt <= now; first = this.#entries.at(this.#entries.first)) this.evict();
    if (first !== undefined) this.table.expiries.setAt(this, first.goneAt);
  }
}

/** Mark of a dropped log. */
class Tombstone extends Expiring {
  constructor(
    readonly table: Map<string, Tombstone>,
    readonly name: string,
  ) {
    super();
  }

  expire(): void {
    this.table.delete(this.name);
  }
}

/** Logs that the nodes of a process share. */
export class LogTable {
  readonly logs = new Map<string, Log>();
  /** Dropped logs whose names cannot be used yet, at most `maxLogs`. The first was dropped first. */
  readonly #dropped = new Map<string, Tombstone>();
  /** Logs with entries. The first has received no entry for the longest time. */
  readonly #filled = new Set<Log>();
  /** Streams without an end, by the node that claimed them last. */
  readonly #open = new Map<string, Set<Stream>>();
  chars = 0;
  #claims = 0;
  #newest: Log | undefined;

  constructor(
    readonly expiries: Expiries,
    readonly maxLogs: number,
    readonly maxLoggedChars: number,
  ) {}

  /** Number of nodes with streams that have no end. */
  get openSize(): number {
    return this.#open.size;
  }

  /** Number of dropped logs whose names cannot be used yet. */
  get droppedSize(): number {
    return this.#dropped.size;
  }

  /** Creates a log if it does not exist. Returns false if it was dropped a short time ago. */
  create(name: string, options: LogOptions): boolean {
    if (this.logs.has(name)) return true;
    if (this.#dropped.has(name)) return false;
    assertRoom(this.logs.size, this.maxLogs, `log "${name}"`, "maxLogs");
    this.logs.set(name, new Log(this, name, options, this.#claims));
    return true;
  }

  drop(name: string): void {
    const log = this.logs.get(name);
    if (log === undefined) return;
    log.isDropped = true;
    this.logs.delete(name);
    this.expiries.remove(log);
    this.rest(log);
    this.chars -= log.chars;
    for (const stream of log.streams.values()) {
      this.setOwner(stream, undefined);
      stream.wake();
    }
    this.#bury(name, log.options.keepMs);
  }

  /** Keeps the name of a dropped log from use for some time. */
  #bury(name: string, ms: number): void {
    if (this.#dropped.size >= this.maxLogs) {
      const [oldest] = this.#dropped.values();
      if (oldest !== undefined) this.expiries.remove(oldest);
      oldest?.expire();
    }
    const tombstone = new Tombstone(this.#dropped, name);
    this.#dropped.set(name, tombstone);
    this.expiries.set(tombstone, ms);
  }

  /** Returns the number of a new claim. No two claims have the same. */
  nextClaim(): number {
    return ++this.#claims;
  }

  openOf(node: string): readonly Stream[] {
    return [...(this.#open.get(node) ?? [])];
  }

  /** Counts a stream among those that a node has to end. */
  setOwner(stream: Stream, node: string | undefined): void {
    const { owner } = stream;
    if (owner === node) return;
    const old = owner === undefined ? undefined : this.#open.get(owner);
    if (old?.delete(stream) && old.size === 0) this.#open.delete(owner as string);
    stream.owner = node;
    if (node === undefined) return;
    const open = this.#open.get(node);
    if (open === undefined) this.#open.set(node, new Set([stream]));
    else open.add(stream);
  }

  /** Evicts entries while there are too many characters, first of the log without a new entry for the longest time. */
  trim(newest: Log): void {
    if (this.#newest !== newest) {
      this.#filled.delete(newest);
      this.#filled.add(newest);
      this.#newest = newest;
    }
    for (const log of this.#filled) {
      const least = log === newest ? 1 : 0;
      while (this.chars > this.maxLoggedChars && log.size > least) log.evict();
      if (this.chars <= this.maxLoggedChars) return;
    }
  }

  /** Takes note that a log has no entries. */
  rest(log: Log): void {
    this.#filled.delete(log);
    if (this.#newest === log) this.#newest = undefined;
  }
}
