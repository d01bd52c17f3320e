import type { Lease, Leases } from "../cluster.js";
import type { Expiries } from "./expiries.js";
import { Holding, type Holdings } from "./holdings.js";
import { assertRoom } from "./limit.js";
import type { Link } from "./link.js";

/** Leases that the nodes of a process share. */
export class LeaseTable {
  readonly #held = new Map<string, Holding>();

  constructor(
    readonly expiries: Expiries,
    readonly maxLeases: number,
  ) {}

  get size(): number {
    return this.#held.size;
  }

  /** Returns undefined if the lease is held. */
  acquire(name: string, ttlMs: number, holdings: Holdings): Holding | undefined {
    this.expiries.catchUp();
    if (this.#held.has(name)) return undefined;
    assertRoom(this.#held.size, this.maxLeases, `lease "${name}"`, "maxLeases");
    const holding = new Holding(holdings, `lease "${name}"`, ttlMs, () => this.#held.delete(name));
    this.#held.set(name, holding);
    return holding;
  }

  release(name: string, holding: Holding): void {
    holding.end();
    this.#held.delete(name);
  }
}

export class MemoryLeases implements Leases {
  readonly #link: Link;
  readonly #table: LeaseTable;
  readonly #holdings: Holdings;

  constructor(link: Link, table: LeaseTable, holdings: Holdings) {
    this.#link = link;
    this.#table = table;
    this.#holdings = holdings;
  }

  acquire(name: string, ttlMs: number): MemoryLease | undefined {
    this.#link.check();
    const holding = this.#table.acquire(name, ttlMs, this.#holdings);
    return holding && new MemoryLease(this.#link, this.#table, name, holding);
  }
}

export class MemoryLease implements Lease {
  readonly #link: Link;
  readonly #table: LeaseTable;
  readonly #name: string;
  readonly #holding: Holding;

  constructor(link: Link, table: LeaseTable, name: string, holding: Holding) {
    this.#link = link;
    this.#table = table;
    this.#name = name;
    this.#holding = holding;
  }

  get lost(): AbortSignal {
    return this.#holding.lost;
  }

  /** Ends the lease after `ttlMs`, unless it is renewed again. Returns false if it is over. */
  renew(ttlMs: number): boolean {
    return this.#holding.renew(ttlMs);
  }

  release(): void {
    if (this.#holding.isOver) return;
    this.#link.check();
    this.#table.release(this.#name, this.#holding);
  }
}
