import type { ServerLimits } from "./server-limits.js";

/** Owner of a URL elicitation, whose client was asked to open the URL. */
export interface UrlElicitationOwner {
  /** Called when the elicitation is complete. */
  onUrlElicitationDone(id: string): void;
  /** Called when the elicitation is dropped, so that its completion will not be reported. */
  onUrlElicitationForgotten(id: string): void;
}

/** Incomplete URL elicitations by id. The value is undefined after the owner has ended. */
export type UrlElicitations = Map<string, UrlElicitationOwner | undefined> & {
  /** Called when an elicitation of another process may be complete. */
  onUnknown?: ((id: string) => void) | undefined;
};

/** Object that holds the elicitations. */
interface UrlElicitationKeeper {
  readonly urlElicitations: UrlElicitations;
  readonly limits: Pick<ServerLimits, "maxUrlElicitations">;
}

/** Adds an elicitation. At the limit the oldest one is dropped. */
export function trackUrlElicitation(keeper: UrlElicitationKeeper, id: string, owner: UrlElicitationOwner): void {
  const { urlElicitations: pages, limits } = keeper;
  forget(pages, id);
  const [oldest] = pages.keys();
  if (pages.size >= limits.maxUrlElicitations && oldest !== undefined) forget(pages, oldest);
  pages.set(id, owner);
}

/** Removes the owner, which has ended. The id stays known, but completion is reported to no client. */
export function releaseUrlElicitation(pages: UrlElicitations, id: string): void {
  if (pages.has(id)) pages.set(id, undefined);
}

function forget(pages: UrlElicitations, id: string): void {
  const owner = pages.get(id);
  pages.delete(id);
  owner?.onUrlElicitationForgotten(id);
}

/** Completes an elicitation and notifies its owner once. Returns false for an unknown id. */
export function completeUrlElicitation(pages: UrlElicitations, id: string): boolean {
  const owner = pages.get(id);
  const known = pages.delete(id);
  owner?.onUrlElicitationDone(id);
  if (!known) pages.onUnknown?.(id);
  return known || pages.onUnknown !== undefined;
}
