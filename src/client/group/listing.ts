import { followSignal } from "../../call/abortable.js";
import { ServerUnavailableError, toError } from "../../protocol/errors.js";

/** One server's part of a listing. */
export interface ListedServer<T> {
  readonly name: string;
  /** Rejects when the server has nothing to give in time, or when nobody wants it any more. */
  read(unwanted: AbortSignal): Promise<readonly T[]>;
}

/** A listing of many servers: item by item in a loop, or all at once. Each reading asks all servers together. */
export class GroupListing<T> implements AsyncIterable<T> {
  readonly #servers: readonly ListedServer<T>[];
  readonly #signal: AbortSignal | undefined;
  readonly #onError: (error: Error, server: string) => void;
  readonly #failures = new Map<string, Error>();

  /** The caller's signal ends the whole reading; anything else concerns one server. */
  constructor(
    servers: readonly ListedServer<T>[],
    signal: AbortSignal | undefined,
    onError: (error: Error, server: string) => void,
  ) {
    this.#servers = servers;
    this.#signal = signal;
    this.#onError = onError;
  }

  /** Which servers had nothing to give in the last reading, and why. */
  get failures(): ReadonlyMap<string, Error> {
    return this.#failures;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    this.#failures.clear();
    const left = new AbortController();
    const signal = this.#signal;
    const unfollow = signal && followSignal(signal, () => left.abort(signal.reason));
    try {
      for (const part of this.#servers.map((server) => this.#readFrom(server, left.signal))) yield* await part;
      signal?.throwIfAborted();
    } finally {
      unfollow?.();
      left.abort();
    }
  }

  async all(): Promise<T[]> {
    const all: T[] = [];
    for await (const item of this) all.push(item);
    return all;
  }

  /** Never rejects. */
  async #readFrom(server: ListedServer<T>, unwanted: AbortSignal): Promise<readonly T[]> {
    try {
      return await server.read(unwanted);
    } catch (thrown) {
      if (unwanted.aborted) return [];
      const error = toError(thrown);
      this.#failures.set(server.name, error);
      // Servers that are left alone were reported when they failed.
      if (!(error instanceof ServerUnavailableError)) this.#onError(error, server.name);
      return [];
    }
  }
}
