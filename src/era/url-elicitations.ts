import type { OpenPages, PageOwner } from "./server-era.js";

/** More pages than this are not remembered; the oldest go first. */
const MOST = 10_000;

/** A user is sent to a page. */
export function notePage(pages: OpenPages, id: string, owner: PageOwner): void {
  forget(pages, id);
  const [oldest] = pages.keys();
  if (pages.size >= MOST && oldest !== undefined) forget(pages, oldest);
  pages.set(id, owner);
}

/** The owner has ended: that the page is done will be known, and told to nobody. */
export function releasePage(pages: OpenPages, id: string): void {
  if (pages.has(id)) pages.set(id, undefined);
}

function forget(pages: OpenPages, id: string): void {
  const owner = pages.get(id);
  pages.delete(id);
  owner?.onPageForgotten(id);
}
