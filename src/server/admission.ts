import { Busy } from "../era/busy.js";
import { anonymousPart } from "../era/caller.js";
import { CROWD, Crowd } from "../era/crowd.js";
import type { Call, ServerRuntime } from "../era/server-era.js";
import { SmallMap } from "../protocol/jsonrpc/small-map.js";

/** Part of a call by which it is counted. */
export type CountedCall = Pick<Call, "method" | "session" | "origin">;

/** Subscriptions stay open and have their own limit, so they do not count as running calls. */
const LISTEN = "subscriptions/listen";
const WARN_MS = 60_000;
const UNNAMED = "callers without a name";

type AdmissionRuntime = Pick<ServerRuntime, "limits" | "clock" | "options" | "warn" | "report">;

/**
 * Counts the running calls and refuses calls beyond the limits before they start. Each call of each transport enters
 * once and leaves once. A call whose handler continues after a cancellation leaves when the handler is done.
 *
 * Callers without a principal leave a part to those with one, if there are any. To tell them apart takes time, and so
 * their addresses are read only while many of their calls run.
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
  readonly #runtime: AdmissionRuntime;
  readonly #principals = new SmallMap<string, { running: number }>();
  /** Number of calls, and of notifications, that callers without a principal leave to others. */
  readonly #anonymousPart: number;
  /** True if callers may have a principal. */
  #hasNames: boolean;
  #anonymous = 0;
  #anonymousNotifications = 0;
  readonly #crowd: Crowd<CountedCall>;
  #warnedAt = Number.NEGATIVE_INFINITY;

  /** `hasNames` is true if the server has a gate, which may name callers. */
  constructor(runtime: AdmissionRuntime, hasNames = false) {
    this.#runtime = runtime;
    this.#hasNames = hasNames;
    this.#crowd = new Crowd(runtime);
    this.#anonymousPart = anonymousPart(runtime.limits, runtime.limits.maxCalls);
  }

  /** Counts a call in. Returns the refusal if a limit is reached. */
  enter(call: CountedCall): Busy | undefined {
    if (call.method === LISTEN) return undefined;
    const { maxCalls, maxCallsPerSession, maxCallsPerPrincipal } = this.#runtime.limits;
    const { session, origin } = call;
    if (this.running >= maxCalls) return this.#full(503, "maxCalls", "this server");
    if (session !== undefined && session.running >= maxCallsPerSession)
      return this.#full(429, "maxCallsPerSession", "a session");
    if (origin.principal === undefined) {
      const refusal = this.#enterUnnamed(call);
      if (refusal !== undefined) return refusal;
    } else if (!this.#enterAs(origin.principal, maxCallsPerPrincipal))
      return this.#full(429, "maxCallsPerPrincipal", "a caller");
    this.running++;
    if (session !== undefined) session.running++;
    return undefined;
  }

  /** Counts out a call that `enter` counted in. */
  leave(call: CountedCall): void {
    const { method, session, origin } = call;
    if (method === LISTEN) return;
    this.running--;
    if (session !== undefined) session.running--;
    if (origin.principal !== undefined) return this.#leaveAs(origin.principal);
    this.#anonymous--;
    if (this.#crowd.size > 0) this.#crowd.remove(call);
  }

  /**
   * Counts a notification in. Returns false if it must be dropped. The limit is that of calls, since requests of
   * stateless HTTP have no connection whose queue could be limited.
   */
  enterNotification(principal: string | undefined): boolean {
    const { maxCalls } = this.#runtime.limits;
    if (this.notifications >= maxCalls) return this.#drop("maxCalls", "this server", maxCalls);
    const most = this.#mostAnonymous();
    if (principal === undefined && this.#anonymousNotifications >= most)
      return this.#drop("anonymousShare", UNNAMED, most);
    this.notifications++;
    if (principal === undefined) this.#anonymousNotifications++;
    return true;
  }

  /** Counts out a notification that `enterNotification` counted in. */
  leaveNotification(principal: string | undefined): void {
    this.notifications--;
    if (principal === undefined) this.#anonymousNotifications--;
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

  #drop(limit: string, whose: string, most: number): false {
    this.refuse(503, limit, `Too many notifications: ${whose} may run ${most} at a time`);
    return false;
  }

  /** Counts in a call of a caller without a principal. Returns the refusal if a limit is reached. */
  #enterUnnamed(call: CountedCall): Busy | undefined {
    const most = this.#mostAnonymous();
    if (this.#anonymous >= most)
      return this.refuse(503, "anonymousShare", `Too many calls: ${UNNAMED} may run ${most} at a time`);
    if (this.#anonymous >= most * CROWD && !this.#enterCrowd(call))
      return this.#full(429, "maxCallsPerPrincipal", "a caller");
    this.#anonymous++;
    return undefined;
  }

  /** Counts a call for the address of its caller, if that is known. Returns false if the caller runs too many. */
  #enterCrowd(call: CountedCall): boolean {
    const address = this.#crowd.addressFor(call.origin);
    if (address === undefined) return true;
    if (this.#crowd.countOf(address) >= this.#runtime.limits.maxCallsPerPrincipal) return false;
    this.#crowd.add(call, address);
    return true;
  }

  #mostAnonymous(): number {
    return this.#hasNames ? this.#anonymousPart : this.#runtime.limits.maxCalls;
  }

  #enterAs(principal: string, max: number): boolean {
    this.#hasNames = true;
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
