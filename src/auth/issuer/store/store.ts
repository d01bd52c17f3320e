/**
 * Storage of an issuer. Keys have the form `kind:issuer name`, so that several issuers may share a store. Values are plain
 * data that JSON can represent. `expiresAt` is in milliseconds since 1970. Codes, tokens and client secrets are stored as
 * digests, and upstream tokens encrypted.
 *
 * With Redis use GET, SET PXAT, SET NX PXAT and DEL. A store without eviction can ignore `keeping`.
 */
export interface IssuerStore {
  get(key: string): Promise<unknown>;
  put(key: string, value: unknown, expiresAt: number, keeping?: Keeping): Promise<void>;
  /**
   * Stores a value unless the key exists. Returns true if it was stored. Must be atomic: exactly one of several
   * concurrent calls returns true. Codes and refresh tokens are single-use because of it. The value must not be evicted
   * before its expiry.
   */
  add(key: string, value: unknown, expiresAt: number, keeping?: Pick<Keeping, "owner">): Promise<boolean>;
  delete(key: string): Promise<void>;
}

/** Retention of a value in a store that evicts values. */
export interface Keeping {
  /** User to whom the value belongs. The value is evicted only for newer values of the same user. */
  readonly owner?: string;
  /** Key of another value that is kept as long as this one. */
  readonly needs?: string;
  /** Time in milliseconds since 1970 before which the value is not evicted. */
  readonly heldUntil?: number;
}

/**
 * Returns the part of a store that belongs to one issuer. Its keys and owners are those of the store with the issuer in
 * front of the name. A URL has no spaces, so that no name reaches the keys of another issuer.
 */
export function storeOf(issuer: string, store: IssuerStore): IssuerStore {
  const keyOf = (key: string) => key.replace(":", () => `:${issuer} `);
  const keep = ({ owner, needs, heldUntil }: Keeping): Keeping => ({
    ...(owner !== undefined && { owner: `${issuer} ${owner}` }),
    ...(needs !== undefined && { needs: keyOf(needs) }),
    ...(heldUntil !== undefined && { heldUntil }),
  });
  return {
    get: (key) => store.get(keyOf(key)),
    put: (key, value, expiresAt, keeping = {}) => store.put(keyOf(key), value, expiresAt, keep(keeping)),
    add: (key, value, expiresAt, keeping = {}) => store.add(keyOf(key), value, expiresAt, keep(keeping)),
    delete: (key) => store.delete(keyOf(key)),
  };
}
