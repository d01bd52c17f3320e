import type { AbortSwitch } from "../../call/abort-switch.js";

/** One request of a client. */
export interface Sending {
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: HeaderRecord;
  readonly body: string | null;
  /** Ends the request, and the reading of its response. */
  readonly end: AbortSwitch;
  readonly patience?: Patience | undefined;
  /** The address of the server that the request is for, which the request's own need not be. */
  readonly server: URL;
}

/** Stops the idle time of the call that a request belongs to, while something else than the server is waited for. */
export interface Patience {
  pauseIdle(): void;
  resumeIdle(): void;
}

/** Sends a request. Redirects are handed back as they came. */
export type Send = (url: URL, sending: Sending) => Promise<Reply>;

/** What a `fetch` is told beside what it knows. */
export interface FetchInit extends RequestInit {
  readonly patience?: Patience | undefined;
  readonly server?: URL | undefined;
}

export type Fetch = (url: URL, init: FetchInit) => Promise<Response>;

export function sendBy(fetch: Fetch): Send {
  return (url, { end, ...init }) => fetch(url, { ...init, signal: end.signal, redirect: "manual" });
}

const MAX_HOPS = 5;

/**
 * Sends, and follows a redirect only where nothing is given away and nothing is changed: to the same origin, with
 * method, headers and body kept. Any other redirect is handed back as it came, for the caller to refuse.
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

/** Lets go of a body that nobody reads, so that its connection is free again. Never throws. */
export function discard(reply: Reply): void {
  if (reply.body !== null && !reply.bodyUsed) reply.body.cancel().catch(() => {});
}

export type HeaderRecord = Record<string, string>;

/** Headers that the protocol owns: a caller can neither set nor remove them. */
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

/** The headers that a transport begins every POST and every GET with. Names are in lower case. */
export interface ClientHeaders {
  readonly post: Readonly<HeaderRecord>;
  readonly get: Readonly<HeaderRecord>;
  /** Those for requests that have no body and want none. */
  readonly bare: Readonly<HeaderRecord>;
}

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

/** What a client reads of a response. A web `Response` is one. */
export interface Reply {
  readonly status: number;
  readonly ok: boolean;
  /** Where it came from; empty if that is where it was asked for. */
  readonly url: string;
  readonly headers: { get(name: string): string | null };
  readonly body: ReplyBody | null;
  readonly bodyUsed: boolean;
}

/** The bytes of a response: those of a web stream, or of a source that hands them out itself. */
export type ReplyBody = ReadableStream<Uint8Array> | ByteSource;

/** Bytes without the ceremony of a stream. They end with the request that they answer. */
export interface ByteSource {
  /**
   * Hands out each chunk as it comes, and those that are there already before it returns. Settles when the bytes have ended
   * or the listener wants no more. Rejects with what broke the source, what the listener threw, or the
   * reason that the source was cancelled for. To be called once.
   */
  pump(onChunk: OnChunk): Promise<void>;
  cancel(reason?: unknown): Promise<void>;
}

/** Tells whether it wants more, at once or when it has made room. */
export type OnChunk = (chunk: Uint8Array) => boolean | Promise<boolean>;

/** What the reading of a response ends with. Its signal is asked for where there is no other way. */
export interface Life {
  readonly signal: AbortSignal;
}

/**
 * The source of a body. A web stream is one together with a signal, and is always either read to its end or cancelled; what
 * came with its request needs no signal of its own.
 */
export function sourceOf(body: ReplyBody, life?: Life): ByteSource {
  if ("pump" in body) return body;
  const signal = life?.signal;
  const reader = body.getReader();
  let cancelled: { readonly reason: unknown } | undefined;
  // Nobody needs to wait for it: a stream that never settles it must not hold up the caller.
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
