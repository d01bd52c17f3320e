import { McpError, ProtocolError } from "../schema/errors.js";
import { DEFAULTS } from "./options.js";

/** Follows pages to the end, but not for ever. A server that hands out the same cursor twice in a row of pages is not followed in circles. */
export async function* followPages<T>(
  readPage: (
    cursor: string | undefined,
  ) => Promise<{ readonly items: readonly T[]; readonly nextCursor: string | null | undefined }>,
  most: number = DEFAULTS.maxPages,
): AsyncGenerator<T, void, void> {
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const page = await readPage(cursor);
    yield* page.items;
    if (page.nextCursor === undefined || page.nextCursor === null) return;
    if (seen.has(page.nextCursor))
      throw new ProtocolError("The server gave out the same cursor twice: its pages have no end");
    if (pages >= most) throw new McpError("too_many_pages", `The server's list goes on after ${most} pages`);
    seen.add(page.nextCursor);
    cursor = page.nextCursor;
  }
}
