import type { Lease, Leases } from "./cluster.js";
import { closedError } from "./error.js";
import type { Operations } from "./operations.js";
import { MAX_LIFE_MS, Renewal } from "./renewal.js";
import { UnknownAcquisitions } from "./unknown-acquisitions.js";

const PREFIX = "lease/";
const keyOf = (name: string) => PREFIX + name;

/** Returns the node that holds a lease, or undefined for a record that is not a lease. */
export function holderOf(key: string, value: string): string | undefined {
  return key.startsWith(PREFIX) ? value : undefined;
}

/** Leases as records. The version of the record is the proof of its holder, its life that of the lease. */
export class StoreLeases implements Leases {
  readonly #operations: Operations;
  readonly #acquiring = new Set<Promise<unknown>>();
  readonly #held = new Set<{ end(): Promise<void> }>();
  readonly #unknown: UnknownAcquisitions;

  constructor(operations: Operations) {
    this.#operations = operations;
    const { clock, store } = operations;
    this.#unknown = new UnknownAcquisitions({ clock, release: (name, version) => store.delete(keyOf(name), version) });
  }

  acquire(name: string, life: number): Promise<Lease | undefined> {
    const acquiring = this.#acquire(name, life);
    this.#acquiring.add(acquiring);
    return acquiring.finally(() => this.#acquiring.delete(acquiring));
  }

  async #acquire(name: string, life: number): Promise<Lease | undefined> {
    const { clock, store, node } = this.#operations;
    const what = `lease ${JSON.stringify(name)}`;
    const key = keyOf(name);
    const ttlMs = Math.min(life, MAX_LIFE_MS);
    const version = this.#operations.version();
    const askedAt = clock.now();
    const put = (ifVersion: string | null) =>
      this.#operations.run(`acquire ${what}`, () => store.put(key, node, { version, ifVersion, ttlMs }));
    // The former acquisition may be released in the background between two of these attempts.
    const attempt = async (former: string | undefined) =>
      (await put(null)) || (former !== undefined && ((await put(former)) || (await put(null))));
    if (!(await this.#unknown.acquire(name, version, ttlMs, attempt))) return undefined;
    const renewal = new Renewal(this.#operations, {
      what,
      ttlMs,
      askedAt,
      renew: () => store.touch(key, ttlMs, version),
    });
    const release = async (stop: () => void) => {
      if (!renewal.isHeld) return;
      stop();
      this.#held.delete(held);
      await store.delete(key, version);
    };
    const held = { end: () => release(() => renewal.lose(closedError(what))) };
    if (renewal.isHeld) this.#held.add(held);
    renewal.lost.addEventListener("abort", () => this.#held.delete(held), { once: true });
    return { lost: renewal.lost, release: () => release(() => renewal.stop()) };
  }

  /** Ends all leases of this process. A lease that cannot be released ends with its life. */
  async close(): Promise<void> {
    this.#unknown.close();
    await Promise.allSettled(this.#acquiring);
    await Promise.allSettled([...this.#held].map((held) => held.end()));
  }
}
