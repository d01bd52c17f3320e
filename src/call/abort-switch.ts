import { McpError } from "../protocol/errors.js";
import type { Params } from "../protocol/jsonrpc/message.js";

export type AbortListener = (reason: unknown) => void;

/**
 * One-way switch that ends a call. It is cheaper than an `AbortController`, which is created only when `signal` is
 * read. The first reason wins and is kept by identity.
 * Measured: not by a bench, but in a loop on Node 20. A switch takes 2 ns, an `AbortController` 10 ns, and an
 * `AbortController` whose `signal` is read, which a listener requires, 3.3 us.
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

  /**
   * Aborts the switch: calls all listeners, then aborts the signal. Returns false if it was already aborted.
   * @throws the first error of a listener, after all listeners have been called
   */
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

  /**
   * True if an error only repeats the abort of this switch: it is the reason, an `AbortError`, or has the reason as its
   * cause.
   */
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

/** Reason of a handler's signal when the peer cancelled the call. Its message is the peer's reason, if it gave one. */
export class CancelledByPeer extends McpError {
  override readonly name = "CancelledByPeer";
  constructor(reason: string) {
    super("cancelled", reason);
  }
}

/** Creates the reason of an abort from the params of `notifications/cancelled`. */
export function cancelledBy(params: Params | undefined): CancelledByPeer {
  return new CancelledByPeer(typeof params?.reason === "string" ? params.reason : "cancelled by the peer");
}
