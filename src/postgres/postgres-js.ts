import { followSignal } from "../call/abortable.js";
import type { Listening, PostgresClient, Row, Value } from "./connection.js";
import { NotSent } from "./failure.js";

/** Part of the `Sql` of the package `postgres` that is used. */
export interface PostgresJsSql {
  unsafe(text: string, values: (string | number | null)[], options: { prepare: boolean }): PostgresJsQuery;
  listen(
    channel: string,
    heard: (payload: string) => void,
    onlisten: () => void,
  ): Promise<{ unlisten(): Promise<unknown> }>;
}

export interface PostgresJsQuery extends PromiseLike<readonly unknown[]> {
  cancel(): unknown;
}

/**
 * Uses a client of the package `postgres`. It listens on a connection of its own. The client remains the caller's: end it
 * after the cluster is closed. Its option `backoff` determines how soon it reconnects to a server that was away.
 */
export function fromPostgresJs(sql: PostgresJsSql): PostgresClient {
  const channels = new WeakMap<(payload: string) => void, Channel>();
  return {
    query: (text, values, signal) => query(sql, text, values, signal),
    listen(channel, heard, lost) {
      let found = channels.get(heard);
      if (found === undefined) {
        found = new Channel(sql, channel, heard);
        channels.set(heard, found);
      }
      return found.listen(lost);
    },
    onIdleError: () => () => {},
  };
}

function query(sql: PostgresJsSql, text: string, values: readonly Value[], signal: AbortSignal) {
  return new Promise<readonly Row[]>((resolve, reject) => {
    const running = sql.unsafe(text, [...values], { prepare: values.length > 0 });
    // The library sets `state` when it sends the query.
    const isSent = () => (running as { state?: unknown }).state != null;
    const fail = (error: unknown) => reject(isSent() ? error : new NotSent(error));
    const unfollow = followSignal(signal, () => {
      fail(signal.reason);
      Promise.resolve(running.cancel()).catch(() => {});
    });
    running.then(
      (rows) => {
        unfollow();
        resolve(rows as readonly Row[]);
      },
      (error) => {
        unfollow();
        fail(error);
      },
    );
  });
}

/**
 * Listener of a channel. The library reconnects and listens again by itself, and cannot remove a listener after that, so
 * that a listener is added once and stays for the life of the client.
 */
class Channel {
  readonly #sql: PostgresJsSql;
  readonly #name: string;
  readonly #heard: (payload: string) => void;
  #isAdded = false;
  #isUp = false;
  #isWanted = false;
  #lost = () => {};
  #opened = () => {};

  constructor(sql: PostgresJsSql, name: string, heard: (payload: string) => void) {
    this.#sql = sql;
    this.#name = name;
    this.#heard = heard;
  }

  async listen(lost: () => void): Promise<Listening> {
    this.#isWanted = true;
    if (!this.#isUp) await this.#open();
    this.#lost = lost;
    return {
      close: async () => {
        this.#isWanted = false;
        this.#lost = () => {};
      },
    };
  }

  #open(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#opened = resolve;
      if (this.#isAdded) return;
      this.#isAdded = true;
      const heard = (payload: string) => {
        if (this.#isWanted) this.#heard(payload);
      };
      this.#sql.listen(this.#name, heard, () => this.#onListen()).catch(reject);
    });
  }

  #onListen(): void {
    this.#isUp = true;
    this.#opened();
    const lost = this.#lost;
    this.#lost = () => {};
    lost();
  }
}
