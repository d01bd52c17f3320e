import type { AbortSwitch } from "../../call/abort-switch.js";
import type { HeaderRecord } from "./client-headers.js";
import type { Reply } from "./reply.js";

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
  hold(): void;
  release(): void;
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
