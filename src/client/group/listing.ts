import { followSignal } from "../../call/abortable.js";
import type { Clock } from "../../call/clock.js";
import { ServerUnavailableError, TimeoutError, toError } from "../../protocol/errors.js";

/** Server that a listing reads from. */
export interface ListedServer<T> {
  readonly name: string;
  /** Reads the items. Rejects if the server fails or takes too long, or if the signal aborts. */
  read(unwanted: AbortSignal): Promise<readonly T[]>;
}

/** Options of a listing. */
export interface ListingOptions {
  readonly clock: Clock;
  /** Aborts the whole listing. */
  readonly signal: AbortSignal | undefined;
  /** Time that the other servers have after the first server has listed. */
  readonly graceMs: number;
  onError(error: Error, server: string): void;
}

/** Abort reason for servers that take longer than `graceMs` after the first one. */
const LATE = new Error("late");

/**
 * Listing of several servers: iterate over its items, or collect them with `all`. Each iteration reads from all servers
 * in parallel.
 */
export class GroupListing<T> implements AsyncIterable<T> {
  readonly #servers: readonly ListedServer<T>[];
  readonly #options: ListingOptions;
  readonly #failures = new Map<string, Error>();

  /** @internal */
  constructor(servers: readonly ListedServer<T>[], options: ListingOptions) {
    this.#servers = servers;
    this.#options = options;
  }

  /** Servers that failed in the last iteration, with their errors. */
  get failures(): ReadonlyMap<string, Error> {
    return this.#failures;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    this.#failures.clear();
    const left = new AbortController();
    const { clock, signal, graceMs } = this.#options;
    const unfollow = signal && followSignal(signal, () => left.abort(signal.reason));
    let grace: unknown;
    const onListed = () => {
      if (!left.signal.aborted && graceMs < Number.POSITIVE_INFINITY)
        grace ??= clock.schedule(() => left.abort(LATE), graceMs);
    };
    try {
      for (const part of this.#servers.map((server) => this.#readFrom(server, left.signal, onListed)))
        yield* await part;
      signal?.throwIfAborted();
    } finally {
      unfollow?.();
      left.abort();
      if (grace !== undefined) clock.cancel(grace);
    }
  }

  async all(): Promise<T[]> {
    const all: T[] = [];
    for await (const item of this) all.push(item);
    return all;
  }

  /** Never rejects. */
  async #readFrom(server: ListedServer<T>, unwanted: AbortSignal, onListed: () => void): Promise<readonly T[]> {
    try {
      const items = await server.read(unwanted);
      onListed();
      return items;
    } catch (thrown) {
      const isLate = unwanted.reason === LATE;
      if (unwanted.aborted && !isLate) return [];
      const error = isLate ? this.#lateError(server.name) : toError(thrown);
      this.#failures.set(server.name, error);
      // A server in its backoff was reported when it failed.
      if (!(error instanceof ServerUnavailableError)) this.#options.onError(error, server.name);
      return [];
    }
  }

  #lateError(server: string): TimeoutError {
    const { graceMs } = this.#options;
    const message = `Server ${server} did not return its list within ${graceMs} ms after another server (option listGraceMs)`;
    return new TimeoutError("deadline", graceMs, message);
  }
}
