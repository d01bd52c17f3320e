import { INVALID_PARAMS } from "../jsonrpc/error-codes.js";
import { McpError, ProtocolError, RpcError } from "../schema/errors.js";
import { DEFAULTS } from "./options.js";

type ReadPage<T> = (
  cursor: string | undefined,
) => Promise<{ readonly items: readonly T[]; readonly nextCursor: string | null | undefined }>;

/** A listing of many pages: item by item in a loop, or all at once. */
export class Pages<T> implements AsyncIterable<T> {
  readonly #readPage: ReadPage<T>;

  readonly #most: number;

  constructor(readPage: ReadPage<T>, most: number = DEFAULTS.maxPages) {
    this.#readPage = readPage;
    this.#most = most;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    for await (const items of followPages(this.#readPage, this.#most)) yield* items;
  }

  /** Everything. When a cursor turns bad on the way, the list has changed: it is read from the start again, once. */
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
    const readPage: ReadPage<T> = async (cursor) => {
      try {
        return await this.#readPage(cursor);
      } catch (error) {
        const refused = cursor !== undefined && error instanceof RpcError && error.rpcCode === INVALID_PARAMS;
        throw refused ? new BadCursor("a cursor was refused", { cause: error }) : error;
      }
    };
    for await (const items of followPages(readPage, this.#most)) all.push(...items);
    return all;
  }
}

class BadCursor extends Error {}

/** Follows pages to the end, but not for ever. A server that hands out the same cursor twice in a row of pages is not followed in circles. */
async function* followPages<T>(readPage: ReadPage<T>, most: number): AsyncGenerator<readonly T[], void, void> {
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const page = await readPage(cursor);
    yield page.items;
    if (page.nextCursor === undefined || page.nextCursor === null) return;
    if (seen.has(page.nextCursor))
      throw new ProtocolError("The server gave out the same cursor twice: its pages have no end");
    if (pages >= most) throw new McpError("too_many_pages", `The server's list goes on after ${most} pages`);
    seen.add(page.nextCursor);
    cursor = page.nextCursor;
  }
}
