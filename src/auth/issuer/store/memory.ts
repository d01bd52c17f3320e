import { assertOptions, type Known, type Optional, withDefaults } from "../../../protocol/known-options.js";
import { ISSUER_LIMITS, type IssuerLimits } from "../limits.js";
import { OAuthProblem } from "../problem.js";
import type { IssuerStore, Keeping } from "./store.js";

/** Options of `memoryIssuerStore`. */
export interface MemoryIssuerStoreOptions {
  /** Limits of the store: `maxClients`, `maxGrants`, `maxGrantsPerUser`, `maxMarks` and `maxMarksPerUser`. */
  readonly limits?: Optional<IssuerLimits> | undefined;
  readonly now?: (() => number) | undefined;
}

const OPTIONS: Known<MemoryIssuerStoreOptions> = { limits: ISSUER_LIMITS, now: "function" };

/**
 * Creates a store in memory, limited per kind of value. A registered client is evicted only if no code, grant or
 * approval needs it and no login of it may be under way. A code, a grant, an approval or upstream tokens are evicted only
 * for newer ones of the same user. A mark is never evicted. If nothing can be evicted, the value is rejected with status 503.
 */
export function memoryIssuerStore(options: MemoryIssuerStoreOptions = {}): IssuerStore {
  assertOptions({ memoryIssuerStore }, options, OPTIONS);
  const limits = withDefaults(options.limits, ISSUER_LIMITS);
  const tables = new Tables(limits, options.now ?? Date.now);
  return {
    get: async (key) => tables.find(key)?.value,
    put: async (key, value, expiresAt, keeping) => tables.write(key, { ...keeping, value, expiresAt, lasting: false }),
    add: async (key, value, expiresAt, keeping) => {
      if (tables.find(key) !== undefined) return false;
      tables.write(key, { ...keeping, value, expiresAt, lasting: true });
      return true;
    },
    delete: async (key) => tables.remove(key),
  };
}

interface Entry extends Keeping {
  readonly value: unknown;
  readonly expiresAt: number;
  /** True for a mark, which is not evicted before its expiry. */
  readonly lasting: boolean;
}

/** Values of one kind in the order in which they were written, and the keys of each owner. */
interface Table {
  readonly entries: Map<string, Entry>;
  readonly byOwner: Map<string, Set<string>>;
}

/** Keys of clients and of their approvals, of which each client has at most one. */
const CLIENT_KINDS = /^(?:client|approved):/;

type Bound = "maxClients" | "maxGrants" | "maxGrantsPerUser" | "maxMarks" | "maxMarksPerUser";

/** Minimum milliseconds between two searches of a full store for expired values. */
const SWEEP_MS = 1_000;
/** Milliseconds after which a write searches the store for expired values even if it is not full. */
const SWEEP_ANYWAY_MS = 60_000;
const RETRY_SECONDS = "60";

class Tables {
  readonly #limits: IssuerLimits;
  readonly #now: () => number;
  readonly #tables = new Map<string, Table>();
  /** Number of values that need another value, by the key of that value. */
  readonly #needs = new Map<string, number>();
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(limits: IssuerLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  find(key: string): Entry | undefined {
    const entry = this.#tableOf(key).entries.get(key);
    if (entry === undefined || this.#now() < entry.expiresAt) return entry;
    this.remove(key);
    return undefined;
  }

  write(key: string, entry: Entry): void {
    const table = this.#tableOf(key);
    this.#sweep(SWEEP_ANYWAY_MS);
    this.remove(key);
    this.#makeRoomOfOwner(table, entry);
    this.#makeRoom(table, key, entry);
    table.entries.set(key, entry);
    const { owner, needs } = entry;
    if (owner !== undefined) table.byOwner.set(owner, (table.byOwner.get(owner) ?? new Set()).add(key));
    if (needs !== undefined) this.#needs.set(needs, (this.#needs.get(needs) ?? 0) + 1);
  }

  remove(key: string): void {
    const { entries, byOwner } = this.#tableOf(key);
    const { owner, needs } = entries.get(key) ?? {};
    entries.delete(key);
    if (owner !== undefined) {
      const keys = byOwner.get(owner);
      keys?.delete(key);
      if (keys?.size === 0) byOwner.delete(owner);
    }
    if (needs === undefined) return;
    const left = (this.#needs.get(needs) ?? 1) - 1;
    if (left > 0) this.#needs.set(needs, left);
    else this.#needs.delete(needs);
  }

  #tableOf(key: string): Table {
    const kind = key.slice(0, key.indexOf(":"));
    const table = this.#tables.get(kind) ?? { entries: new Map(), byOwner: new Map() };
    this.#tables.set(kind, table);
    return table;
  }

  /**
   * Evicts the owner's oldest value if the owner has too many. Throws if the new value is a mark, or if there is no
   * value to evict.
   */
  #makeRoomOfOwner({ byOwner }: Table, { owner, lasting }: Entry): void {
    if (owner === undefined) return;
    const keys = byOwner.get(owner) ?? new Set();
    const bound = lasting ? "maxMarksPerUser" : "maxGrantsPerUser";
    if (keys.size < this.#limits[bound]) return;
    this.#sweep();
    if (keys.size < this.#limits[bound]) return;
    const [oldest] = keys;
    if (lasting || oldest === undefined) throw full(bound, this.#limits);
    this.remove(oldest);
  }

  #makeRoom({ entries }: Table, key: string, { owner, lasting }: Entry): void {
    const bound = lasting ? "maxMarks" : CLIENT_KINDS.test(key) ? "maxClients" : "maxGrants";
    const isFull = () => entries.size >= this.#limits[bound];
    if (isFull()) this.#sweep();
    if (isFull() && !lasting && owner === undefined) this.#dropUnused(entries);
    if (isFull()) throw full(bound, this.#limits);
  }

  #dropUnused(entries: ReadonlyMap<string, Entry>): void {
    for (const [key, { heldUntil = 0, owner, lasting }] of entries) {
      if (lasting || owner !== undefined || this.#now() < heldUntil || this.#needs.has(key)) continue;
      this.remove(key);
      return;
    }
  }

  #sweep(everyMs = SWEEP_MS): void {
    const now = this.#now();
    if (now - this.#sweptAt < everyMs) return;
    this.#sweptAt = now;
    for (const { entries } of this.#tables.values()) {
      for (const [key, { expiresAt }] of entries) if (expiresAt <= now) this.remove(key);
    }
  }
}

function full(bound: Bound, limits: IssuerLimits): OAuthProblem {
  const cause = new Error(
    `The memory store of the issuer has reached limits.${bound} (${limits[bound]}); raise this limit`,
  );
  const headers = { "retry-after": RETRY_SECONDS };
  return new OAuthProblem("temporarily_unavailable", "the authorization server is full; try again later", {
    status: 503,
    headers,
    cause,
  });
}
