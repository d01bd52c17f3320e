import { type BucketLimit, type Buckets, type BucketVerdict, MemoryBuckets } from "../call/buckets.js";
import { attempt, type MaybePromise } from "../call/maybe-promise.js";
import { addressOf } from "../era/caller.js";
import type { Call, ServerRuntime } from "../era/server-era.js";
import { DefinitionError } from "../protocol/errors.js";
import type { Known } from "../protocol/known-options.js";
import type { Admission } from "./admission.js";
import { type CallInfo, callViews } from "./call-info.js";

/** Rate limit of a caller. It may make `burst` calls at once, and one more after each `refillMs` milliseconds. */
export interface RateLimitOptions extends BucketLimit {
  /**
   * Store of the buckets.
   * @default the buckets of the cluster, or without one buckets in memory, which count for one process
   */
  readonly buckets?: Buckets | undefined;
  /**
   * Returns the name of the bucket of a call, or undefined for a call without a limit.
   * @default the principal from the gate, or else the address of the caller
   */
  readonly key?: ((call: CallInfo) => string | undefined) | undefined;
}

export const RATE_LIMIT_OPTIONS: Known<RateLimitOptions> = {
  burst: [{ number: "positive" }, "required"],
  refillMs: [{ number: "period" }, "required"],
  buckets: "object",
  key: "function",
};

type RateLimitRuntime = Pick<ServerRuntime, "audience" | "clock" | "options" | "report" | "warn"> & {
  readonly admission: Admission;
};

const NO_NAME =
  "rateLimit does not count callers without a name and a public address: set http.remoteOf or rateLimit.key";

/**
 * Creates the check of a call's rate, which runs before the call starts. It throws `Busy` if the limit is reached, and
 * returns a promise only if the buckets are asynchronous. A failure of the buckets is reported and does not block
 * calls.
 */
export function createRateLimit(
  options: RateLimitOptions,
  runtime: RateLimitRuntime,
): (call: Call) => MaybePromise<void> {
  const { burst, refillMs, key } = options;
  let { buckets } = options;
  if (buckets !== undefined && typeof buckets.take !== "function")
    throw new DefinitionError("McpServer rateLimit: buckets requires take(key, limit)");
  const limit = { burst, refillMs };
  const judge = (verdict: BucketVerdict | undefined) => {
    if (verdict?.ok !== false) return;
    const { retryInMs } = verdict;
    throw runtime.admission.refuse(
      429,
      "rateLimit",
      `Too many calls: try again in ${Math.ceil(retryInMs)} ms`,
      retryInMs,
    );
  };
  let warned = false;
  /** Returns the name of a caller. A channel has no other callers. Callers whose addresses are unknown would share one. */
  const nameOf = ({ origin }: Call): string | undefined => {
    const { principal, url } = origin;
    if (principal !== undefined) return principal;
    const address = addressOf(runtime, origin);
    if (address !== undefined) return `address ${address}`;
    if (url !== undefined && !warned) runtime.warn(NO_NAME);
    warned ||= url !== undefined;
    return undefined;
  };
  return (call) =>
    attempt(
      () => {
        // A server may join a cluster after its construction.
        buckets ??= bucketsIn(runtime) ?? new MemoryBuckets({ clock: runtime.clock });
        const name = key === undefined ? nameOf(call) : key(callViews.infoOf(call));
        return name === undefined ? undefined : buckets.take(name, limit);
      },
      judge,
      (error) => runtime.report(error, { where: "rateLimit", method: call.method, id: call.id }),
    );
}

/** Returns the buckets of a server in its cluster, which other servers may share. Undefined without a cluster. */
function bucketsIn({ audience, options: { cluster } }: RateLimitRuntime): Buckets | undefined {
  return cluster && { take: (name, limit) => cluster.buckets.take(JSON.stringify([audience, name]), limit) };
}
