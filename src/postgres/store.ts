import { type Clock, unref } from "../call/clock.js";
import type { IndexPlace, Listed, Stored } from "../cluster/cluster.js";
import {
  type DueRecord,
  type Store,
  type StoreEvents,
  type StoreLogs,
  type StorePut,
  type TakeDue,
  type TakenTokens,
  takenBy,
} from "../cluster/store.js";
import { fromStored, toStored } from "../cluster/text.js";
import { Connection, type PostgresClient, type Row } from "./connection.js";
import { Listener } from "./listener.js";
import { PostgresLogs } from "./logs.js";
import { ALIVE, type Names, namesOf } from "./schema.js";
import { prepare } from "./start.js";
import { Sweep } from "./sweep.js";

export interface PostgresStoreOptions {
  readonly client: PostgresClient;
  /** Client that listens to notifications. */
  readonly listener: PostgresClient;
  readonly schema: string;
  readonly prefix: string;
  readonly timeoutMs: number;
  /** Time between two deletions of rows whose life is over. */
  readonly sweepMs: number;
  readonly clock: Clock;
}

/** Maximum time for which anything is kept, since PostgreSQL has a last day. */
const MAX_MS = 1e13;

/** State in PostgreSQL. Each operation is one statement. */
export class PostgresStore implements Store {
  readonly logs: StoreLogs;
  readonly #clock: Clock;
  readonly #sweepMs: number;
  readonly #statements: ReturnType<typeof statementsOf>;
  readonly #connection: Connection;
  readonly #listener: Listener;
  readonly #sweep: Sweep;
  readonly #offIdleError: () => void;
  #events: StoreEvents = { onText() {}, onMissed() {}, onShort() {} };
  #timer: unknown;

  constructor(options: PostgresStoreOptions) {
    const { client, listener, schema, prefix, timeoutMs, sweepMs, clock } = options;
    const names = namesOf(schema, prefix);
    const connection = new Connection({
      client,
      clock,
      timeoutMs,
      onShort: () => this.#events.onShort(),
      onLoss: () => this.#listener.look(),
    });
    this.logs = new PostgresLogs(connection, names);
    this.#clock = clock;
    this.#sweepMs = sweepMs;
    this.#statements = statementsOf(names);
    this.#connection = connection;
    this.#listener = new Listener({
      client: listener,
      connection,
      names,
      clock,
      timeoutMs,
      prepare: () => prepare(connection, names),
      events: { onText: (text) => this.#events.onText(text), onMissed: () => this.#events.onMissed() },
    });
    this.#sweep = new Sweep(clock, () => this.#sweepPart());
    this.#offIdleError = client.onIdleError(() => this.#listener.look());
  }

  get isUp(): boolean {
    return this.#connection.isUp && this.#listener.isUp;
  }

  connect(events: StoreEvents): Promise<void> {
    this.#events = events;
    const first = this.#listener.open();
    this.#connection.startBy(first);
    this.#planSweep();
    return first;
  }

  async close(): Promise<void> {
    this.#clock.cancel(this.#timer);
    this.#offIdleError();
    this.#connection.close();
    await this.#listener.close();
  }

  async get(key: string): Promise<Stored | undefined> {
    const [row] = await this.#connection.run(this.#statements.get, key, [toStored(key)]);
    return row && storedOf(row);
  }

  async put(key: string, value: string, options: StorePut): Promise<boolean> {
    const { version, ttlMs, ifVersion, index = [], notice } = options;
    const mode = ifVersion === undefined ? "any" : ifVersion === null ? "absent" : "version";
    const entries = index.map((entry) => ({
      name: toStored(entry.index),
      ...("score" in entry ? { score: entry.score } : { delay: Math.min(entry.inMs, MAX_MS) }),
    }));
    const [row] = await this.#connection.run(this.#statements.put, key, [
      toStored(key),
      toStored(value),
      lifeOf(ttlMs),
      mode,
      orNull(ifVersion),
      toStored(version),
      JSON.stringify(entries),
      orNull(notice),
    ]);
    return row?.stored === "true";
  }

  async touch(key: string, ttlMs: number, ifVersion?: string): Promise<boolean> {
    const values = [toStored(key), lifeOf(ttlMs), orNull(ifVersion)];
    return (await this.#connection.run(this.#statements.touch, key, values)).length > 0;
  }

  async delete(key: string, ifVersion?: string): Promise<boolean> {
    const [row] = await this.#connection.run(this.#statements.delete, key, [toStored(key), orNull(ifVersion)]);
    return row?.deleted === "true";
  }

  async list(
    index: string,
    { after, limit }: { readonly after?: IndexPlace | undefined; readonly limit: number },
  ): Promise<readonly Listed[]> {
    const { score, key } = after ?? { score: "-Infinity", key: "" };
    const values = [toStored(index), score, toStored(key), Math.min(limit, 2 ** 31 - 1)];
    const rows = await this.#connection.run(this.#statements.list, index, values);
    return rows.map((row) => ({
      ...storedOf(row),
      score: Number(row.score),
      leftMs: row.left == null ? undefined : Math.max(0, Number(row.left)),
    }));
  }

  async count(index: string): Promise<number> {
    const [row] = await this.#connection.run(this.#statements.count, index, [toStored(index)]);
    return Number(row?.count);
  }

  async takeDue(index: string, { most, leaseMs, token }: TakeDue): Promise<readonly DueRecord[] | number | undefined> {
    const values = [toStored(index), toStored(takenBy(token)), most, leaseMs, token];
    const rows = await this.#connection.run(this.#statements.takeDue, index, values);
    const wait = rows[0]?.wait;
    if (wait != null) return Number(wait);
    if (rows.length === 0) return undefined;
    return rows.map((row) => ({ ...storedOf(row), version: token, takes: Number(row.takes) }));
  }

  async takeTokens(key: string, burst: number, refillMs: number, want: number): Promise<TakenTokens> {
    const values = [toStored(key), burst, Math.min(refillMs, MAX_MS), want];
    const [row] = await this.#connection.run(this.#statements.takeTokens, key, values);
    const given = Number(row?.given);
    return { given, retryInMs: given > 0 ? 0 : Number(row?.wait) };
  }

  send(texts: readonly string[]): Promise<void> {
    return this.#listener.send(texts);
  }

  listenAgain(): void {
    this.#listener.reopen();
  }

  #planSweep(): void {
    this.#timer = this.#clock.schedule(() => {
      this.#planSweep();
      if (this.isUp) void this.#sweep.run();
    }, this.#sweepMs);
    unref(this.#timer);
  }

  async #sweepPart(): Promise<boolean> {
    const [row] = await this.#connection.run(this.#statements.sweep, undefined, []);
    return row?.state === "more";
  }
}

