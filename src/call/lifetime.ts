import { TimeoutError } from "../protocol/errors.js";
import { AbortSwitch } from "./abort-switch.js";
import { followSignal } from "./abortable.js";
import { type Clock, isOnNode, systemClock } from "./clock.js";
import { type Deadline, shareTimer, type Waiting } from "./deadline-queue.js";

/** Limits of an outgoing call. */
export interface LifetimeLimits {
  /** Signal of the caller. The call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum time without a sign of life from the peer. `Infinity` disables it. */
  readonly timeoutMs?: number | undefined;
  /** Maximum duration of the whole call. */
  readonly deadlineMs?: number | undefined;
}

/**
 * Lifetime of an outgoing call. Owns its only timer and its only listener on the caller's signal. It ends once: by the
 * caller, by a timeout, by the connection, or silently by `close` when the call has settled.
 */
export class CallLifetime extends AbortSwitch implements Waiting {
  readonly #clock: Clock;
  readonly #label: string;
  readonly #timeoutMs: number;
  readonly #deadlineMs: number;
  readonly #startedAt: number;
  #heardAt: number;
  /**
   * Timer of this call, or its entry in the queue of a shared timer. A call with a limit has one of the two until it
   * ends.
   */
  #timer: unknown;
  #wait: Deadline<Waiting> | undefined;
  /** Removes the listener on the caller's signal. */
  #unfollow: (() => void) | undefined;
  #closed = false;
  #held = 0;
  /** How far the call's own request got, for the error of a timeout. */
  #delivery: TimeoutError["delivery"];

  /**
   * `delivery` is `not_sent` if the transport tells when the call's own request is written (`reached`). Otherwise nothing is
   * known of it.
   */
  constructor(
    label: string,
    limits: LifetimeLimits,
    clock: Clock = systemClock,
    delivery: "not_sent" | "sent" = "sent",
  ) {
    super();
    this.#delivery = delivery;
    this.#label = label;
    this.#clock = clock;
    this.#timeoutMs = limitOf("timeoutMs", limits.timeoutMs);
    this.#deadlineMs = limitOf("deadlineMs", limits.deadlineMs);
    const timed = this.#timeoutMs !== Number.POSITIVE_INFINITY || this.#deadlineMs !== Number.POSITIVE_INFINITY;
    this.#startedAt = timed ? clock.now() : 0;
    this.#heardAt = this.#startedAt;
    const { signal } = limits;
    if (signal !== undefined) this.#unfollow = followSignal(signal, () => this.abort(signal.reason));
    if (timed && !this.aborted) this.#startTimer(this.#startedAt);
  }

  /** Restarts the idle time after a sign of life from the peer. Only reads the clock; the timer is not changed. */
  heard(): void {
    if (this.#isTimed && this.#held === 0) this.#heardAt = this.#clock.now();
  }

  /** Notes that the request may have arrived, or that the peer has accepted it. A later request of the call changes nothing. */
  reached(delivery: "sent" | "answer_lost"): void {
    if (this.#delivery === "not_sent" || delivery === "answer_lost") this.#delivery = delivery;
  }

  /** Stops the idle time while the peer waits for this side. `resumeIdle` restarts it. Calls may nest. */
  pauseIdle(): void {
    if (this.#held++ === 0) this.#heardAt = Number.POSITIVE_INFINITY;
  }

  resumeIdle(): void {
    if (--this.#held > 0 || !this.#isTimed) return;
    this.#heardAt = this.#clock.now();
    this.#disarm();
    this.#arm(this.#heardAt);
  }

  override abort(reason: unknown): boolean {
    if (this.#closed) return false;
    this.#release();
    return super.abort(reason);
  }

  /** Releases the timer and the caller's signal after the call has settled. A closed lifetime cannot be aborted. */
  close(): void {
    this.#closed = true;
    this.#release();
  }

  /** Time until the call has taken `deadlineMs`. */
  get leftMs(): number {
    return this.#isTimed ? this.#startedAt + this.#deadlineMs - this.#clock.now() : Number.POSITIVE_INFINITY;
  }

  get #isTimed(): boolean {
    return this.#timer !== undefined || this.#wait !== undefined;
  }

  #startTimer(now: number): void {
    const ms = Math.min(this.#timeoutMs, this.#deadlineMs);
    // On other runtimes a timer may end with the request during which it was set, so it cannot be shared.
    if (isOnNode && this.#clock === systemClock) this.#wait = shareTimer(this, ms, now);
    if (this.#wait === undefined) this.#arm(now);
  }

  #arm(now: number): void {
    const idleEnd = this.#heardAt + this.#timeoutMs;
    const totalEnd = this.#startedAt + this.#deadlineMs;
    this.#timer = this.#clock.schedule(() => this.onTime(), Math.max(0, Math.min(idleEnd, totalEnd) - now));
  }

  /** Ends the call if a limit has been reached. Otherwise waits for the next limit. */
  onTime(): void {
    const now = this.#clock.now();
    this.#wait = undefined;
    if (now >= this.#startedAt + this.#deadlineMs) this.#expire("deadline", this.#deadlineMs);
    else if (now >= this.#heardAt + this.#timeoutMs) this.#expire("idle", this.#timeoutMs);
    else this.#arm(now);
  }

  #expire(kind: "idle" | "deadline", ms: number): void {
    const problem =
      kind === "idle" ? `nothing received for ${ms} ms (timeoutMs)` : `not finished within ${ms} ms (deadlineMs)`;
    this.abort(new TimeoutError(kind, ms, `${this.#label}: ${problem}`, this.#delivery));
  }

  #disarm(): void {
    if (this.#timer !== undefined) this.#clock.cancel(this.#timer);
    if (this.#wait !== undefined) this.#wait.leave();
    this.#timer = undefined;
    this.#wait = undefined;
  }

  #release(): void {
    this.#disarm();
    this.#unfollow?.();
    this.#unfollow = undefined;
  }
}

function limitOf(name: string, ms: number | undefined): number {
  if (ms === undefined) return Number.POSITIVE_INFINITY;
  if (typeof ms === "number" && ms >= 0) return ms;
  throw new RangeError(`${name} must be a number of milliseconds of 0 or more, got ${ms}`);
}
