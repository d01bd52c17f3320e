import { assertOptions, type Known } from "../../protocol/known-options.js";
import { dropOldest } from "../../protocol/oldest.js";
import type { LimitedEndpoint, RateLimit } from "./options.js";

/** Number of requests allowed in a time. */
export interface Allowance {
  /** Number of requests in `periodMs`. */
  readonly requests: number;
  /**
   * Time in milliseconds in which `requests` are allowed.
   * @default 60_000
   */
  readonly periodMs?: number | undefined;
}

/** Options of `rateLimiter`. */
export interface RateLimiterOptions {
  /** Allowance of each endpoint. An endpoint without one is not limited. */
  readonly allow: Readonly<Partial<Record<LimitedEndpoint, Allowance>>>;
  /**
   * Returns the key whose allowance a request uses, such as the client address from a proxy's header. By default all
   * requests share one allowance.
   */
  readonly key?: ((request: Request) => string) | undefined;
  /**
   * Maximum number of keys kept. The least recently used one is evicted.
   * @default 10_000
   */
  readonly maxKeys?: number | undefined;
  readonly now?: (() => number) | undefined;
}

const ALLOWANCE: Known<Allowance> = { requests: [{ number: "limit" }, "required"], periodMs: "period" };
const OPTIONS: Known<RateLimiterOptions> = {
  allow: [
    {
      object: {
        authorize: ALLOWANCE,
        consent: ALLOWANCE,
        callback: ALLOWANCE,
        token: ALLOWANCE,
        register: ALLOWANCE,
        revoke: ALLOWANCE,
      },
    },
    "required",
  ],
  key: "function",
  maxKeys: "positive limit",
  now: "function",
};

/** Creates a rate limiter in memory, with a token bucket per endpoint and key. */
export function rateLimiter(options: RateLimiterOptions): RateLimit {
  assertOptions({ rateLimiter }, options, OPTIONS);
  const { allow, key = () => "", maxKeys = 10_000, now = Date.now } = options;
  const buckets = new Buckets(maxKeys, now);
  return (endpoint, request) => {
    const allowance = allow[endpoint];
    return allowance === undefined ? undefined : buckets.take(`${endpoint} ${key(request)}`, allowance);
  };
}

/** Token buckets by name. */
export class Buckets {
  readonly #buckets = new Map<string, { readonly left: number; readonly at: number }>();
  readonly #max: number;
  readonly #now: () => number;

  constructor(max: number, now: () => number) {
    this.#max = max;
    this.#now = now;
  }

  /** Takes a token, or returns the seconds until one is available. */
  take(name: string, { requests, periodMs = 60_000 }: Allowance): number | undefined {
    const now = this.#now();
    const bucket = this.#buckets.get(name) ?? { left: requests, at: now };
    const left = Math.min(requests, bucket.left + ((now - bucket.at) * requests) / periodMs);
    this.#buckets.delete(name);
    this.#buckets.set(name, { left: left < 1 ? left : left - 1, at: now });
    dropOldest(this.#buckets, this.#max);
    return left < 1 ? ((1 - left) * periodMs) / requests / 1000 : undefined;
  }
}
