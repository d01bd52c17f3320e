/** Value of a column or a parameter. */
export type Value = string | number | null;

export type Row = Readonly<Record<string, Value>>;

/** Members of a prepared statement of `node:sqlite` that this package uses. */
export interface Prepared {
  get(...values: readonly Value[]): Row | undefined;
  all(...values: readonly Value[]): readonly Row[];
  run(...values: readonly Value[]): { readonly changes: number | bigint };
}

/** Members of a connection of `node:sqlite` that this package uses. */
export interface Database {
  exec(text: string): void;
  prepare(text: string): Prepared;
  close(): void;
}

/** Connection of a thread with the names of its tables. */
export interface Session {
  readonly database: Database;
  /** Returns the name of a table. */
  readonly of: (name: string) => string;
  /** Time of the transaction, taken when it could begin. All processes share it. */
  now: number;
}

/** Returns the function that increments a counter and returns its value. */
export function counterOf({ database, of }: Session, name: string): () => number {
  const next = database.prepare(
    `update ${of("counters")} set value = value + 1 where name = '${name}' returning value`,
  );
  return () => Number(next.get()?.value);
}
