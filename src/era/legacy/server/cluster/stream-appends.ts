import { Batches } from "../../../../cluster/batches.js";
import type { LogEntry, Writer } from "../../../../cluster/cluster.js";
import { ClusterError, type ClusterFailure, isUnknown } from "../../../../cluster/error.js";
import type { Retries } from "./retries.js";

export interface StreamAppendsOptions {
  readonly retries: Retries;
  readonly writer: Writer;
  /** For a stream that another process may take over, and this one again. */
  readonly turns?: StreamTurns;
}

export interface StreamTurns {
  /** Makes this process the writer again, if it is to write the stream. */
  reclaim(): Promise<Writer | undefined>;
  readAfter(id: string | undefined): Promise<readonly LogEntry[] | undefined>;
}

interface Waiting {
  readonly data: string;
  readonly last: boolean;
  resolve(id: string): void;
  reject(error: unknown): void;
}

/**
 * Appends the entries of a stream in order. Those that come while others are being appended wait, and are appended
 * together. They are repeated until the engine can be reached, so that no later entry can overtake them.
 */
export class StreamAppends {
  readonly #options: StreamAppendsOptions;
  #writer: Writer;
  readonly #waiting = new Batches<Waiting>((waiting) => this.#appendAll(waiting.splice(0)));
  #seq = 0;
  /** Id of the last entry. */
  #lastId: string | undefined;
  /** True if the outcome of the last attempt is unknown. */
  #isUncertain = false;

  constructor(options: StreamAppendsOptions) {
    this.#options = options;
    this.#writer = options.writer;
  }

  append(data: string, last = false): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting.add({ data, last, resolve, reject });
    });
  }

  /** Appends entries until each is stored or refused. One that is refused leaves its number to the next one. */
  async #appendAll(given: readonly Waiting[]): Promise<void> {
    const { retries } = this.#options;
    const left = [...given];
    for (let most = left.length; left.length > 0; ) {
      try {
        await retries.untilReached(() => this.#tryAppend(left, most));
      } catch (error) {
        if (most > 1 && !concernsAll(error)) most = 1;
        else await this.#onFailure(left, error);
      }
    }
  }

  /** Appends the first entries at once. Those that are stored are removed. */
  async #tryAppend(left: Waiting[], most: number): Promise<void> {
    const tried = left.slice(0, most).map(({ data, last }, at) => this.#writer.append(this.#seq + at, data, { last }));
    const results = await Promise.allSettled(tried);
    for (const result of results) {
      if (result.status === "rejected") {
        this.#isUncertain ||= results.some((other) => other.status === "rejected" && isUnknown(other.reason));
        throw result.reason;
      }
      this.#seq++;
      this.#lastId = result.value;
      left.shift()?.resolve(result.value);
    }
    this.#isUncertain = false;
  }

  /** Takes the first entry out, or all if the failure concerns them. They stay if this process is the writer again. */
  async #onFailure(left: Waiting[], error: unknown): Promise<void> {
    try {
      if (isFailure(error, "fenced") && (await this.#reclaim(left))) return;
    } catch (failed) {
      for (const { reject } of left.splice(0)) reject(failed);
      return;
    }
    // The entry was appended, and evicted.
    if (isFailure(error, "missed")) this.#seq++;
    for (const { reject } of left.splice(0, concernsAll(error) ? left.length : 1)) reject(error);
  }

  /**
   * Claims the stream again if this process is to write it: one that took the stream over earlier may have claimed it
   * later. Of entries whose outcome is unknown, the first may have been stored.
   */
  async #reclaim(left: Waiting[]): Promise<boolean> {
    const { turns } = this.#options;
    const former = this.#writer;
    const writer = await turns?.reclaim();
    if (turns === undefined || writer === undefined) return false;
    const isUncertain = this.#isUncertain;
    this.#writer = writer;
    this.#seq = 0;
    this.#isUncertain = false;
    if (!isUncertain) return true;
    for (const { id } of (await turns.readAfter(this.#lastId)) ?? []) if (former.wrote(id)) left.shift()?.resolve(id);
    return true;
  }
}

/** True if no entry of the stream can be appended, since the engine cannot be reached, or the stream has another writer or was dropped. */
function concernsAll(error: unknown): boolean {
  return (["unavailable", "unknown_outcome", "fenced", "dropped"] as const).some((failure) =>
    isFailure(error, failure),
  );
}

function isFailure(error: unknown, failure: ClusterFailure): boolean {
  return error instanceof ClusterError && error.failure === failure;
}
