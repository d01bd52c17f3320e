/** The one whose client was asked to send its user to a page. */
export interface PageOwner {
  /** The user is done with the page. */
  onPageDone(id: string): void;
  /** Nobody will say any more that the user is done with it. */
  onPageForgotten(id: string): void;
}

/**
 * The pages that users were sent to and that are not done yet, by the id of the question. An owner that has ended leaves
 * nothing but the id.
 */
export type OpenPages = Map<string, PageOwner | undefined>;

/** Tells the owner, once; false for an id that nobody was asked with. */
export function completePage(pages: OpenPages, id: string): boolean {
  const owner = pages.get(id);
  const known = pages.delete(id);
  owner?.onPageDone(id);
  return known;
}
