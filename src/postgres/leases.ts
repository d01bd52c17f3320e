import type { Lease, Leases } from "../cluster/cluster.js";
import { LeaseDoubts } from "../cluster/lease-doubts.js";
import type { Engine, Statement } from "./engine.js";
import { MAX_LIFE_MS, Renewal } from "./renewal.js";
import type { Names } from "./tables.js";
import { toStored } from "./text.js";

export class PostgresLeases implements Leases {
  readonly #engine: Engine;
  readonly #statements: Readonly<Record<"acquire" | "renew" | "release", Statement>>;
  readonly #held = new Set<{ end(): Promise<void> }>();
  readonly #doubts: LeaseDoubts;

  constructor(engine: Engine, { of }: Names) {
    this.#engine = engine;
    const leases = of("leases");
    const until = "clock_timestamp() + $3::float8 * interval '1 millisecond'";
    this.#statements = {
      acquire: {
        operation: "acquire a lease",
        text: `insert into ${leases} as l (name, token, until) values ($1::text, $2::text, ${until})
          on conflict (name) do update set token = $2::text, until = ${until}
          where l.until <= clock_timestamp() or l.token = $4::text returning name`,
      },
      renew: {
        operation: "renew a lease",
        text: `update ${leases} set until = ${until}
          where name = $1::text and token = $2::text and until > clock_timestamp() returning name`,
      },
      release: {
        operation: "release a lease",
        text: `delete from ${leases} where name = $1::text and token = $2::text returning name`,
      },
    };
    const release = async (name: string, token: string) =>
      (await engine.run(this.#statements.release, toStored(name), token)).length > 0;
    this.#doubts = new LeaseDoubts({ clock: engine.clock, release });
  }

  async acquire(name: string, life: number): Promise<Lease | undefined> {
    const ttlMs = Math.min(life, MAX_LIFE_MS);
    const token = crypto.randomUUID();
    const key = toStored(name);
    const askedAt = this.#engine.clock.now();
    const attempt = async (doubtful: string) =>
      (await this.#engine.run(this.#statements.acquire, key, token, ttlMs, doubtful)).length > 0;
    if (!(await this.#doubts.acquire(name, token, ttlMs, attempt))) return undefined;
    const renew = async () => (await this.#engine.run(this.#statements.renew, key, token, ttlMs)).length > 0;
    const renewal = new Renewal({ engine: this.#engine, ttlMs, askedAt, renew });
    const release = async (stop: () => void) => {
      if (!renewal.isHeld) return;
      stop();
      this.#held.delete(held);
      await this.#engine.run(this.#statements.release, key, token);
    };
    const held = { end: () => release(() => renewal.lose()) };
    this.#held.add(held);
    renewal.lost.addEventListener("abort", () => this.#held.delete(held), { once: true });
    return { lost: renewal.lost, release: () => release(() => renewal.stop()) };
  }

  /** Ends all leases of this process. A lease that cannot be released ends with its life. */
  async close(): Promise<void> {
    this.#doubts.close();
    await Promise.allSettled([...this.#held].map((held) => held.end()));
  }
}
