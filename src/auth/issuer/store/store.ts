/**
 * Where an issuer keeps what outlives a request. Keys are text, `kind:name`; values are plain data that survives JSON;
 * `expiresAt` is in milliseconds since 1970. No code, token or secret of a client is in it: they are kept as digests, and
 * tokens of an upstream provider encrypted.
 *
 * On Redis: GET, SET PXAT, SET NX PXAT, DEL. A store that drops nothing before its time need not look at `keeping`.
 */
export interface IssuerStore {
  get(key: string): Promise<unknown>;
  put(key: string, value: unknown, expiresAt: number, keeping?: Keeping): Promise<void>;
  /**
   * Puts a value unless there is one, and tells whether it did. Of several at once exactly one is told true: this is what
   * makes codes and refresh tokens good for one use. What is added is not dropped before it expires.
   */
  add(key: string, value: unknown, expiresAt: number, keeping?: Pick<Keeping, "owner">): Promise<boolean>;
  delete(key: string): Promise<void>;
}

/** Which values may make room for others in a store that is bounded. */
export interface Keeping {
  /** The user that a value belongs to. It makes room only for newer values of the same user. */
  readonly owner?: string;
  /** The key of another value, which stays as long as this one. */
  readonly needs?: string;
  /** Until then the value makes room for no other. In milliseconds since 1970. */
  readonly heldUntil?: number;
}
