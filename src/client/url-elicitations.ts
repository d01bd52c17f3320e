import type { CallLifetime } from "../call/lifetime.js";
import { dropOldest } from "../protocol/oldest.js";

/** Maximum length of an id. Longer ids are not stored. */
const LONGEST_ID = 1024;

interface Page {
  done: boolean;
  readonly waiting: Set<() => void>;
}

/** URL elicitations of the server and their completion. */
export class UrlElicitationWaits {
  readonly #pages = new Map<string, Page>();
  readonly #most: number;

  /** Stores at most `most` elicitations and drops the oldest. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Registers a URL elicitation, so that its completion is recorded. */
  expect(id: string): Page {
    const known = this.#pages.get(id);
    if (known !== undefined) return known;
    const page: Page = { done: false, waiting: new Set() };
    if (id.length > LONGEST_ID || this.#most < 1) return page;
    this.#pages.set(id, page);
    dropOldest(this.#pages, this.#most);
    return page;
  }

  /** Records the completion of an elicitation. Ignores unknown and completed ones. */
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
