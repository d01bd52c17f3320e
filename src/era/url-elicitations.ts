import type { UrlElicitationOwner, UrlElicitations } from "./server-era.js";

/** More pages than this are not remembered; the oldest go first. */
const MOST = 10_000;

/** A user is sent to a page. */
export function trackUrlElicitation(pages: UrlElicitations, id: string, owner: UrlElicitationOwner): void {
  forget(pages, id);
  const [oldest] = pages.keys();
  if (pages.size >= MOST && oldest !== undefined) forget(pages, oldest);
  pages.set(id, owner);
}

/** The owner has ended: that the page is done will be known, and told to nobody. */
export function releaseUrlElicitation(pages: UrlElicitations, id: string): void {
  if (pages.has(id)) pages.set(id, undefined);
}

function forget(pages: UrlElicitations, id: string): void {
  const owner = pages.get(id);
  pages.delete(id);
  owner?.onUrlElicitationForgotten(id);
}
