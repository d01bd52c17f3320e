/** Row of a result. Each statement of this package names its columns by one lower-case word and casts them to text. */
export type Row = Readonly<Record<string, string | null>>;

/** Value of a parameter. Statements cast it. */
export type Value = string | number | null;

/** Connection to PostgreSQL. `fromPg` and `fromPostgresJs` create it from a client library. */
export interface PostgresClient {
  /**
   * Runs one statement in a transaction of its own. Rejects with {@link NotSent} if the statement did not leave this
   * process. When the signal fires, the statement is given up, and a connection that it blocks is closed.
   */
  query(text: string, values: readonly Value[], signal: AbortSignal): Promise<readonly Row[]>;
  /**
   * Listens to a channel on a connection that is used for nothing else. Resolves when the connection listens. `lost` is
   * called once when that connection is lost, or when the library has replaced it by another one.
   */
  listen(channel: string, heard: (payload: string) => void, lost: () => void): Promise<Listening>;
  /** Adds a listener of lost idle connections. Returns a function that removes it. */
  onIdleError(listener: () => void): () => void;
}

export interface Listening {
  /** Closes the connection, or stops listening if the library keeps the connection. */
  close(): Promise<void>;
}

/** A statement failed before it was sent. */
export class NotSent extends Error {
  constructor(override readonly cause: unknown) {
    super("The statement was not sent.");
  }
}

/** Quotes an identifier. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