function storedOf({ key, value, version }: Row): Stored {
  return { key: fromStored(key), value: fromStored(value), version: fromStored(version) };
}

/** Returns the life of a record, null if it has no end. */
function lifeOf(ttlMs: number | undefined): number | null {
  return ttlMs === undefined || ttlMs === Number.POSITIVE_INFINITY ? null : Math.min(ttlMs, MAX_MS);
}

const orNull = (text: string | null | undefined) => (text == null ? null : toStored(text));

const read = (operation: string, text: string) => ({ operation, text, isRead: true });

function statementsOf({ of, channel }: Names) {
  const alive = `from ${of("indexed")} i join ${of("records")} r on r.key = i.key where i.name = $1::text and ${ALIVE}`;
  return {
    get: read("get record", `select key, value, version from ${of("records")} r where key = $1::text and ${ALIVE}`),
    put: {
      operation: "put record",
      text: `call ${of("put_2")}($1::text, $2::text, $3::float8, $4::text, $5::text, $6::text, $7::text, '${channel}',
        $8::text, null)`,
    },
    touch: {
      operation: "touch record",
      text: `update ${of("records")} r set expires = clock_timestamp() + $2::float8 * interval '1 millisecond'
        where key = $1::text and ${ALIVE} and ($3::text is null or version = $3::text) returning key`,
    },
    delete: {
      operation: "delete record",
      text: `select ${of("delete_2")}($1::text, $2::text)::text as deleted`,
    },
    list: read(
      "list the index",
      `select r.key, r.value, r.version, i.score::text,
        (extract(epoch from r.expires - clock_timestamp()) * 1000)::text as left ${alive}
        and (i.score, i.key) > ($2::float8, $3::text collate "C") order by i.score, i.key limit $4::int`,
    ),
    // The records that are over and not swept are few, so that the limit makes the server look for each of them.
    count: read(
      "count the index",
      `select ((select coalesce(sum(n), 0) from ${of("counts")} where name = $1::text) - (
          select count(*) from ${of("records")} r, lateral (
            select from ${of("indexed")} i where i.key = r.key and i.name = $1::text limit 1
          ) i where r.indexed and r.expires <= statement_timestamp()
        ))::text as count`,
    ),
    takeDue: {
      operation: "take records of the index",
      text: `select * from ${of("take_2")}($1::text, $2::text, $3::int, $4::float8, $5::text)`,
    },
    takeTokens: {
      operation: "take tokens of bucket",
      text: `select * from ${of("tokens_2")}($1::text, $2::float8, $3::float8, $4::float8)`,
    },
    sweep: { operation: "sweep", text: `select ${of("sweep_2")}(1000, interval '60 seconds') as state` },
  };
}
