import type { LogEntry, LogOptions, Logs, Writer } from "../cluster.js";
import {
  buriedError,
  differentError,
  droppedError,
  endedError,
  fencedError,
  missedError,
  skippedError,
} from "../log-errors.js";
import type { Link } from "./link.js";
import type { Entry, Log, LogTable, Stream } from "./log-table.js";
import { Waiter } from "./waiter.js";

export class MemoryLogs implements Logs {
  readonly #link: Link;
  readonly #table: LogTable;

  constructor(link: Link, table: LogTable) {
    this.#link = link;
    this.#table = table;
  }

  create(log: string, options: LogOptions): void {
    this.#begin();
    if (!this.#table.create(log, options)) throw buriedError(log);
  }

  claim(log: string, stream: string): MemoryWriter {
    const claimed = this.#find(log).claim(stream);
    claimed.claim = this.#table.nextClaim();
    claimed.seq = 0;
    if (!claimed.isEnded) this.#table.setOwner(claimed, this.#link.node);
    return new MemoryWriter(this.#link, this.#table, claimed, claimed.claim);
  }

  /** Returns the writer of an earlier claim. Fails with `missed` if the stream has ended and its entries are not kept. */
  writer(log: string, stream: string, claim: number): MemoryWriter {
    const { after, streams } = this.#find(log);
    if (claim <= after) throw droppedError(log);
    const found = streams.get(stream);
    if (found === undefined) throw missedError(log, stream);
    return new MemoryWriter(this.#link, this.#table, found, claim);
  }

  find(log: string, id: string): string | undefined {
    this.#begin();
    return this.#table.logs.get(log)?.find(id)?.stream.name;
  }

  readAfter(log: string, stream: string, id?: string): readonly LogEntry[] | undefined {
    this.#begin();
    const found = this.#table.logs.get(log);
    const after = id === undefined ? undefined : found?.find(id);
    if (id !== undefined && after?.stream.name !== stream) return undefined;
    return (
      found?.streams
        .get(stream)
        ?.entries.from(after === undefined ? 0 : after.number + 1)
        .map(shown) ?? []
    );
  }

  async *follow(log: string, stream: string, after: string | undefined, signal: AbortSignal): AsyncIterable<LogEntry> {
    this.#begin();
    const found = this.#table.logs.get(log);
    if (found === undefined || signal.aborted) return;
    const place = after === undefined ? undefined : found.find(after);
    if (after !== undefined && place?.stream.name !== stream) throw missedError(log, stream);
    const followed = found.stream(stream);
    const waiter = new Waiter(this.#link, signal);
    followed.follow(waiter);
    try {
      yield* this.#entriesOf(followed, place === undefined ? followed.entries.first : place.number + 1, waiter);
      if (!signal.aborted) this.#link.check();
    } finally {
      waiter.leave();
      followed.leave(waiter);
    }
  }

  async *openOf(node: string): AsyncIterable<{ readonly log: string; readonly stream: string }> {
    this.#begin();
    for (const { log, name } of this.#table.openOf(node)) yield { log: log.name, stream: name };
  }

  drop(log: string): void {
    this.#begin();
    this.#table.drop(log);
  }

  async *#entriesOf(stream: Stream, from: number, waiter: Waiter): AsyncIterable<LogEntry> {
    for (let number = from; waiter.goesOn && !stream.log.isDropped; ) {
      this.#table.expiries.catchUp();
      const { entries } = stream;
      if (number < entries.first) throw missedError(stream.log.name, stream.name);
      const entry = this.#link.isUp ? entries.at(number) : undefined;
      if (entry !== undefined) {
        number++;
        yield shown(entry);
      } else if (stream.isEnded && number === entries.end) return;
      else await waiter.wait();
    }
  }

  #find(log: string): Log {
    this.#begin();
    const found = this.#table.logs.get(log);
    if (found === undefined) throw droppedError(log);
    return found;
  }

  #begin(): void {
    this.#link.check();
    this.#table.expiries.catchUp();
  }
}

/** Writer of a stream. The id of an entry is made of its claim and its sequence number, so that it can be repeated. */
export class MemoryWriter implements Writer {
  readonly #link: Link;
  readonly #stream: Stream;
  readonly #table: LogTable;

  constructor(
    link: Link,
    table: LogTable,
    stream: Stream,
    /** Number of the claim. */
    readonly claim: number,
  ) {
    this.#link = link;
    this.#table = table;
    this.#stream = stream;
  }

  append(seq: number, data: string, options?: { readonly last?: boolean }): string {
    this.#link.check();
    const stream = this.#stream;
    const { log } = stream;
    if (log.isDropped) throw droppedError(log.name);
    if (stream.claim !== this.claim) throw fencedError(log.name, stream.name);
    const id = `${this.claim.toString(36)}.${seq}`;
    const last = options?.last === true;
    if (seq < stream.seq) return this.#repeat(id, seq, data, last);
    if (stream.isEnded) throw endedError(log.name, stream.name);
    if (seq > stream.seq) throw skippedError(log.name, stream.name, seq, stream.seq);
    stream.seq++;
    if (last) {
      stream.isEnded = true;
      this.#table.setOwner(stream, undefined);
    }
    log.append(stream, id, data, last);
    return id;
  }

  /** Returns the id of an entry if it was appended like this. */
  #repeat(id: string, seq: number, data: string, last: boolean): string {
    const stream = this.#stream;
    this.#table.expiries.catchUp();
    const entry = stream.log.find(id);
    if (entry === undefined) throw missedError(stream.log.name, stream.name);
    if (entry.data !== data || entry.last !== last) throw differentError(stream.log.name, stream.name, seq, stream.seq);
    return id;
  }
}

function shown({ id, data, last }: Entry): LogEntry {
  return { id, data, last };
}
