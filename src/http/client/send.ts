import type { AbortSwitch } from "../../call/abort-switch.js";

/** HTTP request of a client. */
export interface Sending {
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: HeaderRecord;
  readonly body: string | null;
  /** Ends the request and the reading of its response. */
  readonly end: AbortSwitch;
  readonly patience?: Patience | undefined;
  /** URL of the MCP server that the request is for. The request itself may go to another URL. */
  readonly server: URL;
}

/** Pauses the idle time of the request's call while it waits for something other than the server. */
export interface Patience {
  pauseIdle(): void;
  resumeIdle(): void;
}

/** Sends a request. Does not follow redirects. */
export interface Send {
  (url: URL, sending: Sending): Promise<Reply>;
  /** Sets whether idle connections are kept. False closes those that there are. Undefined if the platform decides. */
  keepIdle?: (isKept: boolean) => void;
}

/** Options of a `fetch` in addition to the standard `RequestInit`. */
export interface FetchInit extends RequestInit {
  readonly patience?: Patience | undefined;
  readonly server?: URL | undefined;
  /**
   * Sends by the connections of the client, which close with it. Undefined if the platform has none of its own.
   * @internal
   */
  readonly ownFetch?: Fetch;
}

/** Function that a client uses in place of the global `fetch`. */
export type Fetch = (url: URL, init: FetchInit) => Promise<Response>;

/** The global `fetch`, even if it is replaced later. */
export const globalFetch: Fetch = (url, init) => globalThis.fetch(url, init);

/** Converts a `fetch` to a {@link Send}. Redirects are not followed. */
export function sendBy(fetch: Fetch): Send {
  return (url, { end, ...init }) => fetch(url, { ...init, signal: end.signal, redirect: "manual" });
}

const MAX_HOPS = 5;

/**
 * Sends a request and follows redirects to the same origin that keep method, headers and body. Any other redirect is
 * returned, so that the caller can refuse it.
 */
export async function followSameOrigin<R extends Reply>(
  url: URL,
  isGet: boolean,
  send: (url: URL) => Promise<R>,
  maxHops = MAX_HOPS,
): Promise<R> {
  let at = url;
  for (let hops = 0; ; hops++) {
    const reply = await send(at);
    const next = hops < maxHops ? nextHop(reply, at, isGet) : undefined;
    if (next === undefined) return reply;
    discard(reply);
    at = next;
  }
}

function nextHop(reply: Reply, from: URL, isGet: boolean): URL | undefined {
  const { status } = reply;
  const keepsMethod = status === 307 || status === 308 || (isGet && (status === 301 || status === 302));
  const location = keepsMethod ? reply.headers.get("location") : null;
  if (location === null || !URL.canParse(location, from)) return undefined;
  const to = new URL(location, from);
  return to.origin === from.origin ? to : undefined;
}

/** Cancels an unread body, so that its connection can be reused. Never throws. */
export function discard(reply: Reply): void {
  if (reply.body !== null && !reply.bodyUsed) reply.body.cancel().catch(() => {});
}

export type HeaderRecord = Record<string, string>;

/** Headers that the protocol reserves. Callers can neither set nor remove them, but can add types to `accept`. */
const RESERVED = new Set([
  "accept",
  "content-type",
  "content-length",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
]);
const PARAM_PREFIX = "mcp-param-";
const REQUIRED_TYPES = ["application/json", "text/event-stream"];

/** Initial headers of a transport's requests, with names in lower case. */
export interface ClientHeaders {
  readonly post: Readonly<HeaderRecord>;
  readonly get: Readonly<HeaderRecord>;
  /** Headers of requests without a body. */
  readonly bare: Readonly<HeaderRecord>;
}

/** Merges the headers of the caller with those of the protocol. The protocol's headers have precedence. */
export function createClientHeaders(own: HeadersInit): ClientHeaders {
  const bare: HeaderRecord = {};
  let accept: string[] = [];
  for (const [name, value] of new Headers(own)) {
    if (name === "accept") accept = value.split(",").map((type) => type.trim());
    else if (!RESERVED.has(name) && !name.startsWith(PARAM_PREFIX)) bare[name] = value;
  }
  const more = accept.filter((type) => type !== "" && !REQUIRED_TYPES.includes(mediaTypeOf(type)));
  return {
    bare,
    get: { ...bare, accept: "text/event-stream" },
    post: { ...bare, accept: [...REQUIRED_TYPES, ...more].join(", "), "content-type": "application/json" },
  };
}

function mediaTypeOf(range: string): string {
  return (range.split(";", 1)[0] as string).trim().toLowerCase();
}

/** Part of a response that a client uses. A web `Response` implements it. */
export interface Reply {
  readonly status: number;
  readonly ok: boolean;
  /** URL of the response. May be empty if it equals the requested URL. */
  readonly url: string;
  readonly headers: { get(name: string): string | null };
  readonly body: ReplyBody | null;
  readonly bodyUsed: boolean;
}

/** Body of a response: a web stream or a {@link ByteSource}. */
export type ReplyBody = ReadableStream<Uint8Array> | ByteSource;

/** Body that passes on its chunks without the overhead of a web stream. It ends with its request. */
export interface ByteSource {
  /**
   * Passes on each chunk as it arrives. Chunks that are already available are passed on before it returns. Resolves
   * when the body has ended or the listener wants no more. Rejects with the error of the source or the listener, or
   * with the reason of the cancellation. Called once.
   */
  pump(onChunk: OnChunk): Promise<void>;
  cancel(reason?: unknown): Promise<void>;
}

/** Receives a chunk. Returns true to receive more, at once or when there is room. */
export type OnChunk = (chunk: Uint8Array) => boolean | Promise<boolean>;

/**
 * Lifetime of the reading of a response. `signal` creates an AbortController lazily; read it only if a web API needs
 * one.
 */
export interface Life {
  readonly signal: AbortSignal;
}

/**
 * Returns the source of a body. A web stream is combined with the signal, and is always read to its end or cancelled. A
 * `ByteSource` ends with its request and needs no signal.
 */
export function sourceOf(body: ReplyBody, life?: Life): ByteSource {
  if ("pump" in body) return body;
  const signal = life?.signal;
  const reader = body.getReader();
  let cancelled: { readonly reason: unknown } | undefined;
  // Callers do not wait for the cancellation, since a stream may never settle it.
  const cancel = async (reason?: unknown) => {
    cancelled ??= { reason };
    await reader.cancel(reason).catch(() => {});
  };
  const stop = () => void cancel(signal?.reason);
  return {
    cancel,
    async pump(onChunk) {
      if (signal?.aborted) stop();
      signal?.addEventListener("abort", stop, { once: true });
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (cancelled !== undefined) throw cancelled.reason;
          if (done) return;
          if (!(await onChunk(value))) return void cancel();
        }
      } catch (error) {
        void cancel(error);
        throw cancelled?.reason;
      } finally {
        signal?.removeEventListener("abort", stop);
      }
    },
  };
}
