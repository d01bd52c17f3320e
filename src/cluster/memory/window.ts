/** Number of dropped items from which the rest is moved to the front of the array. */
const COMPACT_FROM = 64;

/** Items with consecutive numbers. New ones are added at the end, old ones dropped at the start. */
export class Window<T> {
  #items: (T | undefined)[] = [];
  /** Number of dropped items at the start of the array. */
  #gone = 0;
  /** Number of the first item of the array. */
  #base = 0;

  /** Number of the first item. */
  get first(): number {
    return this.#base + this.#gone;
  }

  /** Number that the next item gets. */
  get end(): number {
    return this.#base + this.#items.length;
  }

  get size(): number {
    return this.#items.length - this.#gone;
  }

  at(number: number): T | undefined {
    return this.#items[number - this.#base];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Drops the first item and returns it. */
  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const item = this.#items[this.#gone];
    this.#items[this.#gone++] = undefined;
    if (this.#gone >= COMPACT_FROM && 2 * this.#gone >= this.#items.length) {
      this.#items = this.#items.slice(this.#gone);
      this.#base += this.#gone;
      this.#gone = 0;
    }
    return item;
  }

  /** Returns the items from a number on. */
  from(number: number): T[] {
    return this.#items.slice(Math.max(number - this.#base, this.#gone)) as T[];
  }
}
