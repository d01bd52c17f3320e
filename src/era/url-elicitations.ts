/** More pages than this are not remembered; the oldest go first. */
const MOST = 10_000;

/** The one whose client was asked to send its user to a page. */
export interface PageOwner {
  /** The user is done with the page. */
  onPageDone(id: string): void;
  /** Nobody will say any more that the user is done with it. */
  onPageForgotten(id: string): void;
}

/** The pages that users were sent to and that are not done yet, by the id of the question. */
export class UrlElicitations {
  /** An owner that has ended leaves nothing but the id. */
  readonly #open = new Map<string, PageOwner | undefined>();

  note(id: string, owner: PageOwner): void {
    this.#remove(id)?.onPageForgotten(id);
    const [oldest] = this.#open.keys();
    if (this.#open.size >= MOST && oldest !== undefined) this.#remove(oldest)?.onPageForgotten(oldest);
    this.#open.set(id, owner);
  }

  /** Tells once; false for an id that nobody was asked with. */
  complete(id: string): boolean {
    const known = this.#open.has(id);
    this.#remove(id)?.onPageDone(id);
    return known;
  }

  /** The owner has ended: that the page is done will be known, and told to nobody. */
  release(id: string): void {
    if (this.#open.has(id)) this.#open.set(id, undefined);
  }

  #remove(id: string): PageOwner | undefined {
    const owner = this.#open.get(id);
    this.#open.delete(id);
    return owner;
  }
}
