import type {
  AppendResult,
  ClaimedStream,
  LogPlace,
  OpenStream,
  StoredEntry,
  StoreLogLimits,
  StreamPage,
} from "../store.js";
import { type Expiries, Expiring } from "./expiries.js";
import { assertRoom } from "./limits.js";
import { Window } from "./window.js";

interface Entry extends StoredEntry {
  readonly stream: Stream;
  readonly seq: number;
  readonly goneAt: number;
}

/** Claimed stream of a log. */
class Stream {
  /** Entries that are kept. */
  readonly entries = new Window<Entry>();
  claim = "";
  /** Node that claimed the stream last. */
  node: string | undefined;
  /** Sequence number that the writer appends next. */
  seq = 0;
  top = "0";
  trimmed = "0";
  isEnded = false;

  constructor(
    readonly log: Log,
    readonly name: string,
  ) {}

  /** Returns up to `limit` entries with greater numbers. */
  after(n: number, limit: number): Entry[] {
    let [from, to] = [this.entries.first, this.entries.end];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (Number(this.entries.at(middle)?.n) > n) to = middle;
      else from = middle + 1;
    }
    return this.entries.from(from).slice(0, limit);
  }
}

/** Log with its streams. It expires when its oldest entry does. */
class Log extends Expiring {
  readonly streams = new Map<string, Stream>();
  /** Entries of all streams. The number of an entry is one more than its place. */
  readonly entries = new Window<Entry>();
  chars = 0;

  constructor(
    readonly table: LogTable,
    readonly name: string,
    readonly id: string,
    readonly limits: StoreLogLimits,
  ) {
    super();
  }

  entryAt({ id, n, claim }: LogPlace): Entry | undefined {
    const entry = id === this.id ? this.entries.at(Number(n) - 1) : undefined;
    return entry?.claim === claim ? entry : undefined;
  }

  append(stream: Stream, data: string, last: boolean): string {
    const { expiries } = this.table;
    const n = String(this.entries.end + 1);
    const goneAt = expiries.now() + this.limits.keepMs;
    const entry = { n, stream, claim: stream.claim, seq: stream.seq++, data, last, goneAt };
    stream.entries.push(entry);
    this.entries.push(entry);
    stream.top = n;
    stream.isEnded = last;
    this.chars += data.length;
    this.table.chars += data.length;
    if (this.place < 0) expiries.setAt(this, goneAt);
    const { maxEntries, maxBytes } = this.limits;
    while (this.entries.size > 1 && (this.entries.size > maxEntries || this.chars > maxBytes)) this.evict();
    this.table.trim(this);
    return n;
  }

  /** Drops the oldest entry, and its stream if the entry ended it. */
  evict(): void {
    const entry = this.entries.shift();
    if (entry === undefined) return;
    const { stream } = entry;
    stream.entries.shift();
    stream.trimmed = entry.n;
    this.chars -= entry.data.length;
    this.table.chars -= entry.data.length;
    if (entry.last) this.streams.delete(stream.name);
    if (this.entries.size === 0) this.table.rest(this);
  }

