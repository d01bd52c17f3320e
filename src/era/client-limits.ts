import { McpError } from "../protocol/errors.js";

/**
 * Limits of a client: of the data that one server can make it keep, of its concurrent work, and of its waiting times.
 */
export interface ClientLimits {
  /**
   * Maximum size of a message of the server over HTTP: bytes of a decoded JSON body, or characters of an event.
   * @default 33_554_432
   */
  readonly maxMessageBytes: number;
  /**
   * Maximum size of the server's description that is kept (the result of `initialize` or `server/discover`), in
   * characters.
   * @default 1_048_576
   */
  readonly maxDescriptionChars: number;
  /**
   * Maximum number of concurrent calls over HTTP. Further calls wait, and the wait counts toward their time limits.
   * Streams of subscriptions and sessions, pings and the handshake do not count. In pages and workers the default is 4.
   * @default 256
   */
  readonly maxConnections: number;
  /**
   * Maximum number of idle connections that are kept open over HTTP. Further ones close after a second, and all when the
   * client closes. Has no effect on requests for tokens, if the global `fetch` or its dispatcher is replaced, on what an
   * option `fetch` sends in another way than by `oauth` or `bearer`, and in pages.
   * @default 8
   */
  readonly maxIdleConnections: number;
  /**
   * Maximum number of messages in a batch of the server, on a channel with version 2025-03-26.
   * @default 64
   */
  readonly maxBatchItems: number;
  /**
   * Maximum number of redirects that are followed for one request.
   * @default 5
   */
  readonly maxRedirects: number;
  /**
   * Maximum number of requests of the server that are open at once (elicitation, sampling, roots, custom methods).
   * @default 256
   */
  readonly maxQuestions: number;
  /**
   * Maximum number of times that the result of one call may ask for input.
   * @default 16
   */
  readonly maxRounds: number;
  /**
   * Maximum number of times that the answers to questions are sent again while the server refuses them for now.
   * @default 10
   */
  readonly maxResends: number;
  /**
   * Maximum number of pages read from a list.
   * @default 1000
   */
  readonly maxPages: number;
  /**
   * Maximum number of items read from a list.
   * @default 100_000
   */
  readonly maxItems: number;
  /**
   * Maximum number of listed tools that are kept, for the validation of results and for headers. The tools listed
   * longest ago are dropped first.
   * @default 1000
   */
  readonly maxTools: number;
  /**
   * Maximum total size of the output schemas that are kept, in characters. The schemas listed longest ago are dropped
   * first.
   * @default 16_777_216
   */
  readonly maxSchemaChars: number;
  /**
   * Maximum number of results in the cache of this client. The least recently used are dropped first.
   * @default 1000
   */
  readonly maxCacheEntries: number;
  /**
   * Maximum total size of the results in the cache of this client, in characters of JSON. The least recently used are
   * dropped first.
   * @default 67_108_864
   */
  readonly maxCacheChars: number;
  /**
   * Maximum number of URL elicitations that are kept until the server reports their completion. The oldest are dropped
   * first.
   * @default 1000
   */
  readonly maxUrlElicitations: number;
  /**
   * Maximum number of notifications of extensions that wait for their handlers.
   * @default 1024
   */
  readonly maxWaitingNotifications: number;
  /**
   * Time after which the client abandons its requests that cancel calls or end sessions over HTTP, if the server has
   * answered none of them in this time.
   * @default 1000
   */
  readonly courtesyMs: number;
  /**
   * Maximum time that connecting waits for the session's GET stream to open. Legacy only.
   * @default 250
   */
  readonly streamOpenMs: number;
  /**
   * Maximum time until a stream of the HTTP+SSE transport sends its `endpoint` event.
   * @default 5000
   */
  readonly sseEndpointMs: number;
}

export const CLIENT_LIMITS: ClientLimits = {
  maxMessageBytes: 32 * 1024 * 1024,
  maxDescriptionChars: 1024 * 1024,
  maxConnections: 256,
  maxIdleConnections: 8,
  maxBatchItems: 64,
  maxRedirects: 5,
  maxQuestions: 256,
  maxRounds: 16,
  maxResends: 10,
  maxPages: 1000,
  maxItems: 100_000,
  maxTools: 1000,
  maxSchemaChars: 16 * 1024 * 1024,
  maxCacheEntries: 1000,
  maxCacheChars: 64 * 1024 * 1024,
  maxUrlElicitations: 1000,
  maxWaitingNotifications: 1024,
  courtesyMs: 1000,
  streamOpenMs: 250,
  sseEndpointMs: 5000,
};

/**
 * Limits of a client in a page or worker. Without HTTP/2, browsers open six connections to a server at once. Calls leave
 * one for a stream of the server, and one for answers and cancellations.
 */
export const PAGE_LIMITS: ClientLimits = { ...CLIENT_LIMITS, maxConnections: 4 };

/** Defaults of the limits that are separate options of a client, a call, a watch or a group. */
export const CLIENT_TIMES = {
  timeoutMs: 60_000,
  deadlineMs: 3_600_000,
  probeTimeoutMs: 10_000,
  reconnect: { maxFruitless: 3, minDelayMs: 100, firstDelayMs: 1000, maxDelayMs: 30_000 },
  resubscribe: { attempts: Number.POSITIVE_INFINITY, delayMs: 250, maxDelayMs: 30_000 },
  restart: { attempts: 5, delayMs: 250, maxDelayMs: 30_000, maxMissedPings: Number.POSITIVE_INFINITY },
  group: {
    connectTimeoutMs: 30_000,
    listTimeoutMs: 15_000,
    listGraceMs: 3000,
    maxItems: 5000,
    maxNameLength: 128,
    backoff: { delayMs: 1000, maxDelayMs: 60_000 },
  },
} as const;

/** Throws if the description of the server is larger than the client may keep. */
export function assertDescription(method: string, result: object, limits: ClientLimits): void {
  const most = limits.maxDescriptionChars;
  const { length } = JSON.stringify(result);
  if (length <= most) return;
  const message = `${method}: the result has ${length} characters, at most ${most} are allowed (limits.maxDescriptionChars)`;
  throw new McpError("invalid_result", message);
}
