/** One request of a client, as far as what it needs depends on it. */
export interface Operation {
  readonly method: string;
  readonly params?: { readonly [key: string]: unknown } | undefined;
  /** What the definition that it names requires. */
  readonly scopes: readonly string[];
}

/** The answer to somebody who may not. */
export interface GateRefusal {
  readonly status: number;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
  /** What went wrong, for the server's own log. */
  readonly error?: unknown;
  /** The refusal with all that these operations need too, so that the caller does not have to come twice. */
  readonly amend?: (operations: readonly Operation[]) => GateRefusal;
}

/** Who is calling. */
export interface GateAdmission {
  /** Handlers read it as `ctx.auth`. */
  readonly auth?: unknown;
  /** The caller in one word that does not change from request to request: a session is its opener's alone. */
  readonly principal?: string | undefined;
  /**
   * How long it lasts, from now on; undefined for one without an end. Streams that it opened and that their client can take
   * up again end with it.
   */
  readonly lifeMs?: number | undefined;
  /** Headers that go along with the answer. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /**
   * Judges what the caller is about to do, before anything of it is done. Where it is there, definitions that require
   * more than the caller has are listed all the same: the refusal says how to get it.
   */
  readonly judge?: ((operations: readonly Operation[]) => GateRefusal | undefined) | undefined;
}
