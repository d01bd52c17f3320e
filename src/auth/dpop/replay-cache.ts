/**
 * Names that may be used once, each until its time is over. Bounded: when it is full, the oldest make room, so that a
 * flood costs memory neither here nor anywhere else.
 */
export class ReplayCache {
  readonly #until = new Map<string, number>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#until.size;
  }

  /** Whether this is the first use. Times are milliseconds since 1970. */
  accept(name: string, untilMs: number, nowMs: number): boolean {
    const known = this.#until.get(name);
    if (known !== undefined && known >= nowMs) return false;
    this.#until.delete(name);
    this.#makeRoom(nowMs);
    this.#until.set(name, untilMs);
    return true;
  }

  /** The oldest come first: they are taken while they are over, or while there are too many. */
  #makeRoom(nowMs: number): void {
    for (const [name, untilMs] of this.#until) {
      if (untilMs >= nowMs && this.#until.size < this.#max) return;
      this.#until.delete(name);
    }
  }
}
