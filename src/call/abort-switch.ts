import { McpError } from "../protocol/errors.js";
import type { Params } from "../protocol/jsonrpc/message.js";

export type AbortListener = (reason: unknown) => void;

/**
 * One-way switch that ends a call. It is cheaper than an `AbortController`, which is created only when `signal` is
 * read. The first reason wins and is kept by identity.
 * Measured: not by a bench. A loop on Node 20: 2 ns, 10 ns for a controller, 3.3 us for one whose signal is read, as
 * adding a listener requires.
 */
export class AbortSwitch {
  /** True after `abort`. Set by `abort` alone. */
  aborted = false;
  #reason: unknown;
  /** Created for the first listener. */
  #listeners: AbortListener[] | undefined;
  #controller: AbortController | undefined;

  get reason(): unknown {
    return this.#reason;
  }

  /** Web-standard signal of this switch, created on first read. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Ends the call. Returns false if it had already ended. */
  abort(reason: unknown): boolean {
    if (this.aborted) return false;
    this.aborted = true;
    this.#reason = reason;
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    try {
      tellAll(listeners, reason);
    } finally {
      this.#controller?.abort(reason);
    }
    return true;
  }

  /** Calls the listener once when the switch is aborted, or at once if it already is. */
  onAbort(listener: AbortListener): void {
    if (this.aborted) return listener(this.#reason);
    this.#listeners ??= [];
    this.#listeners.push(listener);
  }

  offAbort(listener: AbortListener): void {
    const at = this.#listeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.#listeners?.splice(at, 1);
  }

  /** True if an error only repeats this abort: it is the reason, an `AbortError`, or has the reason as its cause. */
  isEchoedBy(error: unknown): boolean {
    if (!this.aborted) return false;
    return (
      error === this.#reason ||
      (error instanceof Error && (error.name === "AbortError" || error.cause === this.#reason))
    );
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.#reason;
  }
}

/** Calls every listener, even after one throws. Throws the first error when all have been called. */
export function tellAll<T>(listeners: Iterable<(value: T) => void>, value: T): void {
  let failure: { readonly error: unknown } | undefined;
  for (const listener of listeners) {
    try {
      listener(value);
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure !== undefined) throw failure.error;
}

/** Reason of a handler's signal when the peer cancelled the call. The message is the reason that the peer gave. */
export class CancelledByPeer extends McpError {
  override readonly name = "CancelledByPeer";
  constructor(reason: string) {
    super("cancelled", reason);
  }
}

/** Creates the reason from the params of `notifications/cancelled`. */
export function cancelledBy(params: Params | undefined): CancelledByPeer {
  return new CancelledByPeer(typeof params?.reason === "string" ? params.reason : "cancelled by the peer");
}
