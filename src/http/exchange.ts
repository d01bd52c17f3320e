import type { AuthInfo } from "./auth-info.js";

/** Response body that is written in parts. */
export interface HttpStream {
  /**
   * Writes text. Returns false if the client is behind: the text is buffered, and the writer should wait for `onDrain`
   * to limit memory. After `end`, or after the client has disconnected, it does nothing and returns true.
   */
  write(text: string): boolean;
  /**
   * Calls the listener once, asynchronously, when the client has caught up or disconnected, or soon if it is not
   * behind. The writer calls it again after each write that returned false.
   */
  onDrain(listener: () => void): void;
  /** Ends the response after the data that was written. Idempotent. */
  end(): void;
  /** Aborts the response and drops unread data. Idempotent. */
  destroy(): void;
}

/** Count of the request bodies that a server is receiving. An exchange that wraps another one passes it on. */
export interface OpenBodies {
  /** Number of bodies. */
  readonly open: number;
  /** Number of their bytes that have arrived. */
  readonly bytes: number;
}

/** Headers of a response, by name. */
export type HttpHeaders = { readonly [name: string]: string };

export const JSON_HEADERS: HttpHeaders = { "content-type": "application/json" };

/**
 * HTTP request with the means to respond, independent of the HTTP server. Exactly one of `reply` and `stream` is
 * called, once. Both do nothing after the client has disconnected.
 */
export interface HttpExchange {
  readonly method: string;
  /** Path and query as requested, such as `/mcp?x=1`. */
  readonly url: string;
  /**
   * Returns a request header by its lower-case name. Several values are joined by ", ". `host` is the authority that
   * the client requested, even where the protocol carries it elsewhere (HTTP/2, a web `Request`).
   */
  header(name: string): string | undefined;
  /**
   * Reads the request body, without a byte order mark. Called at most once. Rejects with `BodyTooLarge` beyond `limit`
   * bytes, `BodyNotText` if it is not UTF-8, `BodyIncomplete` if the client disconnected while sending, and `BodyTaken`
   * if other code has read the body and did not pass it on. Counts the body among `bodies`, and rejects with
   * `BodiesFull` or `BodyTimeout` at their limits.
   */
  text(limit: number, bodies?: OpenBodies): Promise<string>;
  /**
   * Reads the request body without a promise, in the turn of the event loop in which it is complete. Replaces `text`.
   */
  read?(limit: number, onText: (text: string) => void, onFailure: (error: unknown) => void, bodies?: OpenBodies): void;
  /**
   * Calls the listener once, asynchronously, if the client disconnects before the response is complete, or has already
   * done so.
   */
  onGone(listener: () => void): void;
  /** True after `reply` or `stream` was called, or after the client has disconnected. */
  readonly answered: boolean;
  /** Sends a complete response. Sets `content-length`. */
  reply(status: number, headers: HttpHeaders, body?: string): void;
  /** Sends status and headers at once, and the body as it is written. */
  stream(status: number, headers: HttpHeaders): HttpStream;
  /**
   * Maximum time that the client may leave the rest of a finished response unread. Set by the endpoint.
   */
  stallMs?: number;
  /**
   * Address by which callers without a principal are told apart in limits. Undefined if the host does not know it, or if
   * many callers may share it, as that of a proxy.
   */
  readonly remote?: string | undefined;
  /** Information about the caller from the authorization gate. Handlers read it as `ctx.auth`. */
  readonly auth?: AuthInfo | undefined;
  /** Identifier of the caller from the gate. It is the same for all requests of the caller. */
  readonly principal?: string | undefined;
  /** Time at which the gate's admission expires, on the server's clock. */
  readonly endsAt?: number | undefined;
  /** Judges the operations of the caller by their scopes. Undefined if the gate has no such function. */
  readonly judge?: GateAdmission["judge"];
}

/** Converts a body that was already read. Text is passed on; any other value is serialized as JSON. */
export function toBodyText(body: unknown): string {
  return typeof body === "string" ? body : (JSON.stringify(body) ?? "");
}

/** Statuses of responses without a body and without a content-length. */
export const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** Operation of a client, with the properties that determine the required scopes. */
export interface Operation {
  readonly method: string;
  readonly params?: { readonly [key: string]: unknown } | undefined;
  /** Scopes that the definition named by the operation requires. */
  readonly scopes: readonly string[];
}

/** Response to a request that is not authorized. */
export interface GateRefusal {
  readonly status: number;
  readonly headers?: { readonly [name: string]: string } | undefined;
  readonly body?: string | undefined;
  /** Cause of the refusal, for the server's own log. */
  readonly error?: unknown;
  /** Reason that the client is told, for the server's log too. */
  readonly reason?: string | undefined;
  /**
   * Extends the refusal by the scopes that these operations need, so that the client has to be authorized only once.
   */
  readonly amend?: ((operations: readonly Operation[]) => GateRefusal) | undefined;
}

/** Admission of a caller. */
export interface GateAdmission {
  /** Information about the caller. Handlers read it as `ctx.auth`. */
  readonly auth?: AuthInfo | undefined;
  /** Identifier of the caller, the same for all its requests. A session belongs to the caller that opened it. */
  readonly principal?: string | undefined;
  /**
   * Duration of the admission from now on. Undefined if it does not expire. Resumable streams that it opened end with
   * it.
   */
  readonly lifeMs?: number | undefined;
  /** Headers to add to the response. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /**
   * Judges operations before any of them runs. If present, definitions that require scopes which the caller lacks are
   * listed nevertheless, since the refusal tells how to obtain them.
   */
  readonly judge?: ((operations: readonly Operation[]) => GateRefusal | undefined) | undefined;
}
