import type { CallLifetime } from "../call/lifetime.js";

/** More pages than this are not remembered; the oldest go first. */
const MOST = 1000;

interface Page {
  done: boolean;
  readonly waiting: Set<() => void>;
}

/** The pages that the server asked to send the user to, and whether it has said that they are done. */
export class UrlElicitationWaits {
  readonly #pages = new Map<string, Page>();

  /** The server named this page; from now on its end is remembered. */
  expect(id: string): Page {
    const known = this.#pages.get(id);
    if (known !== undefined) return known;
    const [oldest] = this.#pages.keys();
    if (this.#pages.size >= MOST && oldest !== undefined) this.#pages.delete(oldest);
    const page: Page = { done: false, waiting: new Set() };
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
