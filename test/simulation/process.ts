import type { Clock } from "#src/call/clock.js";
import type { Scheduler } from "./scheduler.js";

/**
 * Process of a node. Everything that reaches its code from outside passes `enter`: timers, replies of the engine,
 * messages and requests. They wait while the process is paused, and never run after it has crashed.
 */
export class SimProcess implements Clock {
  readonly #scheduler: Scheduler;
  #waiting: (() => void)[] = [];
  #dueTimers: (() => void)[] = [];
  #state: "running" | "paused" | "crashed" = "running";
  /** Called when the process crashes, after its code has stopped. */
  onCrash: () => void = () => {};

  constructor(
    readonly name: string,
    scheduler: Scheduler,
  ) {
    this.#scheduler = scheduler;
  }

  get isRunning(): boolean {
    return this.#state === "running";
  }

  get isPaused(): boolean {
    return this.#state === "paused";
  }

  get hasCrashed(): boolean {
    return this.#state === "crashed";
  }

  now(): number {
    return this.#scheduler.now();
  }

  timeOfDay(): number {
    return this.#scheduler.timeOfDay();
  }

  schedule(callback: () => void, ms: number): unknown {
    const timer: { handle?: unknown; isCancelled?: boolean } = {};
    const fire = () => {
      if (timer.isCancelled !== true) callback();
    };
    timer.handle = this.#scheduler.schedule(() => this.#enter(fire, this.#dueTimers), ms);
    return timer;
  }

  cancel(handle: unknown): void {
    if (handle === undefined) return;
    const timer = handle as { handle?: unknown; isCancelled?: boolean };
    timer.isCancelled = true;
    this.#scheduler.cancel(timer.handle);
  }

  /** Runs code of the process now, or when the process continues. */
  enter(run: () => void): void {
    this.#enter(run, this.#waiting);
  }

  pause(): void {
    if (this.#state === "running") this.#state = "paused";
  }

  /**
   * Continues after a pause. Everything that waited runs, each as an event: first the timers or first what has arrived, as
   * on Node, each in its order.
   */
  resume(first: "timers" | "arrivals"): void {
    if (this.#state !== "paused") return;
    this.#state = "running";
    const [timers, arrivals] = [this.#dueTimers, this.#waiting];
    this.#dueTimers = [];
    this.#waiting = [];
    const waiting = first === "timers" ? [...timers, ...arrivals] : [...arrivals, ...timers];
    for (const run of waiting) this.#scheduler.schedule(() => this.enter(run), 0);
  }

  crash(): void {
    if (this.#state === "crashed") return;
    this.#state = "crashed";
    this.#waiting = [];
    this.#dueTimers = [];
    this.onCrash();
  }

  #enter(run: () => void, waiting: (() => void)[]): void {
    if (this.#state === "running") run();
    else if (this.#state === "paused") waiting.push(run);
  }
}
