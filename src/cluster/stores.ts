import { pause } from "../call/abortable.js";
import { type Clock, MAX_SKEW_MS, systemClock, timeOfDay } from "../call/clock.js";
import { DefinitionError } from "../protocol/errors.js";
import { assertOptions, type Known } from "../protocol/known-options.js";
import { isWellFormed } from "../protocol/text.js";
import type { Cluster, Lease, Records } from "./cluster.js";

/**
 * Stores of other parts of the package over the records of a cluster. Their types are those of the options that they are
 * for; they are written out, since this layer is below these parts.
 */

const DAY_MS = 86_400_000;

/** Store of `createIssuer`: `createIssuer({ store: issuerStore(cluster), ... })`. Several issuers may share a cluster. */
export function issuerStore({ records }: Pick<Cluster, "records">, clock: Clock = systemClock) {
  const keyOf = (key: string) => `issuer/${key}`;
  const put = (key: string, value: unknown, expiresAt: number, ifVersion?: null) => {
    const ttlMs = Math.max(1, Math.ceil(expiresAt - timeOfDay(clock)));
    return records.put(keyOf(key), JSON.stringify(value), { ttlMs, ...(ifVersion === null && { ifVersion }) });
  };
  return {
    get: async (key: string): Promise<unknown> => parse(await records.get(keyOf(key))),
    put: async (key: string, value: unknown, expiresAt: number): Promise<void> => {
      await put(key, value, expiresAt);
    },
    // What is added marks a single use, and must outlive what was used on a clock that is behind.
    add: async (key: string, value: unknown, expiresAt: number): Promise<boolean> =>
      (await put(key, value, expiresAt + MAX_SKEW_MS, null)) !== undefined,
    delete: async (key: string): Promise<void> => {
      await records.delete(keyOf(key));
    },
  };
}

/** Options of {@link authStore}. */
export interface AuthStoreOptions {
  /**
   * Name of the user whose tokens and registrations the store keeps, such as the subject of a login. Users of other names
   * do not reach them. A program that acts for itself alone has a name of its own.
   */
  readonly user: string;
  /**
   * Time after which tokens and registrations that were not written again are gone.
   * @default 90 days
   */
  readonly keepMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

const AUTH_STORE_OPTIONS: Known<AuthStoreOptions> = { user: "string", keepMs: "ms", clock: "object" };
const LOCK_MS = 30_000;
const FIRST_WAIT_MS = 20;
const MAX_WAIT_MS = 500;

/**
 * Store of `oauth` for one user: `oauth({ store: authStore(cluster, { user }), ... })`. One process at a time
 * renews the tokens of a user.
 */
export function authStore({ records, leases }: Pick<Cluster, "records" | "leases">, options: AuthStoreOptions) {
  assertOptions({ authStore }, options ?? {}, AUTH_STORE_OPTIONS);
  const { user, keepMs = 90 * DAY_MS, clock = systemClock } = options ?? {};
  if (typeof user !== "string" || user === "" || !isWellFormed(user))
    throw new DefinitionError(
      "authStore: user must be the name of the user whose tokens are kept, as well-formed text; users with one name share their tokens",
    );
  // An encoded name has no slash, so that it ends where the name of the value begins.
  const keyOf = (key: string) => `auth/${encodeURIComponent(user)}/${key}`;
  const acquire = async (name: string, signal: AbortSignal): Promise<Lease> => {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
      signal.throwIfAborted();
      const lease = await leases.acquire(keyOf(name), LOCK_MS);
      if (lease !== undefined) return lease;
      await pause(clock, waitMs, signal);
    }
  };
  return {
    textOnly: true,
    get: async (key: string): Promise<unknown> => parse(await records.get(keyOf(key))),
    set: async (key: string, value: unknown): Promise<void> => {
      await records.put(keyOf(key), JSON.stringify(value), { ttlMs: keepMs });
    },
    delete: async (key: string): Promise<void> => {
      await records.delete(keyOf(key));
    },
    lock: async <T>(name: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> => {
      const lease = await acquire(name, signal);
      try {
        return await work();
      } finally {
        await lease.release();
      }
    },
  };
}

/** Store of the client's cache: `connect(url, { cache: { store: cacheStore(cluster), partition } })`. */
export function cacheStore(
  { records }: Pick<Cluster, "records">,
  options: { readonly keepMs?: number | undefined } = {},
) {
  assertOptions({ cacheStore }, options, { keepMs: "ms" });
  const { keepMs = DAY_MS } = options;
  const keyOf = (key: string) => `cache/${key}`;
  return {
    // The client checks the form of what it reads.
    // biome-ignore lint/suspicious/noExplicitAny: the type of records belongs to a higher layer
    get: async (key: string): Promise<any> => parse(await records.get(keyOf(key))),
    set: async (key: string, record: unknown): Promise<void> => {
      await records.put(keyOf(key), JSON.stringify(record), { ttlMs: keepMs });
    },
    delete: async (key: string): Promise<void> => {
      await records.delete(keyOf(key));
    },
  };
}

/** Option `acceptState` of a server: a sealed state is accepted once by all processes. */
export function acceptState(cluster: Pick<Cluster, "records">, clock?: Clock) {
  return acceptOnce(cluster.records, "state", clock);
}

/** Option `acceptProof` of `dpop`: a DPoP proof is accepted once by all processes. */
export function acceptProof(cluster: Pick<Cluster, "records">, clock?: Clock) {
  return acceptOnce(cluster.records, "proof", clock);
}

function acceptOnce(records: Records, kind: string, clock: Clock = systemClock) {
  return async (id: string, untilMs: number): Promise<boolean> => {
    // A process whose clock is behind accepts it for longer.
    const ttlMs = Math.max(1, Math.ceil(untilMs + MAX_SKEW_MS - timeOfDay(clock)) + 1);
    return (await records.put(`${kind}/${id}`, "", { ttlMs, ifVersion: null })) !== undefined;
  };
}

function parse(stored: { readonly value: string } | undefined): unknown {
  return stored === undefined ? undefined : JSON.parse(stored.value);
}
