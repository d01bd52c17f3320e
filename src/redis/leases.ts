import type { Lease, Leases } from "../cluster/cluster.js";
import type { Engine } from "./engine.js";
import { Held } from "./held.js";
import { durationOf, type Script, script } from "./scripts.js";

const ACQUIRE = script(
  "acquire a lease",
  `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
  return 0`,
);
const RENEW = script(
  "renew a lease",
  `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])`,
);
const RELEASE = script(
  "release a lease",
  `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
  return 0`,
);

/** A lease is a key with the random token of its holder and a life. */
export class RedisLeases implements Leases {
  static readonly scripts: readonly Script[] = [ACQUIRE, RENEW, RELEASE];
  readonly #engine: Engine;
  readonly #held = new Map<Held, () => Promise<void>>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async acquire(name: string, ttlMs: number): Promise<Lease | undefined> {
    const engine = this.#engine;
    const keys = [engine.keys.key("lease", name)];
    const args = [engine.token(), durationOf(ttlMs)];
    const since = engine.clock.now();
    if ((await engine.run(ACQUIRE, keys, args)) !== 1) return undefined;
    const renew = async () => (await engine.run(RENEW, keys, args)) === 1;
    const held = new Held({ clock: engine.clock, name: `lease ${JSON.stringify(name)}`, ttlMs, since, renew });
    // A failure is harmless, since the life of the lease ends by itself.
    const free = () => engine.runAtEnd(RELEASE, keys, args).then(ignore, ignore);
    this.#held.set(held, free);
    held.lost.addEventListener("abort", () => this.#held.delete(held), { once: true });
    const release = async () => {
      this.#held.delete(held);
      if (held.stop()) await free();
    };
    if (engine.closing.aborted) {
      await release();
      return undefined;
    }
    return { lost: held.lost, release };
  }

  /** Loses and releases all leases. */
  async close(): Promise<void> {
    const all = [...this.#held];
    for (const [held] of all) held.lose("the cluster is closed");
    await Promise.all(all.map(([, free]) => free()));
  }
}

function ignore(): void {}
