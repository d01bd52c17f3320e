/**
 * A map that mostly holds one entry or none: the calls of a session, say. The first entry has a slot of its own, since
 * engines make a `Map` that runs empty anew each time.
 */
export class SlotMap<K, V> {
  #used = false;
  #key: K | undefined;
  #value: V | undefined;
  #more: Map<K, V> | undefined;

  get size(): number {
    return (this.#used ? 1 : 0) + (this.#more === undefined ? 0 : this.#more.size);
  }

  has(key: K): boolean {
    return this.#isSlot(key) || this.#more?.has(key) === true;
  }

  get(key: K): V | undefined {
    return this.#isSlot(key) ? this.#value : this.#more?.get(key);
  }

  set(key: K, value: V): void {
    if (this.#used ? this.#key === key : this.#more?.has(key) !== true) {
      this.#used = true;
      this.#key = key;
      this.#value = value;
      return;
    }
    this.#more ??= new Map();
    this.#more.set(key, value);
  }

  delete(key: K): boolean {
    if (!this.#isSlot(key)) return this.#more?.delete(key) === true;
    this.#empty();
    return true;
  }

  clear(): void {
    this.#empty();
    this.#more = undefined;
  }

  /** The values as they are now; the map may change while they are looked at. */
  values(): V[] {
    const rest = this.#more === undefined ? [] : [...this.#more.values()];
    return this.#used ? [this.#value as V, ...rest] : rest;
  }

  #isSlot(key: K): boolean {
    return this.#used && this.#key === key;
  }

  #empty(): void {
    this.#used = false;
    this.#key = undefined;
    this.#value = undefined;
  }
}
