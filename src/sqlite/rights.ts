import type { Job, TakeOptions } from "../cluster/cluster.js";
import { EngineBuckets } from "../cluster/engine/buckets.js";
import { EngineLeases } from "../cluster/engine/leases.js";
import { EngineQueue } from "../cluster/engine/queue.js";
import { fromStored, toStored } from "../cluster/engine/text.js";
import type { Engine } from "./engine.js";
import type { Watch } from "./watch.js";

export function sqliteLeases(engine: Engine): EngineLeases {
  return new EngineLeases(engine.clock, {
    acquire: (name, token, ttlMs, doubtful) => engine.run("acquire", toStored(name), token, ttlMs, doubtful),
    renew: (name, token, ttlMs) => engine.run("renew", toStored(name), token, ttlMs),
    release: (name, token) => engine.run("release", toStored(name), token),
  });
}

export function sqliteBuckets(engine: Engine): EngineBuckets {
  return new EngineBuckets(engine.clock, (key, burst, refillMs, want) =>
    engine.run("takeTokens", toStored(key), burst, refillMs, want),
  );
}

export class SqliteQueue extends EngineQueue {
  readonly #watch: Watch;

  constructor(engine: Engine, watch: Watch, closed: AbortSignal) {
    const operations = {
      add: (id: string, job: string, delayMs: number) => engine.run("addJob", toStored(id), toStored(job), delayMs),
      async take(token: string, leaseMs: number, most: number) {
        const found = await engine.run("takeJobs", token, leaseMs, most);
        if (found === undefined || typeof found === "number") return found;
        return found.map(({ id, job, attempt }) => ({
          id: fromStored(String(id)),
          job: fromStored(String(job)),
          attempt: Number(attempt),
        }));
      },
      renew: (id: string, token: string, leaseMs: number) => engine.run("renewJob", toStored(id), token, leaseMs),
      done: (id: string, token: string) => engine.run("finishJob", toStored(id), token),
      later: (id: string, token: string, delayMs: number) => engine.run("returnJob", toStored(id), token, delayMs),
      free: (token: string) => engine.run("freeJobs", token),
      changed: () => {},
    };
    super(engine.clock, operations, closed);
    this.#watch = watch;
  }

  override take(signal: AbortSignal, options?: TakeOptions): AsyncIterable<Job> {
    return this.#watch.during("jobs", super.take(signal, options));
  }
}
