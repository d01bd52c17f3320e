import { EngineBuckets } from "../cluster/engine/buckets.js";
import { EngineLeases } from "../cluster/engine/leases.js";
import type { Documents } from "./documents.js";

/** Leases: a document with the token of the holder, whose life is that of the lease. */
export function natsLeases(documents: Documents): EngineLeases {
  const { engine } = documents;
  const subjectOf = (name: string) => engine.names.plainSubject("lease", name);
  return new EngineLeases(engine.clock, {
    acquire: async (name, token, ttl, doubtful) =>
      documents.change("acquire a lease", subjectOf(name), (found) => {
        const isFree = found === undefined || (doubtful !== "" && found.meta.token === doubtful);
        return isFree ? { meta: { token, ttl }, result: () => true } : { result: () => false };
      }),
    renew: async (name, token, ttl) =>
      documents.change("renew a lease", subjectOf(name), (found) =>
        found?.meta.token === token ? { meta: { token, ttl }, result: () => true } : { result: () => false },
      ),
    release: async (name, token) =>
      documents.remove("release a lease", subjectOf(name), ({ meta }) => meta.token === token),
  });
}

/** Buckets: a document with the number of tokens and the time of that number. It is gone when the bucket is full. */
export function natsBuckets(documents: Documents): EngineBuckets {
  const { engine } = documents;
  return new EngineBuckets(engine.clock, async (key, burst, refillMs, want) =>
    documents.change("take from a bucket", engine.names.plainSubject("bucket", key), (found) => {
      const now = engine.time.now();
      const at = Math.max(now, Number(found?.meta.at ?? now));
      const refilled =
        found === undefined ? burst : Number(found.meta.tokens) + (at - Number(found.meta.at)) / refillMs;
      const tokens = Math.min(burst, refilled);
      const given = Math.min(want, Math.floor(tokens));
      const retryInMs = given > 0 ? 0 : (1 - tokens) * refillMs;
      const result = () => ({ given, retryInMs });
      if (given === 0) return { result };
      const left = tokens - given;
      return { meta: { tokens: left, at, ttl: Math.ceil((burst - left) * refillMs) }, result };
    }),
  );
}
