import { followSignal } from "../call/abortable.js";
import type { Listening, PostgresClient, Row, Value } from "./connection.js";
import { NotSent } from "./failure.js";
import { quote } from "./schema.js";

/** Part of the `Pool` of the package `pg` that is used. */
export interface PgPool {
  readonly options?: { readonly max?: number };
  connect(): Promise<PgPoolClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
}

/** Part of the `PoolClient` of the package `pg` that is used. */
export interface PgPoolClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>;
  release(error?: Error | boolean): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  on(event: "notification", listener: (message: { readonly payload?: string | undefined }) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
}

/**
 * Uses a pool of the package `pg`. One connection of the pool listens, so its `max` must be 2 or more. The pool remains
 * the caller's: end it after the cluster is closed.
 */
export function fromPg(pool: PgPool): PostgresClient {
  const { max } = pool.options ?? {};
  if (max !== undefined && max < 2)
    throw new TypeError(`fromPg: the pool has max ${max}, and one connection listens; set max to 2 or more`);
  return {
    query: (text, values, signal) => query(pool, text, values, signal),
    listen: (channel, heard, lost) => listen(pool, channel, heard, lost),
    onIdleError(listener) {
      pool.on("error", listener);
      return () => void pool.removeListener("error", listener);
    },
  };
}

const ignore = () => {};

async function query(pool: PgPool, text: string, values: readonly Value[], signal: AbortSignal) {
  const client = await connect(pool, signal);
  let isReleased = false;
  const release = (error?: Error) => {
    if (isReleased) return;
    isReleased = true;
    client.release(error);
    // A connection that is discarded may still report errors, which nobody else listens to.
    if (error === undefined) client.removeListener("error", ignore);
  };
  client.on("error", ignore);
  const unfollow = followSignal(signal, () => release(new Error("the statement took too long")));
  try {
    const { rows } = values.length === 0 ? await client.query(text) : await client.query(text, [...values]);
    release();
    return rows as readonly Row[];
  } catch (error) {
    release(isAnswer(error) ? undefined : (error as Error));
    throw error;
  } finally {
    unfollow();
  }
}

/** True for an error that the server sent and after which the connection remains usable. */
const isAnswer = (error: unknown) => (error as { severity?: unknown } | null)?.severity === "ERROR";

/** Takes a connection of the pool. A connection that comes after the signal has fired goes back at once. */
async function connect(pool: PgPool, signal: AbortSignal): Promise<PgPoolClient> {
  const connecting = pool.connect();
  try {
    const client = await new Promise<PgPoolClient>((resolve, reject) => {
      const unfollow = followSignal(signal, () => reject(signal.reason));
      connecting.then(resolve, reject).finally(unfollow);
    });
    return client;
  } catch (error) {
    if (signal.aborted) connecting.then((client) => client.release(), ignore);
    throw new NotSent(error);
  }
}

async function listen(pool: PgPool, channel: string, heard: (payload: string) => void, lost: () => void) {
  const client = await pool.connect();
  let isOpen = true;
  const end = (error: Error | true, tell: () => void) => {
    if (!isOpen) return;
    isOpen = false;
    client.release(error);
    tell();
  };
  client.on("error", (error) => end(error, lost));
  client.on("end", () => end(true, lost));
  client.on("notification", ({ payload }) => {
    if (isOpen) heard(payload ?? "");
  });
  try {
    await client.query(`listen ${quote(channel)}`);
  } catch (error) {
    end(error as Error, ignore);
    throw error;
  }
  const listening: Listening = { close: async () => end(true, ignore) };
  return listening;
}
