/** Owner of URL elicitations, whose client was asked to open the URLs. */
export interface UrlElicitationOwner {
  /** Called when the elicitation is complete. */
  onUrlElicitationDone(id: string): void;
}

/** Owner that has ended. Its elicitations stay known, but no client is told of their completion. */
const ENDED: UrlElicitationOwner = { onUrlElicitationDone() {} };

/**
 * Incomplete URL elicitations of a server. If there is no room for one, the owner that has the most loses its oldest, so
 * that a client with many keeps no other from being told.
 */
export class UrlElicitations {
  readonly #owners = new Map<string, UrlElicitationOwner>();
  readonly #idsOf = new Map<UrlElicitationOwner, Set<string>>();
  /** Called when an elicitation of another process may be complete. */
  onUnknown: ((id: string) => void) | undefined;

  has(id: string): boolean {
    return this.#owners.has(id);
  }

  /** Returns the number of incomplete elicitations of an owner. */
  count(owner: UrlElicitationOwner): number {
    return this.#idsOf.get(owner)?.size ?? 0;
  }

  /** Adds an elicitation, of which there may be at most `most`. An id that is known gets a new owner. */
  add(id: string, owner: UrlElicitationOwner, most: number): void {
    this.#remove(id);
    if (this.#owners.size >= most) this.#forgetOne();
    this.#owners.set(id, owner);
    const ids = this.#idsOf.get(owner);
    if (ids === undefined) this.#idsOf.set(owner, new Set([id]));
    else ids.add(id);
  }

  /** Forgets an owner that ends. The ids of its elicitations stay known. */
  release(owner: UrlElicitationOwner): void {
    for (const id of this.#idsOf.get(owner) ?? []) this.add(id, ENDED, Number.POSITIVE_INFINITY);
  }

  /** Completes an elicitation and notifies its owner once. Returns false for an unknown id. */
  complete(id: string): boolean {
    const owner = this.#remove(id);
    owner?.onUrlElicitationDone(id);
    if (owner === undefined) this.onUnknown?.(id);
    return owner !== undefined || this.onUnknown !== undefined;
  }

  #forgetOne(): void {
    let most: Set<string> | undefined;
    for (const ids of this.#idsOf.values()) if (ids.size > (most?.size ?? 0)) most = ids;
    for (const oldest of most ?? []) return void this.#remove(oldest);
  }

  #remove(id: string): UrlElicitationOwner | undefined {
    const owner = this.#owners.get(id);
    if (owner === undefined) return undefined;
    this.#owners.delete(id);
    const ids = this.#idsOf.get(owner);
    ids?.delete(id);
    if (ids?.size === 0) this.#idsOf.delete(owner);
    return owner;
  }
}
