import type { LimitedEndpoint, RateLimit } from "./options.js";

export interface Allowance {
  /** So many requests ... */
  readonly requests: number;
  /** ... in so much time; one minute unless given. */
  readonly perMs?: number;
}

export interface RateLimiterOptions {
  /** What each endpoint allows; those not named are not limited. */
  readonly allow: Readonly<Partial<Record<LimitedEndpoint, Allowance>>>;
  /** Whose allowance a request uses, such as its address as the proxy in front states it. All share one unless given. */
  readonly key?: (request: Request) => string;
  readonly now?: () => number;
}

const MAX_KEYS = 10_000;

/** Limits requests within this process, per endpoint and key, by buckets that fill up steadily. */
export function createRateLimiter({ allow, key = () => "", now = Date.now }: RateLimiterOptions): RateLimit {
  const buckets = new Map<string, { left: number; at: number }>();
  return (endpoint, request) => {
    const allowance = allow[endpoint];
    if (allowance === undefined) return undefined;
    const { requests, perMs = 60_000 } = allowance;
    const name = `${endpoint} ${key(request)}`;
    const bucket = buckets.get(name) ?? { left: requests, at: now() };
    const left = Math.min(requests, bucket.left + ((now() - bucket.at) * requests) / perMs);
    buckets.delete(name);
    if (buckets.size >= MAX_KEYS) buckets.delete(buckets.keys().next().value ?? "");
    buckets.set(name, { left: left < 1 ? left : left - 1, at: now() });
    return left < 1 ? ((1 - left) * perMs) / requests / 1000 : undefined;
  };
}
