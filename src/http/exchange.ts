/** A response body that is written piece by piece. */
export interface HttpStream {
  /** Writes text. Returns false when the reader is behind; `onDrain` tells when it has caught up. */
  write(text: string): boolean;
  onDrain(listener: () => void): void;
  /** Ends the response after what was written. Idempotent. */
  end(): void;
}

export type HttpHeaders = { readonly [name: string]: string };

/**
 * One HTTP request and the way to answer it, whatever server it came through.
 * Exactly one of `reply` and `stream` is called, once; both do nothing after the client has gone.
 */
export interface HttpExchange {
  readonly method: string;
  /** Path and query, as requested: `/mcp?x=1`. */
  readonly url: string;
  /** A request header by lower-case name; several values are joined by ", ". */
  header(name: string): string | undefined;
  /** The request body. Rejects with `BodyTooLarge` beyond `limit` bytes and with `BodyNotText` if it is not UTF-8. */
  text(limit: number): Promise<string>;
  /** Calls the listener once if the client goes away before the response is complete. */
  onGone(listener: () => void): void;
  reply(status: number, headers: HttpHeaders, body?: string): void;
  stream(status: number, headers: HttpHeaders): HttpStream;
  /** What an authorization gate in front found out about the caller; handlers read it as `ctx.auth`. */
  readonly auth?: unknown;
}

export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge";
  constructor(readonly limit: number) {
    super(`request body is larger than ${limit} bytes`);
  }
}

export class BodyNotText extends Error {
  override readonly name = "BodyNotText";
  constructor() {
    super("request body is not valid UTF-8");
  }
}
