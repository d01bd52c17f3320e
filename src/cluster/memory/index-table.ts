import type { IndexEntry, IndexPlace, Listed, Stored } from "../cluster.js";
import { Sorted } from "../sorted.js";

/** Record as an index sees it. */
export interface Indexed {
  readonly stored: Stored;
  /** Time at which the record is gone. Infinity if it stays. */
  readonly expiresAt: number;
}

interface Entry extends IndexPlace {
  readonly record?: Indexed;
}

/** Indexes of the records in memory. */
export class IndexTable {
  readonly #indexes = new Map<string, Sorted<Entry>>();

  /** Number of indexes. */
  get size(): number {
    return this.#indexes.size;
  }

  count(index: string): number {
    return this.#indexes.get(index)?.size ?? 0;
  }

  /** Lists the records of an index. `now` is the time from which their remaining lives are counted. */
  list(index: string, after: IndexPlace | undefined, limit: number, now: number): Listed[] {
    const entries = this.#indexes.get(index)?.list(after, limit) ?? [];
    return entries.map(({ record, score }) => {
      const { stored, expiresAt } = record as Indexed;
      return { ...stored, score, leftMs: expiresAt === Number.POSITIVE_INFINITY ? undefined : expiresAt - now };
    });
  }

  /** Replaces the entries of a record. */
  replace(record: Indexed, old: readonly IndexEntry[], next: readonly IndexEntry[]): void {
    if (old === next) return;
    for (const entry of old) if (!has(next, entry)) this.#remove(record, entry);
    for (const entry of next) if (!has(old, entry)) this.#add(record, entry);
  }

  #add(record: Indexed, { index, score }: IndexEntry): void {
    let entries = this.#indexes.get(index);
    if (entries === undefined) {
      entries = new Sorted<Entry>(isAfter);
      this.#indexes.set(index, entries);
    }
    entries.add({ score, key: record.stored.key, record });
  }

  #remove(record: Indexed, { index, score }: IndexEntry): void {
    const entries = this.#indexes.get(index);
    entries?.remove({ score, key: record.stored.key });
    if (entries?.size === 0) this.#indexes.delete(index);
  }
}

function has(entries: readonly IndexEntry[], { index, score }: IndexEntry): boolean {
  return entries.some((entry) => entry.index === index && entry.score === score);
}

function isAfter(one: IndexPlace, other: IndexPlace): boolean {
  return one.score > other.score || (one.score === other.score && one.key > other.key);
}
