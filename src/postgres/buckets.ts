import { EngineBuckets } from "../cluster/engine/buckets.js";
import { toStored } from "../cluster/engine/text.js";
import type { Engine } from "./engine.js";
import type { Names } from "./tables.js";

export function postgresBuckets(engine: Engine, { of }: Names): EngineBuckets {
  const text = `select ${of("bucket_1")}($1::text, $2::float8, $3::float8, $4::float8) as given`;
  return new EngineBuckets(engine.clock, async (key, burst, refillMs, want) => {
    const [row] = await engine.run({ operation: "take from a bucket", text }, toStored(key), burst, refillMs, want);
    const [given = 0, retryInMs = refillMs] = (row?.given ?? "").split(":").map(Number);
    return { given, retryInMs };
  });
}
