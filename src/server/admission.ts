import { Busy } from "../era/busy.js";
import type { Call, ServerRuntime } from "../era/server-era.js";
import { SmallMap } from "../protocol/jsonrpc/small-map.js";

/** Part of a call by which it is counted. */
export type CountedCall = Pick<Call, "method" | "session" | "origin">;

/** Subscriptions stay open and have their own limit, so they do not count as running calls. */
const LISTEN = "subscriptions/listen";
const WARN_MS = 60_000;

/**
 * Counts the running calls and refuses calls beyond the limits before they start. Each call of each transport enters
 * once and leaves once. A call whose handler continues after a cancellation leaves when the handler is done.
 */
export class Admission {
  /** Number of running calls, including calls that wait for their tool. */
  running = 0;
  /** Number of calls that wait for their tool. */
  waiting = 0;
  /** Number of notifications whose checks or handlers are not done. */
  notifications = 0;
  /** Number of refusals since the start: of calls, notifications, subscriptions and request bodies. */
  refused = 0;
  readonly #runtime: Pick<ServerRuntime, "limits" | "clock" | "warn">;
  readonly #principals = new SmallMap<string, { running: number }>();
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(runtime: Pick<ServerRuntime, "limits" | "clock" | "warn">) {
    this.#runtime = runtime;
  }

  /** Counts a call in. Returns the refusal if a limit is reached. */
  enter(call: CountedCall): Busy | undefined {
    if (call.method === LISTEN) return undefined;
    const { maxCalls, maxCallsPerSession, maxCallsPerPrincipal } = this.#runtime.limits;
    const { session, origin } = call;
    if (this.running >= maxCalls) return this.#full(503, "maxCalls", "this server");
    if (session !== undefined && session.running >= maxCallsPerSession)
      return this.#full(429, "maxCallsPerSession", "a session");
    if (origin.principal !== undefined && !this.#enterAs(origin.principal, maxCallsPerPrincipal))
      return this.#full(429, "maxCallsPerPrincipal", "a caller");
    this.running++;
    if (session !== undefined) session.running++;
    return undefined;
  }

  /** Counts out a call that `enter` counted in. */
  leave({ method, session, origin }: CountedCall): void {
    if (method === LISTEN) return;
    this.running--;
    if (session !== undefined) session.running--;
    if (origin.principal !== undefined) this.#leaveAs(origin.principal);
  }

  /**
   * Counts a notification in. Returns false if it must be dropped. The limit is that of calls, since requests of
   * stateless HTTP have no connection whose queue could be limited.
   */
  enterNotification(): boolean {
    const { maxCalls } = this.#runtime.limits;
    if (this.notifications < maxCalls) return ++this.notifications > 0;
    this.refuse(503, "maxCalls", `Too many notifications: this server may run ${maxCalls} at a time`);
    return false;
  }

  /** Creates and counts a refusal. Logs a warning at most once per `WARN_MS`. */
  refuse(status: 429 | 503, limit: string, message: string, retryAfterMs?: number): Busy {
    const busy = new Busy(status, limit, message, retryAfterMs);
    this.refused++;
    const { clock } = this.#runtime;
    if (clock.now() - this.#warnedAt >= WARN_MS) {
      this.#warnedAt = clock.now();
      this.#runtime.warn(`calls are refused: ${busy.message}`, { limit });
    }
    return busy;
  }

  #full(status: 429 | 503, limit: "maxCalls" | "maxCallsPerSession" | "maxCallsPerPrincipal", whose: string): Busy {
    return this.refuse(status, limit, `Too many calls: ${whose} may run ${this.#runtime.limits[limit]} at a time`);
  }

  #enterAs(principal: string, max: number): boolean {
    const own = this.#principals.get(principal);
    if ((own?.running ?? 0) >= max) return false;
    if (own === undefined) this.#principals.add(principal, { running: 1 });
    else own.running++;
    return true;
  }

  #leaveAs(principal: string): void {
    const own = this.#principals.get(principal);
    if (own !== undefined && --own.running === 0) this.#principals.delete(principal);
  }
}
