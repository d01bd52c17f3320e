import { pause, untilAborted } from "../../call/abortable.js";
import { CallLifetime } from "../../call/lifetime.js";
import { PingLoop } from "../../call/ping-loop.js";
import type { PingOptions } from "../../call/ping-options.js";
import type {
  ClientResult,
  ClientRuntime,
  Connection,
  ConnectionCall,
  PriorKnowledge,
  Subscription,
  WatchEvents,
} from "../../era/client-era.js";
import { CLIENT_TIMES } from "../../era/client-limits.js";
import { ConnectionError, notConnected, toError } from "../../protocol/errors.js";
import type { Params } from "../../protocol/jsonrpc/message.js";
import { type Known, type Resolved, withDefaults } from "../../protocol/known-options.js";
import type { LoggingLevel, SubscriptionFilter } from "../../protocol/types/index.js";
import { innerRuntime, WrappedConnection } from "./wrapped.js";

/** Limits of restarts. */
export interface RestartLimits {
  /**
   * Maximum number of consecutive restarts. A process that lived for a minute resets the counter.
   * @default 5
   */
  readonly attempts?: number | undefined;
  /**
   * Wait before the first attempt. It doubles with each further attempt.
   * @default 250
   */
  readonly delayMs?: number | undefined;
  /**
   * Number of consecutive pings without a response after which a process is killed and restarted. Requires the option
   * `pings`. Works in every protocol version.
   * @default Infinity
   */
  readonly maxMissedPings?: number | undefined;
  /**
   * Maximum wait.
   * @default 30_000
   */
  readonly maxDelayMs?: number | undefined;
}

export const RESTART_LIMITS: Known<RestartLimits> = {
  attempts: "limit",
  delayMs: "ms",
  maxMissedPings: "positive limit",
  maxDelayMs: "ms",
};

/** Opens a connection. `again` has the knowledge from the earlier connection, and a signal that aborts the opening. */
export type Reopen = (
  runtime: ClientRuntime,
  again?: { readonly known: PriorKnowledge; readonly signal: AbortSignal },
) => Promise<Connection>;

const STABLE_MS = 60_000;

type State =
  | { readonly name: "up"; readonly since: number }
  | { readonly name: "down"; readonly up: Promise<void>; readonly settle: (failure: Error | undefined) => void }
  | { readonly name: "over" };

/** Subscription that is restored on the next connection. */
interface RestoredWatch {
  readonly filter: SubscriptionFilter;
  readonly events: WatchEvents;
  /** Undefined while there is no connection. */
  inner: Subscription | undefined;
  closed: boolean;
}

/**
 * Connection that is reopened when the server exits unexpectedly or hangs. Calls in progress are lost. Later calls wait
 * for the next connection within their own limits. Subscriptions are restored.
 */
export class RestartingConnection extends WrappedConnection implements Connection {
  readonly #runtime: ClientRuntime;
  readonly #limits: Resolved<RestartLimits>;
  readonly #reopen: Reopen;
  readonly #watches = new Set<RestoredWatch>();
  readonly #stop = new AbortController();
  /** Connection that ended last, whether it was in use or not. */
  #ended: { readonly connection: Connection; readonly reason: Error | undefined } | undefined;
  #state: State | undefined;
  /** Never rejects. */
  #restarting: Promise<void> = Promise.resolve();
  #failures = 0;
  /** Detects a process that hangs. Undefined without `maxMissedPings`. */
  #pingLoop: PingLoop | undefined;
  #logLevel: LoggingLevel | undefined;

  private constructor(runtime: ClientRuntime, limits: RestartLimits, reopen: Reopen) {
    super();
    this.#runtime = runtime;
    this.#limits = withDefaults<Resolved<RestartLimits>>(limits, CLIENT_TIMES.restart);
    this.#reopen = reopen;
  }

