import type { IndexPlace, Listed, PutOptions, Records, Stored } from "../cluster/cluster.js";
import { fromStored, toStored } from "../cluster/engine/text.js";
import type { Row } from "./database.js";
import type { Engine } from "./engine.js";

/** Maximum number of records of a listing. */
const MOST = 2 ** 31 - 1;

export class SqliteRecords implements Records {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async get(key: string): Promise<Stored | undefined> {
    const row = await this.#engine.run("get", toStored(key));
    return row && storedOf(row);
  }

  async put(key: string, value: string, options: PutOptions = {}): Promise<string | undefined> {
    const { ttlMs, ifVersion, index = [] } = options;
    const condition = ifVersion == null ? ifVersion : versionOf(ifVersion);
    if (ifVersion != null && condition === undefined) return undefined;
    const entries = index.map(({ index: name, score }) => ({ index: toStored(name), score }));
    const version = await this.#engine.run("put", toStored(key), toStored(value), condition, ttlMs, entries);
    return version === undefined ? undefined : String(version);
  }

  touch(key: string, ttlMs: number): Promise<boolean> {
    return this.#engine.run("touch", toStored(key), ttlMs);
  }

  async delete(key: string, ifVersion?: string): Promise<boolean> {
    const version = ifVersion === undefined ? undefined : versionOf(ifVersion);
    if (ifVersion !== undefined && version === undefined) return false;
    return this.#engine.run("remove", toStored(key), version);
  }

  async list(index: string, options: { readonly after?: IndexPlace; readonly limit: number }): Promise<Listed[]> {
    const { after, limit } = options;
    const place = after && { score: after.score, key: toStored(after.key) };
    const rows = await this.#engine.run("list", toStored(index), place, Math.min(limit, MOST));
    return rows.map((row) => ({
      ...storedOf(row),
      score: Number(row.score),
      leftMs: row.left == null ? undefined : Math.max(0, Number(row.left)),
    }));
  }

  count(index: string): Promise<number> {
    return this.#engine.run("count", toStored(index));
  }
}

/** Versions are numbers. Other texts are versions of no record. */
const versionOf = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined);

function storedOf({ key, value, version }: Row): Stored {
  return { key: fromStored(String(key)), value: fromStored(String(value)), version: String(version) };
}
