/**
 * Items that are handled together: those that come in one turn of the event loop, and those that come while others are being
 * handled.
 */
export class Batches<Item> {
  readonly #handle: (waiting: Item[]) => Promise<void>;
  readonly #waiting: Item[] = [];
  #isRunning = false;

  /** `handle` removes the items that it handles from those that wait. It never rejects. */
  constructor(handle: (waiting: Item[]) => Promise<void>) {
    this.#handle = handle;
  }

  /** True while items wait or are being handled. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  add(item: Item): void {
    this.#waiting.push(item);
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    await undefined;
    while (this.#waiting.length > 0) await this.#handle(this.#waiting);
    this.#isRunning = false;
  }
}
