import { TimeoutError } from "../protocol/errors.js";
import { AbortSwitch } from "./abort-switch.js";
import { followSignal } from "./abortable.js";
import { type Clock, isOnNode, systemClock } from "./clock.js";
import { type Deadline, shareTimer, type Waiting } from "./deadline-queue.js";

export interface LifetimeLimits {
  /** The caller's own signal: its reason is what the call rejects with. */
  readonly signal?: AbortSignal | undefined;
  /** The longest silence: any sign of life starts it anew. `Infinity` switches it off. */
  readonly timeoutMs?: number | undefined;
  /** The longest the whole call may take. */
  readonly deadlineMs?: number | undefined;
}

/**
 * The life of one outgoing call and the only owner of its timer and of its listener on the caller's signal.
 * It ends once: by the caller, by time, by the connection, or quietly by `close` when the call has settled.
 */
export class CallLifetime extends AbortSwitch implements Waiting {
  readonly #clock: Clock;
  readonly #label: string;
  readonly #timeoutMs: number;
  readonly #deadlineMs: number;
  readonly #startedAt: number;
  #heardAt: number;
  /** A timer of its own, or a place among those who share one; one of the two until it ends, where there is a limit. */
  #timer: unknown;
  #wait: Deadline<Waiting> | undefined;
  /** Lets go of the caller's signal. */
  #unfollow: (() => void) | undefined;
  #closed = false;
  #held = 0;

  constructor(label: string, limits: LifetimeLimits, clock: Clock = systemClock) {
    super();
    this.#label = label;
    this.#clock = clock;
    this.#timeoutMs = limitOf("timeoutMs", limits.timeoutMs);
    this.#deadlineMs = limitOf("deadlineMs", limits.deadlineMs);
    const timed = this.#timeoutMs !== Number.POSITIVE_INFINITY || this.#deadlineMs !== Number.POSITIVE_INFINITY;
    this.#startedAt = timed ? clock.now() : 0;
    this.#heardAt = this.#startedAt;
    const { signal } = limits;
    if (signal !== undefined) this.#unfollow = followSignal(signal, () => this.abort(signal.reason));
    if (timed && !this.aborted) this.#begin(this.#startedAt);
  }

  /** A sign of life from the peer: the idle time starts anew. Costs one clock reading; the timer is left alone. */
  heard(): void {
    if (this.#isTimed && this.#held === 0) this.#heardAt = this.#clock.now();
  }

  /** Stops the idle time while this side itself keeps the peer waiting; `release` starts it anew. Holds may nest. */
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

  /** The call has settled: lets go of the timer and of the caller's signal. A closed scope cannot end again. */
  close(): void {
    this.#closed = true;
    this.#release();
  }

  get #isTimed(): boolean {
    return this.#timer !== undefined || this.#wait !== undefined;
  }

  #begin(now: number): void {
    const ms = Math.min(this.#timeoutMs, this.#deadlineMs);
    // Off Node a timer may end with the request during which it was set: none is shared there.
    if (isOnNode && this.#clock === systemClock) this.#wait = shareTimer(this, ms, now);
    if (this.#wait === undefined) this.#arm(now);
  }

  #arm(now: number): void {
    const idleEnd = this.#heardAt + this.#timeoutMs;
    const totalEnd = this.#startedAt + this.#deadlineMs;
    this.#timer = this.#clock.schedule(() => this.onTime(), Math.max(0, Math.min(idleEnd, totalEnd) - now));
  }

  /** The first of its limits has come, unless there was a sign of life. */
  onTime(): void {
    const now = this.#clock.now();
    this.#wait = undefined;
    if (now >= this.#startedAt + this.#deadlineMs) this.#expire("deadline", this.#deadlineMs);
    else if (now >= this.#heardAt + this.#timeoutMs) this.#expire("idle", this.#timeoutMs);
    else this.#arm(now);
  }

  #expire(kind: "idle" | "deadline", ms: number): void {
    const what = kind === "idle" ? "nothing heard for" : "not finished within";
    this.abort(new TimeoutError(kind, ms, `${this.#label}: ${what} ${ms} ms`));
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
  if (ms >= 0) return ms;
  throw new RangeError(`${name} must be a number of milliseconds, not ${ms}`);
}
