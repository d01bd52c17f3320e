import type { IndexEntry, IndexPlace, Listed, PutOptions, Records, Stored } from "../cluster.js";
import { type Expiries, Expiring } from "./expiries.js";
import { IndexTable } from "./index-table.js";
import { assertRecordedChars, assertRoom } from "./limit.js";
import type { Link } from "./link.js";

const NO_ENTRIES: readonly IndexEntry[] = [];

class Row extends Expiring {
  index = NO_ENTRIES;

  constructor(
    readonly table: RecordTable,
    public stored: Stored,
  ) {
    super();
  }

  expire(): void {
    this.table.delete(this);
  }
}

/** Records that the nodes of a process share. */
export class RecordTable {
  readonly rows = new Map<string, Row>();
  readonly indexes = new IndexTable();
  #versions = 0;
  /** Number of characters of all keys and values. */
  #chars = 0;

  constructor(
    readonly expiries: Expiries,
    readonly maxRecords: number,
    readonly maxChars: number,
  ) {}

  /** Stores a value. Returns its version. */
  store(old: Row | undefined, key: string, value: string, { ttlMs, index = NO_ENTRIES }: PutOptions): string {
    const version = String(++this.#versions);
    const stored = { key, value, version };
    const more = old === undefined ? charsOf(stored) : value.length - old.stored.value.length;
    if (more > 0) assertRecordedChars(this.#chars + more, this.maxChars, key, charsOf(stored));
    const row = old ?? this.#create(stored);
    row.stored = stored;
    this.#chars += more;
    this.indexes.replace(row, row.index, index);
    row.index = index;
    if (ttlMs !== undefined) this.expiries.set(row, ttlMs);
    else if (row.place >= 0) this.expiries.remove(row);
    return version;
  }

  delete(row: Row): void {
    this.rows.delete(row.stored.key);
    this.#chars -= charsOf(row.stored);
    this.indexes.replace(row, row.index, NO_ENTRIES);
    this.expiries.remove(row);
  }

  #create(stored: Stored): Row {
    assertRoom(this.rows.size, this.maxRecords, `record "${stored.key}"`, "maxRecords");
    const row = new Row(this, stored);
    this.rows.set(stored.key, row);
    return row;
  }
}

const charsOf = ({ key, value }: Stored) => key.length + value.length;

export class MemoryRecords implements Records {
  readonly #link: Link;
  readonly #table: RecordTable;

  constructor(link: Link, table: RecordTable) {
    this.#link = link;
    this.#table = table;
  }

  get(key: string): Stored | undefined {
    return this.#find(key)?.stored;
  }

  put(key: string, value: string, options: PutOptions = {}): string | undefined {
    const row = this.#find(key);
    const { ifVersion } = options;
    if (ifVersion !== undefined && (row?.stored.version ?? null) !== ifVersion) return undefined;
    return this.#table.store(row, key, value, options);
  }

  touch(key: string, ttlMs: number): boolean {
    const row = this.#find(key);
    if (row !== undefined) this.#table.expiries.set(row, ttlMs);
    return row !== undefined;
  }

  delete(key: string, ifVersion?: string): boolean {
    const row = this.#find(key);
    if (row === undefined || (ifVersion !== undefined && row.stored.version !== ifVersion)) return false;
    this.#table.delete(row);
    return true;
  }

  list(index: string, { after, limit }: { readonly after?: IndexPlace; readonly limit: number }): readonly Listed[] {
    this.#begin();
    return this.#table.indexes.list(index, after, limit, this.#table.expiries.now());
  }

  count(index: string): number {
    this.#begin();
    return this.#table.indexes.count(index);
  }

  #find(key: string): Row | undefined {
    this.#begin();
    return this.#table.rows.get(key);
  }

  #begin(): void {
    this.#link.check();
    this.#table.expiries.catchUp();
  }
}
