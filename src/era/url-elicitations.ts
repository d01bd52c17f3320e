import type { ServerLimits } from "./server-limits.js";

/** The one whose client was asked to send its user to a page. */
export interface UrlElicitationOwner {
  /** The user is done with the page. */
  onUrlElicitationDone(id: string): void;
  /** Nobody will say any more that the user is done with it. */
  onUrlElicitationForgotten(id: string): void;
}

/**
 * The pages that users were sent to and that are not done yet, by the id of the question. An owner that has ended leaves
 * nothing but the id.
 */
export type UrlElicitations = Map<string, UrlElicitationOwner | undefined>;

/** What keeps the pages. */
interface UrlElicitationKeeper {
  readonly urlElicitations: UrlElicitations;
  readonly limits: Pick<ServerLimits, "maxUrlElicitations">;
}

/** A user is sent to a page. At the limit the oldest page is not remembered any more. */
export function trackUrlElicitation(keeper: UrlElicitationKeeper, id: string, owner: UrlElicitationOwner): void {
  const { urlElicitations: pages, limits } = keeper;
  forget(pages, id);
  const [oldest] = pages.keys();
  if (pages.size >= limits.maxUrlElicitations && oldest !== undefined) forget(pages, oldest);
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

/** Tells the owner, once; false for an id that nobody was asked with. */
export function completeUrlElicitation(pages: UrlElicitations, id: string): boolean {
  const owner = pages.get(id);
  const known = pages.delete(id);
  owner?.onUrlElicitationDone(id);
  return known;
}
