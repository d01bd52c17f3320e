import type { ClusterError } from "../error.js";

/** Items of an iteration in another process. They come in pages, each after it was asked for. */
export class Source<Item> {
  readonly #ask: () => void;
  #page: Item[] = [];
  #end: { readonly error: ClusterError | undefined } | undefined;
  /** True while a page is to come. */
  #isAsked = true;
  #wake: () => void = () => {};

  /** The first page has been asked for. `ask` asks for the next one. */
  constructor(ask: () => void) {
    this.#ask = ask;
  }

  push(item: Item): void {
    this.#isAsked = false;
    this.#page.push(item);
    this.#wake();
  }

  /** Ends the iteration after the items that have come. */
  end(error?: ClusterError): void {
    this.#end ??= { error };
    this.#wake();
  }

  /** Returns the page that has come, or undefined at the end or when the signal fires. Throws the error of the iteration. */
  async next(signal?: AbortSignal): Promise<readonly Item[] | undefined> {
    while (this.#page.length === 0 && this.#end === undefined && signal?.aborted !== true) await this.#wait();
    if (signal?.aborted) return undefined;
    const page = this.#page;
    this.#page = [];
    if (page.length > 0) return page;
    if (this.#end?.error !== undefined) throw this.#end.error;
    return undefined;
  }

  /** Lets `next` look at its signal. */
  wake(): void {
    this.#wake();
  }

  #wait(): Promise<void> {
    if (!this.#isAsked) this.#ask();
    this.#isAsked = true;
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
