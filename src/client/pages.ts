import type { ClientLimits } from "../era/client-limits.js";
import { McpError, ProtocolError, RpcError } from "../protocol/errors.js";
import { INVALID_PARAMS } from "../protocol/jsonrpc/errors.js";

/** Reads the first page, or the page at a cursor. */
export type ReadPage = (at: { readonly cursor: string } | undefined) => Promise<object>;

type PageLimits = Pick<ClientLimits, "maxPages" | "maxItems">;

interface Page {
  readonly nextCursor?: string | null;
}

/** Paginated listing: iterate over its items, or collect them with `all`. */
export class Pages<T> implements AsyncIterable<T> {
  readonly #member: string;
  readonly #read: ReadPage;
  readonly #limits: PageLimits;
  readonly #onEndless: (() => void) | undefined;

  /**
   * `onEndless` is called if a cursor repeats or `maxPages` is exceeded, so that none of the pages is cached.
   * @internal
   */
  constructor(member: string, read: ReadPage, limits: PageLimits, onEndless?: () => void) {
    this.#member = member;
    this.#read = read;
    this.#limits = limits;
    this.#onEndless = onEndless;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    for await (const items of this.#follow(this.#read)) yield* items;
  }

  /** Collects all items. If the server refuses a cursor, the list has changed: it is read once more from the start. */
  async all(): Promise<T[]> {
    try {
      return await this.#collect();
    } catch (error) {
      if (!(error instanceof BadCursor)) throw error;
    }
    return this.#collect().catch((error: unknown) => {
      throw error instanceof BadCursor ? error.cause : error;
    });
  }

  async #collect(): Promise<T[]> {
    const all: T[] = [];
    const read: ReadPage = async (at) => {
      try {
        return await this.#read(at);
      } catch (error) {
        const refused = at !== undefined && error instanceof RpcError && error.rpcCode === INVALID_PARAMS;
        throw refused ? new BadCursor("a cursor was refused", { cause: error }) : error;
      }
    };
    // Does not spread the page, since it may have more items than a call may have arguments.
    for await (const items of this.#follow(read)) for (const item of items) all.push(item);
    return all;
  }

  /** Reads page after page. Throws if the server repeats a cursor or a limit is exceeded. */
  async *#follow(read: ReadPage): AsyncGenerator<readonly T[], void, void> {
    const { maxPages, maxItems } = this.#limits;
    const seen = new Set<string>();
    let count = 0;
    let at: { readonly cursor: string } | undefined;
    for (;;) {
      const page = (await read(at)) as Page & { readonly [member: string]: readonly T[] };
      const items = page[this.#member] as readonly T[];
      count += items.length;
      if (count > maxItems)
        throw new McpError(
          "too_many_items",
          `The server's list has more than ${maxItems} ${this.#member} (limits.maxItems)`,
        );
      yield items;
      const cursor = page.nextCursor;
      if (cursor === undefined || cursor === null) return;
      at = { cursor };
      const isKnown = seen.has(cursor);
      if (!isKnown && seen.add(cursor).size < maxPages) continue;
      this.#onEndless?.();
      throw isKnown
        ? new ProtocolError(`The server returned the same cursor twice: its ${this.#member} have no end`)
        : new McpError(
            "too_many_pages",
            `The server's list of ${this.#member} has more than ${maxPages} pages (limits.maxPages)`,
          );
    }
  }
}

class BadCursor extends Error {}
