import type { IndexPlace, Listed, PutOptions, Records, Stored } from "../cluster/cluster.js";
import { fromStored, toStored } from "../cluster/engine/text.js";
import type { Row } from "./client.js";
import type { Engine, Statement } from "./engine.js";
import type { Names } from "./tables.js";

const ALIVE = "(r.expires is null or r.expires > clock_timestamp())";
const LEFT_MS = "(extract(epoch from r.expires - clock_timestamp()) * 1000)";

/** Maximum life, since PostgreSQL has a last day. */
const MAX_TTL_MS = 1e13;

/** Returns the life of a record, null if it has no end. */
function ttlOf(ttlMs: number | undefined): number | null {
  return ttlMs === undefined || ttlMs === Number.POSITIVE_INFINITY ? null : Math.min(ttlMs, MAX_TTL_MS);
}

export class PostgresRecords implements Records {
  readonly #engine: Engine;
  readonly #statements: Readonly<Record<"get" | "put" | "touch" | "delete" | "list" | "count", Statement>>;

  constructor(engine: Engine, { of }: Names) {
    this.#engine = engine;
    const records = of("records");
    const indexed = `${of("indexed")} i join ${records} r on r.key = i.key`;
    const read = (operation: string, text: string) => ({ operation, text, isRead: true });
    this.#statements = {
      get: read("get a record", `select key, value, version::text from ${records} r where key = $1::text and ${ALIVE}`),
      put: {
        operation: "put a record",
        text: `select ${of("put_1")}($1::text, $2::text, $3::float8, $4::text, $5::bigint, $6::text)::text as version`,
      },
      touch: {
        operation: "touch a record",
        text: `update ${records} r set expires = clock_timestamp() + $2::float8 * interval '1 millisecond'
          where key = $1::text and ${ALIVE} returning key`,
      },
      delete: {
        operation: "delete a record",
        text: `delete from ${records} r where key = $1::text and ($2::bigint is null or version = $2::bigint)
          returning (${ALIVE})::text as alive`,
      },
      list: read(
        "list records",
        `select r.key, r.value, r.version::text, i.score::text, ${LEFT_MS}::text as left from ${indexed} where i.name = $1::text and ${ALIVE}
          and ($2::float8 is null or (i.score, i.key) > ($2::float8, $3::text collate "C"))
          order by i.score, i.key limit $4::int`,
      ),
      // The records that are over and not swept are few. The others are not looked at.
      count: read(
        "count records",
        `with past as materialized (select key from ${records} where expires <= statement_timestamp())
          select ((select count(*) from ${of("indexed")} where name = $1::text) - (select count(*)
            from past join ${of("indexed")} i on i.key = past.key and i.name = $1::text))::text as count`,
      ),
    };
  }

  async get(key: string): Promise<Stored | undefined> {
    const [row] = await this.#engine.run(this.#statements.get, toStored(key));
    return row && storedOf(row);
  }

  async put(key: string, value: string, options: PutOptions = {}): Promise<string | undefined> {
    const { ttlMs, ifVersion, index = [] } = options;
    const mode = ifVersion === undefined ? "any" : ifVersion === null ? "absent" : "version";
    if (mode === "version" && !isVersion(ifVersion)) return undefined;
    const entries = index.map(({ index: name, score }) => ({ name: toStored(name), score }));
    const [row] = await this.#engine.run(
      this.#statements.put,
      toStored(key),
      toStored(value),
      ttlOf(ttlMs),
      mode,
      ifVersion ?? null,
      JSON.stringify(entries),
    );
    return row?.version ?? undefined;
  }

  async touch(key: string, ttlMs: number): Promise<boolean> {
    const rows = await this.#engine.run(this.#statements.touch, toStored(key), ttlOf(ttlMs));
    return rows.length > 0;
  }

  async delete(key: string, ifVersion?: string): Promise<boolean> {
    if (ifVersion !== undefined && !isVersion(ifVersion)) return false;
    const [row] = await this.#engine.run(this.#statements.delete, toStored(key), ifVersion ?? null);
    return row?.alive === "true";
  }

  async list(index: string, options: { readonly after?: IndexPlace; readonly limit: number }): Promise<Listed[]> {
    const { after, limit } = options;
    const place = after && toStored(after.key);
    const most = Math.min(limit, 2 ** 31 - 1);
    const rows = await this.#engine.run(
      this.#statements.list,
      toStored(index),
      after?.score ?? null,
      place ?? null,
      most,
    );
    return rows.map((row) => ({
      ...storedOf(row),
      score: Number(row.score),
      leftMs: row.left == null ? undefined : Math.max(0, Number(row.left)),
    }));
  }

  async count(index: string): Promise<number> {
    const [row] = await this.#engine.run(this.#statements.count, toStored(index));
    return Number(row?.count ?? 0);
  }
}

/** Versions are numbers. Other texts are versions of no record. */
const isVersion = (text: string | null | undefined) => /^\d{1,18}$/.test(text ?? "");

function storedOf({ key, value, version }: Row): Stored {
  return { key: fromStored(key), value: fromStored(value), version: version ?? "" };
}
