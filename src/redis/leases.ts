import type { Lease, Leases } from "../cluster/cluster.js";
import { LeaseDoubts } from "../cluster/lease-doubts.js";
import type { Engine } from "./engine.js";
import { Held } from "./held.js";
import { durationOf, type Script, script } from "./scripts.js";

/** ARGV: token, life, token of an earlier attempt that may hold the lease, or empty. */
const ACQUIRE = script(
  "acquire a lease",
  `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
  if redis.call('GET', KEYS[1]) ~= ARGV[3] then return 0 end
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1`,
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
  readonly #doubts: LeaseDoubts;

  constructor(engine: Engine) {
    this.#engine = engine;
    const release = async (name: string, token: string) => (await engine.run(RELEASE, this.#keys(name), [token])) === 1;
    this.#doubts = new LeaseDoubts({ clock: engine.clock, release });
  }

  async acquire(name: string, ttlMs: number): Promise<Lease | undefined> {
    const engine = this.#engine;
    const keys = this.#keys(name);
    const token = engine.token();
    const args = [token, durationOf(ttlMs)];
    const since = engine.clock.now();
    const attempt = async (doubtful: string) => (await engine.run(ACQUIRE, keys, [...args, doubtful])) === 1;
    if (!(await this.#doubts.acquire(name, token, ttlMs, attempt))) return undefined;
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
    this.#doubts.close();
    const all = [...this.#held];
    for (const [held] of all) held.lose("the cluster is closed");
    await Promise.all(all.map(([, free]) => free()));
  }

  #keys(name: string): readonly string[] {
    return [this.#engine.keys.key("lease", name)];
  }
}

function ignore(): void {}
