import type { RequestBodies } from "./request-bodies.js";

/** A response body that is written piece by piece. */
export interface HttpStream {
  /**
   * Writes text. Returns false when the reader is behind: what was given is kept, and a writer that cares for memory
   * waits for `onDrain`. After `end`, or once the client has gone, it does nothing and returns true.
   */
  write(text: string): boolean;
  /**
   * Calls the listener once, later: when the reader has caught up or has gone, or soon if it is not behind at all.
   * A writer that is refused again asks again; nobody waits for ever.
   */
  onDrain(listener: () => void): void;
  /** Ends the response after what was written. Idempotent. */
  end(): void;
  /** Cuts the response off, with what a reader that does not read has left unread. Idempotent. */
  destroy(): void;
}

export type HttpHeaders = { readonly [name: string]: string };

export const JSON_HEADERS: HttpHeaders = { "content-type": "application/json" };

/**
 * One HTTP request and the way to answer it, whatever server it came through.
 * Exactly one of `reply` and `stream` is called, once; both do nothing after the client has gone.
 */
export interface HttpExchange {
  readonly method: string;
  /** Path and query, as requested: `/mcp?x=1`. */
  readonly url: string;
  /**
   * A request header by lower-case name; several values are joined by ", ". `host` is the authority the client asked
   * for, also where the protocol carries it elsewhere (HTTP/2, a web `Request`).
   */
  header(name: string): string | undefined;
  /**
   * The request body, without a byte order mark. Called at most once. Rejects with `BodyTooLarge` beyond `limit` bytes,
   * `BodyNotText` if it is not UTF-8, `BodyIncomplete` if the client went away while sending, and `BodyTaken` if
   * something in front has read it and not handed it over. Counts the body among `bodies`, and rejects with `BodiesFull` and
   * `BodyTimeout` as they say.
   */
  text(limit: number, bodies?: RequestBodies): Promise<string>;
  /** The same without a promise, in the turn in which the body is there; in place of `text`. */
  read?(
    limit: number,
    onText: (text: string) => void,
    onFailure: (error: unknown) => void,
    bodies?: RequestBodies,
  ): void;
  /** Calls the listener once, later, if the client goes away, or has already gone, before the response is complete. */
  onGone(listener: () => void): void;
  /** Whether `reply` or `stream` has been called, or comes too late. */
  readonly answered: boolean;
  /** Answers at once. `content-length` is set here. */
  reply(status: number, headers: HttpHeaders, body?: string): void;
  /** Sends status and headers at once and the body as it is written. */
  stream(status: number, headers: HttpHeaders): HttpStream;
  /** How long the client may leave the last of its answer unread, where nothing else bounds it. Set by the endpoint. */
  stallMs?: number;
  /** What an authorization gate in front found out about the caller; handlers read it as `ctx.auth`. */
  readonly auth?: unknown;
  /** Who the gate says is calling, in one word that does not change from request to request. */
  readonly principal?: string | undefined;
  /** When the gate's word for the caller ends, on the server's clock. */
  readonly endsAt?: number | undefined;
  /** What the gate says of what the caller is about to do; undefined without one that knows. */
  readonly judge?: GateAdmission["judge"];
}

/** The body as something in front has read it: text is passed on, any other value is a parsed JSON body. */
export function toBodyText(body: unknown): string {
  return typeof body === "string" ? body : (JSON.stringify(body) ?? "");
}

/** The statuses of answers that must not carry a body, nor a content-length. */
export const BODILESS: ReadonlySet<number> = new Set([204, 304]);

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