  expire(): void {
    const now = this.table.expiries.now();
    let first = this.entries.at(this.entries.first);
    for (; first !== undefined && first.goneAt <= now; first = this.entries.at(this.entries.first)) this.evict();
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

/** Logs in memory. */
export class LogTable {
  readonly expiries: Expiries;
  readonly #maxLogs: number;
  readonly #maxChars: number;
  readonly #logs = new Map<string, Log>();
  /** Dropped logs whose names cannot be used yet, at most `maxLogs`. The first was dropped first. */
  readonly #dropped = new Map<string, Tombstone>();
  /** Logs with entries. The first has received no entry for the longest time. */
  readonly #filled = new Set<Log>();
  /** Streams without an end, by the node that claimed them last. */
  readonly #open = new Map<string, Set<Stream>>();
  /** Number of characters of all entries. */
  chars = 0;
  #created = 0;
  #newest: Log | undefined;

  constructor(expiries: Expiries, maxLogs: number, maxChars: number) {
    this.expiries = expiries;
    this.#maxLogs = maxLogs;
    this.#maxChars = maxChars;
  }

  /** Number of logs, of names of dropped ones, and of nodes with streams that have no end. */
  get sizes(): { readonly logs: number; readonly dropped: number; readonly nodes: number } {
    return { logs: this.#logs.size, dropped: this.#dropped.size, nodes: this.#open.size };
  }

  create(name: string, limits: StoreLogLimits): boolean {
    this.expiries.catchUp();
    if (this.#logs.has(name)) return true;
    if (this.#dropped.has(name)) return false;
    assertRoom(this.#logs.size, this.#maxLogs, `log "${name}"`, "maxLogs");
    this.#logs.set(name, new Log(this, name, String(++this.#created), limits));
    return true;
  }

  claim(name: string, streamName: string, node: string, claim: string): string | undefined {
    const log = this.#find(name);
    if (log === undefined) return undefined;
    const stream = log.streams.get(streamName) ?? this.#createStream(log, streamName);
    if (stream === undefined) return `full:${log.limits.maxStreams}`;
    stream.claim = claim;
    stream.seq = 0;
    if (!stream.isEnded) this.#setNode(stream, node);
    return log.id;
  }

  append(
    { log: name, id, stream: streamName, claim }: ClaimedStream,
    seq: number,
    entries: readonly { readonly data: string; readonly last: boolean }[],
  ): AppendResult[] {
    const results: AppendResult[] = [];
    const log = this.#find(name);
    for (const [at, { data, last }] of entries.entries()) {
      const result = log?.id === id ? this.#append(log, streamName, claim, seq + at, data, last) : "dropped";
      results.push(result);
      if (!/^\d+$/.test(result)) break;
    }
    return results;
  }

  find(name: string, place: LogPlace): string | undefined {
    return this.#find(name)?.entryAt(place)?.stream.name;
  }

  read(name: string, streamName: string, after: LogPlace | undefined, limit: number): StreamPage | undefined {
    const log = this.#find(name);
    if (log === undefined) return undefined;
    const stream = log.streams.get(streamName);
    return {
      id: log.id,
      entries: (stream?.after(Number(after?.n ?? 0), limit) ?? []).map(({ n, claim, data, last }) => {
        return { n, claim, data, last };
      }),
      isKept: after === undefined || (stream !== undefined && log.entryAt(after)?.stream === stream),
      trimmed: stream?.trimmed ?? "0",
      isKnown: stream !== undefined,
      isEnded: stream?.isEnded === true,
      top: stream?.top ?? "0",
    };
  }

  openOf(node: string, after: OpenStream | undefined, limit: number): OpenStream[] {
    return [...(this.#open.get(node) ?? [])]
      .map(({ log, name }) => ({ log: log.name, stream: name, id: log.id }))
      .filter((stream) => after === undefined || isAfter(stream, after))
      .sort((one, other) => (isAfter(one, other) ? 1 : -1))
      .slice(0, limit);
  }

  /** Deletes a log. Returns false if there is none. */
  drop(name: string): boolean {
    const log = this.#find(name);
    if (log === undefined) return false;
    this.#logs.delete(name);
    this.expiries.remove(log);
    this.rest(log);
    this.chars -= log.chars;
    for (const stream of log.streams.values()) this.#setNode(stream, undefined);
    this.#bury(name, log.limits.keepMs);
    return true;
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
      while (this.chars > this.#maxChars && log.entries.size > least) log.evict();
      if (this.chars <= this.#maxChars) return;
    }
  }

  /** Takes note that a log has no entries. */
  rest(log: Log): void {
    this.#filled.delete(log);
    if (this.#newest === log) this.#newest = undefined;
  }

  #find(name: string): Log | undefined {
    this.expiries.catchUp();
    return this.#logs.get(name);
  }

  /** Returns undefined if the log has too many streams. */
  #createStream(log: Log, name: string): Stream | undefined {
    if (log.streams.size >= log.limits.maxStreams) return undefined;
    const stream = new Stream(log, name);
    log.streams.set(name, stream);
    return stream;
  }

  #append(log: Log, name: string, claim: string, seq: number, data: string, last: boolean): AppendResult {
    const stream = log.streams.get(name);
    if (stream?.claim !== claim) return "fenced";
    if (seq < stream.seq) {
      const entry = stream.entries.at(stream.entries.end - (stream.seq - seq));
      if (entry?.claim !== claim || entry.seq !== seq) return "missed";
      return entry.data === data && entry.last === last ? entry.n : `different:${stream.seq}`;
    }
    if (stream.isEnded) return "ended";
    if (seq > stream.seq) return `order:${stream.seq}`;
    const n = log.append(stream, data, last);
    if (last) this.#setNode(stream, undefined);
    return n;
  }

  /** Keeps the name of a dropped log from use for some time. */
  #bury(name: string, ms: number): void {
    if (this.#dropped.size >= this.#maxLogs) {
      const [oldest] = this.#dropped.values();
      if (oldest !== undefined) this.expiries.remove(oldest);
      oldest?.expire();
    }
    const tombstone = new Tombstone(this.#dropped, name);
    this.#dropped.set(name, tombstone);
    this.expiries.set(tombstone, ms);
  }

  /** Counts a stream among those that a node has to end. */
  #setNode(stream: Stream, node: string | undefined): void {
    const { node: before } = stream;
    if (before === node) return;
    const old = before === undefined ? undefined : this.#open.get(before);
    if (old?.delete(stream) && old.size === 0) this.#open.delete(before as string);
    stream.node = node;
    if (node === undefined) return;
    const open = this.#open.get(node) ?? new Set();
    this.#open.set(node, open.add(stream));
  }
}

function isAfter(one: OpenStream, other: OpenStream): boolean {
  if (one.id !== other.id) return Number(one.id) > Number(other.id);
  return one.stream > other.stream;
}
