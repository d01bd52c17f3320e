import type { Clock } from "../../call/clock.js";
import type { LogEntry } from "../cluster.js";
import { ClusterError } from "../error.js";
import { missedError } from "../log-errors.js";
import { numberOf, type Place, type ReadStream, type StreamPage } from "./stream-page.js";
import { Wake } from "./wake.js";

/** Number of entries that a follower reads at once. */
const PAGE = 200;

/** Time after which a follower reads again when the engine was away. */
const RETRY_MS = 200;

export interface Follower extends Wake {
  readonly stream: string;
  place: Place | undefined;
  /** True if the stream was claimed at the last read. */
  isKnown: boolean;
}

/** Followers of the streams of this process. Each waits until the adapter learns that its log has changed. */
export class Followers {
  readonly #clock: Clock;
  readonly #readPage: ReadStream;
  readonly #closed: AbortSignal;
  readonly #byLog = new Map<string, Set<Follower>>();

  constructor(clock: Clock, read: ReadStream, closed: AbortSignal) {
    this.#clock = clock;
    this.#readPage = read;
    this.#closed = closed;
  }

  /** Wakes the followers of a log on this process. */
  wake(log: string): void {
    for (const follower of this.#byLog.get(log) ?? []) follower.wake();
  }

  /** Followers of this process with the numbers of their logs. */
  all(): { readonly log: string; readonly follower: Follower }[] {
    return [...this.#byLog].flatMap(([log, set]) => [...set].map((follower) => ({ log, follower })));
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
        if (page.entries.length < PAGE) await follower.wait(this.#clock, Number.POSITIVE_INFINITY, ended);
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

  /** Reads after the place of a follower, and goes on doing so while the engine is away. */
  async #read(log: string, follower: Follower, ended: readonly AbortSignal[]): Promise<StreamPage | undefined> {
    for (;;) {
      try {
        return await this.#readPage(log, follower.stream, follower.place, PAGE);
      } catch (error) {
        const isAway = error instanceof ClusterError && error.failure === "unavailable";
        if (!isAway) throw error;
        await follower.wait(this.#clock, RETRY_MS, ended);
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
