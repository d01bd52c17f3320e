import type { LogEntry } from "./cluster.js";
import { ClusterError, closedError } from "./error.js";
import { missedError, named } from "./log-errors.js";
import { entryOf, placeOf } from "./logs.js";
import type { Operations } from "./operations.js";
import type { LogPlace, StreamPage } from "./store.js";
import { Wake } from "./wake.js";

/** Number of entries that a follower reads at once. */
const PAGE = 200;

/** Time after which a follower reads again when the engine was away. */
const RETRY_MS = 200;

interface Follower extends Wake {
  readonly log: string;
  readonly stream: string;
  place: LogPlace | undefined;
  /** True if the stream was claimed at the last read. */
  isKnown: boolean;
}

/** Followers of streams in this process. Each waits until its log has changed. */
export class Followers {
  readonly #operations: Operations;
  readonly #byLog = new Map<string, Set<Follower>>();

  constructor(operations: Operations) {
    this.#operations = operations;
  }

  /** Wakes the followers of a log. */
  wake(log: string): void {
    for (const follower of this.#byLog.get(log) ?? []) follower.wake();
  }

  wakeAll(): void {
    for (const log of this.#byLog.keys()) this.wake(log);
  }

  async *follow(log: string, stream: string, after: string | undefined, signal: AbortSignal): AsyncIterable<LogEntry> {
    if (signal.aborted) return;
    const { clock, closing } = this.#operations;
    const place = after === undefined ? undefined : placeOf(after);
    if (after !== undefined && place === undefined) throw missedError(log, stream);
    const follower: Follower = Object.assign(new Wake(), { log, stream, place, isKnown: false });
    const ended = [signal, closing];
    this.#add(follower);
    try {
      let page = await this.#read(follower, ended);
      if (page === undefined) return;
      if (!page.isKept) throw missedError(log, stream);
      const { id } = page;
      // The first page may lack entries that are not kept, if it was not asked for those after an entry.
      for (let isFirst = after === undefined; page?.id === id; isFirst = false) {
        yield* advance(follower, page, isFirst);
        if (signal.aborted || hasAll(follower, page)) return;
        if (page.entries.length < PAGE) await follower.wait(clock, Number.POSITIVE_INFINITY, ended);
        if (signal.aborted) return;
        if (closing.aborted) throw closedError(`follow ${named(log, stream)}`);
        page = await this.#read(follower, ended);
      }
    } finally {
      this.#remove(follower);
    }
  }

  /** Reads after the place of a follower. Tries again while the engine is away. */
  async #read(follower: Follower, ended: readonly AbortSignal[]): Promise<StreamPage | undefined> {
    const { clock, store, closing } = this.#operations;
    const { log, stream } = follower;
    for (;;) {
      try {
        return await store.logs.read(log, stream, follower.place, PAGE);
      } catch (error) {
        if (!(error instanceof ClusterError) || error.failure !== "unavailable") throw error;
        await follower.wait(clock, RETRY_MS, ended);
        if (closing.aborted) throw closedError(`follow ${named(log, stream)}`);
        if (ended.some(({ aborted }) => aborted)) return undefined;
      }
    }
  }

  #add(follower: Follower): void {
    const set = this.#byLog.get(follower.log) ?? new Set();
    this.#byLog.set(follower.log, set.add(follower));
  }

  #remove(follower: Follower): void {
    const set = this.#byLog.get(follower.log);
    if (set?.delete(follower) && set.size === 0) this.#byLog.delete(follower.log);
  }
}

/** Yields the entries of a page. Throws if entries before them are not kept, or were lost by the engine. */
function* advance(follower: Follower, page: StreamPage, isFirst: boolean): Iterable<LogEntry> {
  const { log, stream, place } = follower;
  const trimmed = BigInt(page.trimmed);
  const at = BigInt(place?.n ?? 0);
  const isForgotten = follower.isKnown && !page.isKnown;
  follower.isKnown = page.isKnown;
  // An entry that is neither kept nor trimmed is of a state that the engine has lost.
  const isUnknown = !page.isKept && at > trimmed;
  if (isForgotten || isUnknown || (!isFirst && trimmed > at)) throw missedError(log, stream);
  if (page.entries.length === 0 && isFirst) follower.place = { id: page.id, n: page.trimmed, claim: "" };
  for (const entry of page.entries) {
    follower.place = { id: page.id, n: entry.n, claim: entry.claim };
    yield entryOf(page.id, entry);
  }
}

/** True if the stream has ended and the follower has all of it. */
function hasAll(follower: Follower, page: StreamPage): boolean {
  return page.isEnded && BigInt(follower.place?.n ?? 0) >= BigInt(page.top);
}
