import { followSignal } from "../../call/abortable.js";
import type { Clock } from "../../call/clock.js";
import { ServerUnavailableError, TimeoutError, toError } from "../../protocol/errors.js";

/** One server's part of a listing. */
export interface ListedServer<T> {
  readonly name: string;
  /** Rejects when the server has nothing to give in time, or when nobody wants it any more. */
  read(unwanted: AbortSignal): Promise<readonly T[]>;
}

export interface ListingOptions {
  readonly clock: Clock;
  /** Ends the whole reading; anything else concerns one server. */
  readonly signal: AbortSignal | undefined;
  /** Time that the other servers have once one server has listed. */
  readonly graceMs: number;
  onError(error: Error, server: string): void;
}

/** The reason of a read that is ended because other servers have listed long before. */
const LATE = new Error("late");

/** A listing of many servers: item by item in a loop, or all at once. Each reading asks all servers together. */
export class GroupListing<T> implements AsyncIterable<T> {
  readonly #servers: readonly ListedServer<T>[];
  readonly #options: ListingOptions;
  readonly #failures = new Map<string, Error>();

  constructor(servers: readonly ListedServer<T>[], options: ListingOptions) {
    this.#servers = servers;
    this.#options = options;
  }

  /** Which servers had nothing to give in the last reading, and why. */
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
      // Servers that are left alone were reported when they failed.
      if (!(error instanceof ServerUnavailableError)) this.#options.onError(error, server.name);
      return [];
    }
  }

  #lateError(server: string): TimeoutError {
    const { graceMs } = this.#options;
    const message = `Server ${server} did not list within ${graceMs} ms after another server (option listGraceMs)`;
    return new TimeoutError("deadline", graceMs, message);
  }
}
