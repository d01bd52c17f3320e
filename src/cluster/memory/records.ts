import type { IndexEntry, IndexPlace, Listed, Stored } from "../cluster.js";
import { type DueRecord, type StoreEntry, type StorePut, type TakeDue, takenBy } from "../store.js";
import { type Expiries, Expiring } from "./expiries.js";
import { type Indexed, IndexTable } from "./index-table.js";
import { assertRecordedChars, assertRoom } from "./limits.js";

const NO_ENTRIES: readonly IndexEntry[] = [];

class Row extends Expiring implements Indexed {
  index = NO_ENTRIES;
  takes = 0;

  constructor(
    readonly table: RecordTable,
    public stored: Stored,
  ) {
    super();
  }

  expire(): void {
    this.table.remove(this);
  }
}

/** Records in memory. */
export class RecordTable {
  readonly #rows = new Map<string, Row>();
  readonly #indexes = new IndexTable();
  readonly #expiries: Expiries;
  readonly #maxRecords: number;
  readonly #maxChars: number;
  /** Number of characters of all keys and values. */
  #chars = 0;

  constructor(expiries: Expiries, maxRecords: number, maxChars: number) {
    this.#expiries = expiries;
    this.#maxRecords = maxRecords;
    this.#maxChars = maxChars;
  }

  /** Number of records, and of indexes with entries. */
  get sizes(): { readonly records: number; readonly indexes: number } {
    return { records: this.#rows.size, indexes: this.#indexes.size };
  }

  get(key: string): Stored | undefined {
    return this.#find(key)?.stored;
  }

  /** Stores a record. Returns "same" if it has this version already, and false if `ifVersion` does not match. */
  put(key: string, value: string, { version, ifVersion, ttlMs, index }: StorePut): boolean | "same" {
    const row = this.#find(key);
    if (ifVersion !== undefined && (row?.stored.version ?? null) !== ifVersion)
      return row?.stored.version === version ? "same" : false;
    this.#store(row, { key, value, version }, ttlMs, index?.map((entry) => this.#scoreOf(entry)) ?? NO_ENTRIES);
    return true;
  }

  touch(key: string, ttlMs: number, ifVersion?: string): boolean {
    const row = this.#find(key, ifVersion);
    if (row !== undefined) this.#expiries.set(row, ttlMs);
    return row !== undefined;
  }

  delete(key: string, ifVersion?: string): boolean {
    const row = this.#find(key, ifVersion);
    if (row !== undefined) this.remove(row);
    return row !== undefined;
  }

  list(index: string, after: IndexPlace | undefined, limit: number): readonly Listed[] {
    return this.#indexes.list(index, after, limit, this.#expiries.catchUp());
  }

  count(index: string): number {
    this.#expiries.catchUp();
    return this.#indexes.count(index);
  }

  takeDue(index: string, { most, leaseMs, token }: TakeDue): readonly DueRecord[] | number | undefined {
    const now = this.#expiries.catchUp();
    const first = this.#indexes.list(index, undefined, most, now);
    const due = first.filter(({ score }) => score <= now);
    if (due.length === 0) return first[0] && first[0].score - now;
    return due.map(({ key, value }) => {
      const row = this.#rows.get(key) as Row;
      const entries = [
        { index, score: now + leaseMs },
        { index: takenBy(token), score: 0 },
      ];
      this.#store(row, { key, value, version: token }, undefined, entries);
      return { key, value, version: token, takes: ++row.takes };
    });
  }

  remove(row: Row): void {
    this.#rows.delete(row.stored.key);
    this.#chars -= charsOf(row.stored);
    this.#indexes.replace(row, row.index, NO_ENTRIES);
    this.#expiries.remove(row);
  }

  #find(key: string, ifVersion?: string): Row | undefined {
    this.#expiries.catchUp();
    const row = this.#rows.get(key);
    return ifVersion === undefined || row?.stored.version === ifVersion ? row : undefined;
  }

  #store(old: Row | undefined, stored: Stored, ttlMs: number | undefined, index: readonly IndexEntry[]): void {
    const more = charsOf(stored) - (old === undefined ? 0 : charsOf(old.stored));
    if (more > 0) assertRecordedChars(this.#chars + more, this.#maxChars, stored.key, charsOf(stored));
    const row = old ?? this.#create(stored);
    row.stored = stored;
    this.#chars += more;
    this.#indexes.replace(row, row.index, index);
    row.index = index;
    if (ttlMs !== undefined) this.#expiries.set(row, ttlMs);
    else this.#expiries.remove(row);
  }

  #create(stored: Stored): Row {
    assertRoom(this.#rows.size, this.#maxRecords, `record "${stored.key}"`, "maxRecords");
    const row = new Row(this, stored);
    this.#rows.set(stored.key, row);
    return row;
  }

  #scoreOf(entry: StoreEntry): IndexEntry {
    return "score" in entry ? entry : { index: entry.index, score: this.#expiries.now() + entry.inMs };
  }
}

const charsOf = ({ key, value }: Stored) => key.length + value.length;
