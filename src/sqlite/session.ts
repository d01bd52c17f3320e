import { fromStored, toStored } from "../cluster/text.js";

/** Maximum time that SQLite can be told to wait. */
const MAX_WAIT_MS = 2 ** 31 - 1;

/** Value of a column or a parameter. */
export type Value = string | number | null;

/** Members of a prepared statement of `node:sqlite` that this package uses. */
export interface Prepared<Row = Readonly<Record<string, Value>>> {
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

/** Connection of a thread. Statements have names of tables in braces. */
export class Session {
  /** Time of the transaction, taken when it could begin. All processes share it. */
  now = 0;
  /** Texts that are sent to all processes with the transaction. */
  readonly notices = new Set<string>();

  constructor(
    readonly database: Database,
    readonly prefix: string,
  ) {}

  /** Returns a statement whose texts may have any characters. */
  prepare<Row = Readonly<Record<string, Value>>>(text: string): Prepared<Row> {
    const statement = this.database.prepare(this.#named(text));
    const parameters = (values: readonly Value[]) => values.map((v) => (typeof v === "string" ? toStored(v) : v));
    return {
      get: (...values) => withTexts(statement.get(...parameters(values)) as Row | undefined),
      all: (...values) => (statement.all(...parameters(values)) as Row[]).map(withTexts),
      run: (...values) => statement.run(...parameters(values)),
    };
  }

  exec(text: string): void {
    this.database.exec(this.#named(text));
  }

  /** Lets a statement wait for other connections that write. */
  wait(ms: number): void {
    this.exec(`pragma busy_timeout = ${Math.min(Math.ceil(ms), MAX_WAIT_MS)}`);
  }

  #named(text: string): string {
    return text.replaceAll(/\{(\w+)\}/g, `"${this.prefix}$1"`);
  }
}

/** Replaces the stored forms of texts in a row. */
function withTexts<Row>(row: Row): Row {
  const columns = (row ?? {}) as Record<string, unknown>;
  for (const name in columns) {
    const value = columns[name];
    if (typeof value === "string") columns[name] = fromStored(value);
  }
  return row;
}
