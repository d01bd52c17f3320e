import type { Fetch } from "../http/client/send.js";

/** Requests to a URL, from the platform. None of them follows redirects. */
export interface Network {
  /** Sends as a client does, by the proxies of the environment. */
  readonly fetch: Fetch;
  /** Sends any header, `Host` included. */
  readonly raw: Fetch;
  /** Sends to public addresses only. It is for addresses that a server names. */
  readonly guarded: Fetch;
  /** Returns the time at which the certificate of a server ends, in milliseconds since 1970. */
  readonly certificateEnd?: ((url: URL, signal: AbortSignal) => Promise<number | undefined>) | undefined;
}