  static async open(runtime: ClientRuntime, limits: RestartLimits, reopen: Reopen): Promise<RestartingConnection> {
    const restarting = new RestartingConnection(runtime, limits, reopen);
    restarting.connection = await reopen(restarting.#innerRuntime());
    restarting.#assertThere(restarting.connection);
    restarting.#state = { name: "up", since: runtime.clock.now() };
    return restarting;
  }

  async call(call: ConnectionCall, lifetime: CallLifetime): Promise<ClientResult> {
    if (this.#state?.name !== "up") await this.#whenUp(lifetime);
    return this.connection.call(call, lifetime);
  }

  /** Sends a notification. Waits while the process restarts. Drops cancellations then, since their calls have ended. */
  notify(method: string, params: Params | undefined): void | Promise<void> {
    const state = this.#state;
    if (state?.name === "up") return this.connection.notify(method, params);
    if (state?.name === "down" && method !== "notifications/cancelled")
      return state.up.then(() => this.notify(method, params));
  }

  async setLogLevel(level: LoggingLevel, lifetime: CallLifetime): Promise<void> {
    if (this.#state?.name !== "up") await this.#whenUp(lifetime);
    await this.connection.setLogLevel(level, lifetime);
    this.#logLevel = level;
  }

  async watch(filter: SubscriptionFilter, events: WatchEvents, lifetime: CallLifetime): Promise<Subscription> {
    if (this.#state?.name !== "up") await this.#whenUp(lifetime);
    const kept: RestoredWatch = { filter, events, inner: undefined, closed: false };
    // Registered first, since it may end immediately.
    this.#watches.add(kept);
    try {
      const inner = await this.connection.watch(filter, this.#innerEvents(kept), lifetime);
      kept.inner = inner;
      return { honoured: inner.honoured, close: () => this.#unwatch(kept) };
    } catch (error) {
      this.#watches.delete(kept);
      throw error;
    }
  }

  override keepPinging(options: PingOptions): void {
    if (this.#limits.maxMissedPings === Number.POSITIVE_INFINITY) return super.keepPinging(options);
    this.pings = options;
    const { connection } = this;
    const ping = { method: connection.era.pingMethod, params: undefined };
    this.#pingLoop = new PingLoop(
      this.#runtime.clock,
      options,
      (lifetime) => connection.call(ping, lifetime),
      (error, missed) => this.#onMissedPing(error, missed),
    );
  }

  async close(): Promise<void> {
    const state = this.#state;
    if (state?.name !== "over") this.#finish(undefined);
    if (state?.name !== "down") return this.connection.close();
    await this.#restarting;
    this.#runtime.onClose(undefined, this);
  }

  #innerRuntime(): ClientRuntime {
    return innerRuntime(this.#runtime, (reason, connection) => this.#lost(reason, connection));
  }

  /**
   * Delays the end of a subscription by a microtask, to see whether the connection has ended too and the subscription
   * is to be restored.
   */
  #innerEvents(kept: RestoredWatch): WatchEvents {
    return {
      onChange: (change) => kept.events.onChange(change),
      onMissed: (honoured, reason) => kept.events.onMissed(honoured, reason),
      onOther: (notification) => kept.events.onOther?.(notification),
      onEnd: (how, reason) => {
        queueMicrotask(() => {
          if (how === "lost" && this.#state?.name === "down") kept.inner = undefined;
          else if (this.#watches.delete(kept)) kept.events.onEnd(how, reason);
        });
      },
    };
  }

  #lost(reason: Error | undefined, connection: Connection): void {
    const state = this.#state;
    this.#ended = { connection, reason };
    // The opening of a failed attempt rejects by itself. While down, the end has already been reported.
    if (connection !== this.connection || state?.name === "down") return;
    if (state?.name !== "up" || reason === undefined) {
      this.#finish(reason);
      return this.#runtime.onClose(reason, this);
    }
    this.#goDown(state, reason);
  }

  #onMissedPing(error: Error, missed: number): void {
    const state = this.#state;
    if (missed < this.#limits.maxMissedPings || state?.name !== "up") return this.#runtime.onProblem(error);
    const message = `The server process is killed: no response to ${missed} pings in a row (restart.maxMissedPings)`;
    this.#goDown(state, new ConnectionError(message, { delivery: "sent", cause: error }));
  }

  #goDown(state: State & { readonly name: "up" }, reason: Error): void {
    this.#pingLoop?.stop();
    if (this.#runtime.clock.now() - state.since >= STABLE_MS) this.#failures = 0;
    this.#state = downState();
    this.#runtime.onProblem(reason);
    this.#restarting = this.#restart(reason);
  }

  /** Throws if the connection ended in the turn in which it was opened. */
  #assertThere(connection: Connection): void {
    if (connection === this.#ended?.connection) throw notConnected(this.#ended.reason);
  }

  async #restart(reason: Error): Promise<void> {
    const { attempts, delayMs, maxDelayMs } = this.#limits;
    const { signal } = this.#stop;
    // The old process may still be running. Two processes must not run at a time.
    await this.connection.close({ reason });
    let last = reason;
    while (this.#failures < attempts) {
      await pause(this.#runtime.clock, Math.min(maxDelayMs, delayMs * 2 ** this.#failures++), signal);
      if (signal.aborted) return;
      try {
        const connection = await this.#reopen(this.#innerRuntime(), { known: this.connection.prior, signal });
        if (signal.aborted) return await connection.close();
        this.#assertThere(connection);
        return this.#resume(connection, reason);
      } catch (error) {
        last = toError(error);
      }
    }
    if (signal.aborted) return;
    this.#finish(last);
    this.#runtime.onClose(last, this);
  }

  #resume(connection: Connection, reason: Error): void {
    const state = this.#state;
    this.replaceBy(connection);
    this.#state = { name: "up", since: this.#runtime.clock.now() };
    if (this.#logLevel !== undefined) this.#inScope((lifetime) => connection.setLogLevel(this.#logLevel!, lifetime));
    for (const kept of this.#watches) {
      kept.inner = undefined;
      this.#inScope((lifetime) => this.#watchAgain(kept, connection, lifetime, reason));
    }
    if (state?.name === "down") state.settle(undefined);
  }

  async #watchAgain(kept: RestoredWatch, connection: Connection, lifetime: CallLifetime, reason: Error): Promise<void> {
    try {
      const inner = await connection.watch(kept.filter, this.#innerEvents(kept), lifetime);
      if (kept.closed) return await inner.close();
      kept.inner = inner;
      kept.events.onMissed(inner.honoured, reason);
    } catch (error) {
      // If the connection has ended again, the next connection restores the watch.
      if (this.#state?.name !== "up" || this.connection !== connection) return;
      if (this.#watches.delete(kept)) kept.events.onEnd("lost", toError(error));
    }
  }

  async #unwatch(kept: RestoredWatch): Promise<void> {
    kept.closed = true;
    this.#watches.delete(kept);
    await kept.inner?.close();
  }

  /** Runs work that no caller waits for. Failures are reported. */
  #inScope(work: (lifetime: CallLifetime) => Promise<void>): void {
    const lifetime = new CallLifetime("restart", { timeoutMs: this.#runtime.timeoutMs }, this.#runtime.clock);
    work(lifetime)
      .catch((error: Error) => this.#runtime.onProblem(error))
      .finally(() => lifetime.close());
  }

  #finish(reason: Error | undefined): void {
    const state = this.#state;
    this.#state = { name: "over" };
    this.#pingLoop?.stop();
    this.#stop.abort();
    if (state?.name !== "down") return;
    const why = reason === undefined ? "the client was closed" : "the server could not be restarted (restart.attempts)";
    state.settle(new ConnectionError(`Not connected: ${why}`, { delivery: "not_sent", cause: reason }));
    for (const kept of this.#watches) kept.events.onEnd("lost", reason);
    this.#watches.clear();
  }

  #whenUp(lifetime: CallLifetime): Promise<void> {
    const state = this.#state;
    if (state?.name !== "down") return Promise.reject(notConnected());
    return untilAborted(state.up, lifetime);
  }
}

function downState(): State {
  let settle: (failure: Error | undefined) => void = () => {};
  const up = new Promise<void>((resolve, reject) => {
    settle = (failure) => (failure === undefined ? resolve() : reject(failure));
  });
  up.catch(() => {});
  return { name: "down", up, settle };
}
