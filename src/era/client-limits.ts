import { McpError } from "../protocol/errors.js";

/** The bounds of a client: of what one server can make it keep, do at once, or wait for. */
export interface ClientLimits {
  /**
   * The largest message of the server over HTTP: bytes of a JSON body after decoding, characters of an event.
   * @default 33_554_432
   */
  readonly maxMessageBytes: number;
  /**
   * The largest description of the server that is kept (the result of `initialize` or `server/discover`), in characters.
   * @default 1_048_576
   */
  readonly maxDescriptionChars: number;
  /**
   * How many calls are on the wire at once over HTTP. Others wait their turn, which counts into their limits of time.
   * Streams of subscriptions and of sessions do not count.
   * @default 256
   */
  readonly maxConnections: number;
  /**
   * The messages that the server may send in one array on a channel, in the version that has arrays (2025-03-26).
   * @default 64
   */
  readonly maxBatchItems: number;
  /**
   * How many redirects of one request are followed.
   * @default 5
   */
  readonly maxRedirects: number;
  /**
   * How many questions of the server (elicitation, sampling, roots, methods of the author's own) are open at once.
   * @default 256
   */
  readonly maxQuestions: number;
  /**
   * How many times one call may come back with questions.
   * @default 16
   */
  readonly maxRounds: number;
  /**
   * How many pages of a list are followed.
   * @default 1000
   */
  readonly maxPages: number;
  /**
   * How many items of a list are read.
   * @default 100_000
   */
  readonly maxItems: number;
  /**
   * How many listed tools are remembered, to check their results and to write their headers. The longest unlisted go first.
   * @default 1000
   */
  readonly maxTools: number;
  /**
   * The size of all output schemas that are remembered, in characters. The longest unlisted go first.
   * @default 16_777_216
   */
  readonly maxSchemaChars: number;
  /**
   * How many results the cache of this client keeps. The least recently used go first.
   * @default 1000
   */
  readonly maxCacheEntries: number;
  /**
   * The size of all results that the cache of this client keeps, as JSON, in characters. The least recently used go first.
   * @default 67_108_864
   */
  readonly maxCacheChars: number;
  /**
   * How many pages of URL elicitations are remembered until the server says that they are done. The oldest go first.
   * @default 1000
   */
  readonly maxUrlElicitations: number;
  /**
   * How many notifications of extensions wait for their handlers.
   * @default 1024
   */
  readonly maxWaitingNotifications: number;
  /**
   * How long the end of a call or of a session may take to be told over HTTP.
   * @default 1000
   */
  readonly courtesyMs: number;
  /**
   * How long connecting waits for the server's own stream to open, in the era that has one.
   * @default 250
   */
  readonly streamOpenMs: number;
  /**
   * How long a stream of the HTTP+SSE transport may leave open where to post.
   * @default 5000
   */
  readonly sseEndpointMs: number;
}

export const CLIENT_LIMITS: ClientLimits = {
  maxMessageBytes: 32 * 1024 * 1024,
  maxDescriptionChars: 1024 * 1024,
  maxConnections: 256,
  maxBatchItems: 64,
  maxRedirects: 5,
  maxQuestions: 256,
  maxRounds: 16,
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

/** The defaults of limits that are options of a client, a call, a watch or a group by themselves. */
export const CLIENT_TIMES = {
  timeoutMs: 60_000,
  deadlineMs: 3_600_000,
  probeTimeoutMs: 10_000,
  reconnect: { maxFruitless: 3, minDelayMs: 100, firstDelayMs: 1000, maxDelayMs: 30_000 },
  relisten: { attempts: Number.POSITIVE_INFINITY, delayMs: 250, maxDelayMs: 30_000 },
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

/** Refuses a server that would have its client keep too much about it. */
export function assertDescription(method: string, result: object, limits: ClientLimits): void {
  const most = limits.maxDescriptionChars;
  if (JSON.stringify(result).length <= most) return;
  const message = `${method}: the result has more than ${most} characters (limits.maxDescriptionChars)`;
  throw new McpError("invalid_result", message);
}
