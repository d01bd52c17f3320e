import type { Clock } from "../call/clock.js";
import { toHex } from "../protocol/bytes.js";
import { closedError } from "./error.js";
import type { Store } from "./store.js";

/** Time of an operation from which this process may have been stopped meanwhile. Leases end earlier here by more. */
const SLOW_MS = 50;

/** What the parts of a cluster have in common: the store, the clock of this process, and the end of the cluster. */
export class Operations {
  readonly #stop = new AbortController();
  readonly #prefix = hexDigits(16);
  /** Checks of the leases and jobs of this process, each of which ends one whose time is over. */
  readonly deadlines = new Set<() => void>();
  #versions = 0;

  constructor(
    readonly store: Store,
    readonly clock: Clock,
    /** Random name of this process. */
    readonly node: string,
  ) {}

  /** Fires when the cluster closes. Operations that release something may still run then. */
  get closing(): AbortSignal {
    return this.#stop.signal;
  }

  close(): void {
    this.#stop.abort(closedError("cluster"));
  }

  /** Runs an operation for a caller. `what` names it in the error of a cluster that is closed. */
  async run<T>(what: string, work: (store: Store) => Promise<T>): Promise<T> {
    if (this.closing.aborted) throw closedError(what);
    if (this.deadlines.size === 0) return work(this.store);
    const askedAt = this.clock.now();
    const result = await work(this.store);
    // A process that was stopped may get a reply before its timers run.
    if (this.clock.now() - askedAt > SLOW_MS) for (const check of this.deadlines) check();
    return result;
  }

  /** Returns a version that no other put has, of this process or another. */
  version(): string {
    return `${this.#prefix}.${(++this.#versions).toString(36)}`;
  }
}

/** Returns random hexadecimal digits. */
export function hexDigits(count: number): string {
  return toHex(crypto.getRandomValues(new Uint8Array(count / 2)));
}
