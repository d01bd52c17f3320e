/** More pages than this are not remembered; the oldest go first. */
const MOST = 10_000;

/** The pages that users were sent to and that are not done yet, by the id of the question. */
export class UrlElicitations {
  readonly #open = new Map<string, () => void>();

  /** `tell` says to whoever was asked that the page is done. */
  note(id: string, tell: () => void): void {
    const [oldest] = this.#open.keys();
    if (this.#open.size >= MOST && oldest !== undefined) this.#open.delete(oldest);
    this.#open.set(id, tell);
  }

  /** Tells once; false for an id that nobody was asked with. */
  complete(id: string): boolean {
    const tell = this.#open.get(id);
    this.#open.delete(id);
    tell?.();
    return tell !== undefined;
  }
}
