import { askedMs, backoffMs, type RetryWaits } from "../../call/backoff.js";
import type { Clock } from "../../call/clock.js";
import type { Subscription, WatchEvents } from "../../era/client-era.js";
import { CLIENT_TIMES } from "../../era/client-limits.js";
import { AuthError } from "../../protocol/auth-error.js";
import { RpcError, toError } from "../../protocol/errors.js";
import { METHOD_NOT_FOUND } from "../../protocol/jsonrpc/errors.js";
import type { Known } from "../../protocol/known-options.js";
import type { SubscriptionFilter } from "../../protocol/types/index.js";
import type { Change } from "../../store/change-bus.js";

/** Renewal of lost subscriptions. */
export interface ResubscribeOptions {
  /**
   * Maximum number of consecutive failed attempts.
   * @default Infinity
   */
  readonly attempts?: number | undefined;
  /**
   * Wait before the first attempt. It doubles with each further attempt, and half of it is random. A successful call of
   * the client ends the wait, but not before the time that the server requested with `Retry-After`.
   * @default 250
   */
  readonly delayMs?: number | undefined;
  /**
   * Maximum wait.
   * @default 30_000
   */
  readonly maxDelayMs?: number | undefined;
}

export const RESUBSCRIBE_OPTIONS: Known<ResubscribeOptions> = {
  attempts: "limit",
  delayMs: "ms",
  maxDelayMs: "ms",
};

/** Parts of the client that a subscription uses. */
export interface SubscriptionRuntime {
  readonly clock: Clock;
  readonly waits: RetryWaits;
  /** Open subscriptions, to be notified of the end of the connection. */
  readonly listening: Set<Listening>;
  listen(
    filter: SubscriptionFilter,
    events: WatchEvents,
    limits?: { readonly signal?: AbortSignal | undefined },
  ): Promise<Subscription>;
}

/** Listener for the end of the connection. */
export interface Listening {
  /** Called when the connection has ended: `closed` by this client, otherwise `lost`. */
  over(how: "closed" | "lost", reason: Error | undefined): void;
}

/** Lifetime of a subscription after which the retry counter is reset. An event resets it too. */
const STABLE_MS = 10_000;

/**
 * Subscription that is renewed on the same connection when it is lost. Reports which changes may have been missed. Its
 * end is final.
 */
export class ResilientSubscription implements Subscription, Listening {
  readonly #runtime: SubscriptionRuntime;
  readonly #filter: SubscriptionFilter;
  readonly #events: WatchEvents;
  readonly #limits: Required<{ readonly [Key in keyof ResubscribeOptions]: number }>;
  /** True if it is renewed even after the server ended it gracefully. */
  readonly #isEndless: boolean;
  readonly #stop = new AbortController();
  #inner!: Subscription;
  #since = 0;
  #failures = 0;
  /** Number of attempts that a successful call of the client has brought forward. */
  #hurried = 0;

  private constructor(
    runtime: SubscriptionRuntime,
    filter: SubscriptionFilter,
    events: WatchEvents,
    options: false | ResubscribeOptions,
    isEndless: boolean,
  ) {
    const given = options === false ? { attempts: 0 } : options;
    const { resubscribe } = CLIENT_TIMES;
    const {
      attempts = resubscribe.attempts,
      delayMs = resubscribe.delayMs,
      maxDelayMs = resubscribe.maxDelayMs,
    } = given;
    this.#runtime = runtime;
    this.#filter = filter;
    this.#events = events;
    this.#limits = { attempts, delayMs, maxDelayMs };
    this.#isEndless = isEndless;
  }

  /** Opens the subscription with `first`. Rejects if that fails. */
  static async open(
    runtime: SubscriptionRuntime,
    filter: SubscriptionFilter,
    events: WatchEvents,
    options: false | ResubscribeOptions,
    first: SubscriptionRuntime["listen"],
    isEndless = false,
  ): Promise<ResilientSubscription> {
    const lasting = new ResilientSubscription(runtime, filter, events, options, isEndless);
    runtime.listening.add(lasting);
    try {
      lasting.#adopt(await first(filter, lasting.#innerEvents()));
    } catch (error) {
      lasting.#finish();
      throw error;
    }
    return lasting;
  }

  get honoured(): SubscriptionFilter {
    return this.#inner.honoured;
  }

  async close(): Promise<void> {
    if (!this.#finish()) return;
    await this.#inner.close();
  }

  over(how: "closed" | "lost", reason: Error | undefined): void {
    if (this.#finish() && how === "lost") this.#events.onEnd("lost", reason);
  }

  #innerEvents(): WatchEvents {
    return {
      onChange: (change) => {
        this.#startOver();
        this.#events.onChange(change);
      },
      onMissed: (honoured, reason) => this.#events.onMissed(honoured, reason),
      onEnd: (how, reason) => {
        if (this.#stop.signal.aborted) return;
        if (how === "lost" || this.#isEndless) void this.#again(reason);
        else if (this.#finish()) this.#events.onEnd(how, reason);
      },
    };
  }

  async #again(reason: Error | undefined): Promise<void> {
    const { clock, waits } = this.#runtime;
    const { signal } = this.#stop;
    const { attempts, delayMs } = this.#limits;
    if (clock.now() - this.#since >= STABLE_MS) this.#startOver();
    this.#since = clock.now();
    let last = reason;
    while (this.#failures < attempts) {
      const asked = askedMs(last, this.#limits);
      const waitMs = Math.max(asked, backoffMs(this.#failures++, this.#limits));
      const leastMs = Math.max(asked, delayMs * 2 ** this.#hurried);
      if (await waits.pause(clock, waitMs, leastMs, signal)) this.#hurried++;
      if (signal.aborted) return;
      try {
        this.#adopt(await this.#runtime.listen(this.#filter, this.#innerEvents(), { signal }));
        if (signal.aborted) return await this.#inner.close();
        return this.#events.onMissed(this.#inner.honoured, reason);
      } catch (error) {
        last = toError(error);
        if (isFinal(error)) break;
      }
    }
    if (this.#finish()) this.#events.onEnd("lost", last);
  }

  #startOver(): void {
    this.#failures = 0;
    this.#hurried = 0;
  }

  #adopt(inner: Subscription): void {
    this.#inner = inner;
    this.#since = this.#runtime.clock.now();
  }

  /** Ends the subscription. Returns false if it had already ended. */
  #finish(): boolean {
    if (this.#stop.signal.aborted) return false;
    this.#stop.abort();
    this.#runtime.listening.delete(this);
    return true;
  }
}

/**
 * True if renewing is pointless: the server does not support subscriptions, or the authorization failed. A failed
 * token refresh is not final.
 */
export function isFinal(error: unknown): boolean {
  if (error instanceof AuthError) return error.step !== "refresh";
  return error instanceof RpcError && error.rpcCode === METHOD_NOT_FOUND;
}

/** Returns all changes that a subscription can report. */
export function changesOf(filter: SubscriptionFilter): Change[] {
  const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions = [] } = filter;
  return [
    ...(toolsListChanged === true ? [{ kind: "tools" } as const] : []),
    ...(promptsListChanged === true ? [{ kind: "prompts" } as const] : []),
    ...(resourcesListChanged === true ? [{ kind: "resources" } as const] : []),
    ...resourceSubscriptions.map((uri) => ({ kind: "resource", uri }) as const),
  ];
}
