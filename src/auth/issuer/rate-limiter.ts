import { ISSUER_LIMITS } from "./limits.js";
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
  /**
   * Keys that are remembered. The one that asked longest ago makes room.
   * @default 10_000
   */
  readonly maxKeys?: number;
  readonly now?: () => number;
}

/** Limits requests within this process, per endpoint and key, by buckets that fill up steadily. */
export function createRateLimiter(options: RateLimiterOptions): RateLimit {
  const { allow, key = () => "", maxKeys = ISSUER_LIMITS.maxRateKeys, now = Date.now } = options;
  const buckets = new Buckets(maxKeys, now);
  return (endpoint, request) => {
    const allowance = allow[endpoint];
    return allowance === undefined ? undefined : buckets.take(`${endpoint} ${key(request)}`, allowance);
  };
}

/** Allowances by name, each of which fills up steadily. */
export class Buckets {
  readonly #buckets = new Map<string, { readonly left: number; readonly at: number }>();
  readonly #max: number;
  readonly #now: () => number;

  constructor(max: number, now: () => number) {
    this.#max = max;
    this.#now = now;
  }

  /** Takes one from the allowance, or says how many seconds it takes until there is one. */
  take(name: string, { requests, perMs = 60_000 }: Allowance): number | undefined {
    const now = this.#now();
    const bucket = this.#buckets.get(name) ?? { left: requests, at: now };
    const left = Math.min(requests, bucket.left + ((now - bucket.at) * requests) / perMs);
    this.#buckets.delete(name);
    if (this.#buckets.size >= this.#max) this.#buckets.delete(this.#buckets.keys().next().value ?? "");
    this.#buckets.set(name, { left: left < 1 ? left : left - 1, at: now });
    return left < 1 ? ((1 - left) * perMs) / requests / 1000 : undefined;
  }
}
