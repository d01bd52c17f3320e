import type { CallLifetime } from "../call/lifetime.js";

/** Ids that are longer than this are no ids. */
const LONGEST_ID = 1024;

interface Page {
  done: boolean;
  readonly waiting: Set<() => void>;
}

/** The pages that the server asked to send the user to, and whether it has said that they are done. */
export class UrlElicitationWaits {
  readonly #pages = new Map<string, Page>();
  readonly #most: number;

  /** More pages than `most` are not remembered; the oldest go first. */
  constructor(most: number) {
    this.#most = most;
  }

  /** The server named this page; from now on its end is remembered. */
  expect(id: string): Page {
    const known = this.#pages.get(id);
    if (known !== undefined) return known;
    const page: Page = { done: false, waiting: new Set() };
    if (id.length > LONGEST_ID || this.#most < 1) return page;
    const [oldest] = this.#pages.keys();
    if (this.#pages.size >= this.#most && oldest !== undefined) this.#pages.delete(oldest);
    this.#pages.set(id, page);
    return page;
  }

  /** The server says that a page is done. One that it never named, or that is done already, is none of ours. */
  complete(id: unknown): void {
    const page = this.#pages.get(id as string);
    if (page === undefined || page.done) return;
    page.done = true;
    for (const wake of [...page.waiting]) wake();
  }

  wait(id: string, lifetime: CallLifetime): Promise<void> {
    const page = this.expect(id);
    if (page.done) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const over = () => {
        page.waiting.delete(wake);
        lifetime.offAbort(giveUp);
      };
      const wake = () => {
        over();
        resolve();
      };
      const giveUp = (reason: unknown) => {
        over();
        reject(reason);
      };
      page.waiting.add(wake);
      lifetime.onAbort(giveUp);
    });
  }
}
