import type { Message } from "./log.js";

/** What came back for a request. */
export interface Heard {
  /** Undefined if there was no response. */
  readonly status: number | undefined;
  readonly headers: Headers;
  /** Beginning of the body. */
  readonly text: string;
  /** JSON-RPC response in the body. */
  readonly message: Message | undefined;
  /** Why there was no response, or why its body did not come. */
  readonly failure:
    | { readonly isLate: boolean; readonly code: string | undefined; readonly message: string }
    | undefined;
  /** Lines of the recording that show it. */
  readonly lines: readonly number[];
}

/** What single HTTP requests have found out about a server at a URL. */
export interface HttpFacts {
  readonly reach: ReachFacts;
  /** Responses of the server that refuse for a while, or only seem to. */
  readonly throttled: readonly {
    readonly status: number;
    readonly retryAfter: string | undefined;
    readonly line: number;
  }[];
  /** Request with the name of another host. Undefined if the server is not on this machine. */
  readonly foreignHost?: Heard | undefined;
  /** Request of a page of another site. */
  readonly foreignOrigin?: Heard | undefined;
  readonly cors?: CorsFacts | undefined;
  /** Request in a session that the server does not know. Undefined if it has no sessions. */
  readonly unknownSession?: Heard | undefined;
  readonly limits?: LimitFacts | undefined;
  readonly malformed?: MalformedFacts | undefined;
  /** Streams of the call that the user allowed. */
  readonly streams?: readonly CallStream[] | undefined;
  /** Streams without a call, which were observed for a while. */
  readonly idle?: readonly IdleStream[] | undefined;
}

export interface ReachFacts {
  readonly url: URL;
  /** True if a client is served. */
  readonly isSpoken: boolean;
  /** Response to the first request of a client, if it is not served. */
  readonly opening?: Heard | undefined;
  /** Address at which a server answers in place of the URL. */
  readonly elsewhere?: string | undefined;
  /** Days until the certificate ends. */
  readonly certificateDays?: number | undefined;
}

/** How pages of an origin are served. */
export interface CorsFacts {
  readonly preflight: Heard;
  readonly post: Heard;
  /** Headers that clients send. */
  readonly sent: readonly string[];
  /** Headers that clients read. */
  readonly read: readonly string[];
}

export interface LimitFacts {
  readonly large: Heard;
  readonly deep: Heard;
  readonly batch: Heard;
  /** An ordinary request after them. */
  readonly after: Heard;
}

export interface MalformedFacts {
  readonly json: Heard;
  readonly mediaType: Heard;
  readonly accept: Heard;
}

/** Event stream of a call. Times are in milliseconds. */
export interface CallStream {
  /** Number of messages before the response. */
  readonly messages: number;
  /** Time from the request to the first message. */
  readonly waitMs: number;
  /** Time from the first message to the response. */
  readonly spreadMs: number;
  readonly encoding: string | undefined;
  /** Programs that the headers name. */
  readonly by: string | undefined;
  readonly lines: readonly number[];
}

export interface IdleStream {
  /** Request that opened it. */
  readonly request: string;
  /** Longest time without a byte. */
  readonly silenceMs: number;
  /** Time until the server, or something on the way, ended it. Undefined if it was still open at the end. */
  readonly endedMs: number | undefined;
  readonly reason: string | undefined;
  readonly by: string | undefined;
  readonly lines: readonly number[];
}
