import { ProtocolError } from "../schema/errors.js";

/** Follows pages to the end. A server that hands out the same cursor twice in a row of pages is not followed in circles. */
export async function* followPages<T>(
  readPage: (
    cursor: string | undefined,
  ) => Promise<{ readonly items: readonly T[]; readonly nextCursor: string | null | undefined }>,
): AsyncGenerator<T, void, void> {
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (;;) {
    const page = await readPage(cursor);
    yield* page.items;
    if (page.nextCursor === undefined || page.nextCursor === null) return;
    if (seen.has(page.nextCursor))
      throw new ProtocolError("The server gave out the same cursor twice: its pages have no end");
    seen.add(page.nextCursor);
    cursor = page.nextCursor;
  }
}
