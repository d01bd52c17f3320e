import type { IndexEntry, IndexPlace, Listed, Stored } from "../cluster.js";

/** Record as an index sees it. */
export interface Indexed {
  readonly stored: Stored;
}

interface Entry extends IndexPlace {
  readonly record: Indexed;
}

/** Indexes of the records in memory: sorted arrays, in which an entry is found by a binary search. */
export class IndexTable {
  readonly #indexes = new Map<string, Entry[]>();

  /** Number of indexes. */
  get size(): number {
    return this.#indexes.size;
  }

  count(index: string): number {
    return this.#indexes.get(index)?.length ?? 0;
  }

  list(index: string, after: IndexPlace | undefined, limit: number): Listed[] {
    const entries = this.#indexes.get(index) ?? [];
    const from = after === undefined ? 0 : placeAfter(entries, after.score, after.key);
    return entries.slice(from, from + limit).map(({ record, score }) => ({ ...record.stored, score }));
  }

  /** Replaces the entries of a record. */
  replace(record: Indexed, old: readonly IndexEntry[], next: readonly IndexEntry[]): void {
    if (old === next) return;
    for (const entry of old) if (!has(next, entry)) this.#remove(record, entry);
    for (const entry of next) if (!has(old, entry)) this.#add(record, entry);
  }

  #add(record: Indexed, { index, score }: IndexEntry): void {
    const { key } = record.stored;
    const entries = this.#indexes.get(index);
    if (entries === undefined) this.#indexes.set(index, [{ record, score, key }]);
    else entries.splice(placeAfter(entries, score, key), 0, { record, score, key });
  }

  #remove(record: Indexed, { index, score }: IndexEntry): void {
    const entries = this.#indexes.get(index) ?? [];
    const place = placeAfter(entries, score, record.stored.key) - 1;
    if (entries[place]?.record === record) entries.splice(place, 1);
    if (entries.length === 0) this.#indexes.delete(index);
  }
}

function has(entries: readonly IndexEntry[], { index, score }: IndexEntry): boolean {
  return entries.some((entry) => entry.index === index && entry.score === score);
}

/** Returns the number of entries up to a place. */
function placeAfter(entries: readonly IndexPlace[], score: number, key: string): number {
  let [from, to] = [0, entries.length];
  // A new entry is usually the last one.
  if (!isAfter(entries[to - 1], score, key)) return to;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (isAfter(entries[middle], score, key)) to = middle;
    else from = middle + 1;
  }
  return from;
}

function isAfter(entry: IndexPlace | undefined, score: number, key: string): boolean {
  return entry !== undefined && (entry.score > score || (entry.score === score && entry.key > key));
}
