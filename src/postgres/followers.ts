import type { LogEntry } from "../cluster/cluster.js";
import { ClusterError } from "../cluster/error.js";
import { missedError } from "../cluster/log-errors.js";
import type { Engine } from "./engine.js";
import type { Outbox } from "./outbox.js";
import { numberOf, type Place, type StreamPage, type StreamReader } from "./stream-reader.js";
import type { Names } from "./tables.js";
import { toStored } from "./text.js";
import { Wake } from "./wakes.js";

/** Number of entries that a follower reads at once. */
const PAGE = 200;

/** Number of followers for which one statement looks. */
const MAX_LOOK = 1000;

/** Time after which a follower reads again when the server was away. */
const RETRY_MS = 200;

interface Follower extends Wake {
  readonly stream: string;
  place: Place | undefined;
  /** True if the stream was claimed at the last read. */
  isKnown: boolean;
}

/**
 * Followers of the streams of this process. A notification wakes those of its log. One statement per heartbeat finds the
 * changes of which no notification came, as when a writer ended between an entry and its notification.
 */
export class Followers {
  readonly #engine: Engine;
  readonly #names: Names;
  readonly #outbox: Outbox;
  readonly #reader: StreamReader;
  readonly #closed: AbortSignal;
  readonly #byLog = new Map<string, Set<Follower>>();

  constructor(engine: Engine, names: Names, outbox: Outbox, reader: StreamReader, closed: AbortSignal) {
    this.#engine = engine;
    this.#names = names;
    this.#outbox = outbox;
    this.#reader = reader;
    this.#closed = closed;
  }

  /** Wakes the followers of a log on all processes. */
  changed(log: string): void {
    this.wake(log);
    this.#outbox.nudgeLog(log);
  }

  /** Wakes the followers of a log on this process. */
  wake(log: string): void {
    for (const follower of this.#byLog.get(log) ?? []) follower.wake();
  }

  /** Wakes the followers of this process whose streams have changed. */
  async look(): Promise<void> {
    const all = [...this.#byLog].flatMap(([log, set]) => [...set].map((follower) => ({ log, follower })));
    const text = `select x.i::text from jsonb_to_recordset($1::text::jsonb) as x(i int, log bigint, stream text, n bigint, known boolean)
      left join ${this.#names.of("logs")} l on l.id = x.log and l.gone is null
      left join ${this.#names.of("streams")} s on s.log = x.log and s.name = x.stream
      where l.id is null or s.top > x.n or (s.log is null and x.known)`;
    for (let from = 0; from < all.length; from += MAX_LOOK) {
      const part = all.slice(from, from + MAX_LOOK);
      const wanted = part.map(({ log, follower }, i) => ({
        i,
        log,
        stream: toStored(follower.stream),
        n: follower.place?.n ?? "0",
        known: follower.isKnown,
      }));
      const statement = { operation: "look for entries", text, isRead: true };
      for (const { i } of await this.#engine.run(statement, JSON.stringify(wanted))) part[Number(i)]?.follower.wake();
    }
  }

  async *follow(log: string, stream: string, after: string | undefined, signal: AbortSignal): AsyncIterable<LogEntry> {
    if (signal.aborted) return;
    const place = after === undefined ? undefined : numberOf(after);
    if (after !== undefined && place === undefined) throw missedError(log, stream);
    const follower: Follower = Object.assign(new Wake(), { stream, place, isKnown: false });
    const ended = [signal, this.#closed];
    let page = await this.#read(log, follower, ended);
    if (page === undefined) return;
    if (!page.isKept) throw missedError(log, stream);
    const { log: id } = page;
    this.#add(id, follower);
    try {
      // The first page may lack entries that are not kept, if it was not asked for those after an entry.
      for (let isFirst = after === undefined; page?.log === id; isFirst = false) {
        yield* this.#advance(follower, page, isFirst, { log, stream });
        if (signal.aborted || isOver(follower, page)) return;
        if (page.entries.length < PAGE) await follower.wait(this.#engine.clock, Number.POSITIVE_INFINITY, ended);
        if (signal.aborted) return;
        if (this.#closed.aborted) throw closed(log, stream);
        page = await this.#read(log, follower, ended);
      }
    } finally {
      this.#remove(id, follower);
    }
  }

  /** Yields the entries of a page. Throws if entries before them are not kept. */
  *#advance(follower: Follower, page: StreamPage, isFirst: boolean, at: { log: string; stream: string }) {
    const isForgotten = follower.isKnown && !page.isKnown;
    follower.isKnown = page.isKnown;
    const isTrimmed = page.trimmed > BigInt(follower.place?.n ?? 0) || page.entries.some(({ isOld }) => isOld);
    if (isForgotten || (!isFirst && isTrimmed)) throw missedError(at.log, at.stream);
    if (page.entries.length === 0 && isFirst) follower.place = { log: page.log, n: String(page.trimmed) };
    for (const { entry, n, isOld } of page.entries) {
      follower.place = { log: page.log, n };
      if (!isOld) yield entry;
    }
  }

  /** Reads after the place of a follower, and goes on doing so while the server is away. */
  async #read(log: string, follower: Follower, ended: readonly AbortSignal[]): Promise<StreamPage | undefined> {
    for (;;) {
      try {
        return await this.#reader.read(log, follower.stream, follower.place, PAGE);
      } catch (error) {
        const isAway = error instanceof ClusterError && error.failure === "unavailable";
        if (!isAway) throw error;
        await follower.wait(this.#engine.clock, RETRY_MS, ended);
        if (this.#closed.aborted) throw closed(log, follower.stream);
        if (ended.some(({ aborted }) => aborted)) return undefined;
      }
    }
  }

  #add(log: string, follower: Follower): void {
    const set = this.#byLog.get(log) ?? new Set();
    this.#byLog.set(log, set.add(follower));
    // An entry may have come between the first page and this moment.
    follower.wake();
  }

  #remove(log: string, follower: Follower): void {
    const set = this.#byLog.get(log);
    if (set?.delete(follower) && set.size === 0) this.#byLog.delete(log);
  }
}

/** True if the stream has ended and the follower has all of it. */
function isOver(follower: Follower, page: StreamPage): boolean {
  return page.isEnded && BigInt(follower.place?.n ?? 0) >= page.top;
}

function closed(log: string, stream: string): ClusterError {
  return new ClusterError("unavailable", `Log ${log}, stream ${stream}: the cluster is closed.`);
}
