import type { IndexPlace, Listed, PutOptions, Records, Stored } from "../cluster/cluster.js";
import { ClusterError } from "../cluster/error.js";
import type { Engine } from "./engine.js";
import { entriesOf, IndexEntries, recordKey } from "./index-entries.js";
import { DELETE, GET, PUT, TOUCH } from "./record-scripts.js";
import { durationOf, type Script } from "./scripts.js";

export class RedisRecords implements Records {
  static readonly scripts: readonly Script[] = [GET, PUT, TOUCH, DELETE, ...IndexEntries.scripts];
  readonly #engine: Engine;
  readonly #indexes: IndexEntries;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#indexes = new IndexEntries(engine);
  }

  async get(key: string): Promise<Stored | undefined> {
    const [value, version] = (await this.#engine.run(GET, this.#keys(key), [])) as readonly (string | null)[];
    return typeof value === "string" && typeof version === "string" ? { key, value, version } : undefined;
  }

  async put(key: string, value: string, options: PutOptions = {}): Promise<string | undefined> {
    const { ttlMs, ifVersion, index = [] } = options;
    const version = this.#engine.token();
    const names = index.map((entry) => entry.index);
    const condition = ifVersion === undefined ? "any" : ifVersion === null ? "none" : "version";
    const life = ttlMs === undefined ? "" : durationOf(ttlMs);
    const entries = index.length === 0 ? "" : JSON.stringify(index.map(({ index, score }) => ({ index, score })));
    const args = [condition, ifVersion ?? "", value, version, life, entries];
    const put = async (isMarked: 0 | 1) =>
      (await this.#engine.run(PUT, this.#keys(key), [...args, isMarked])) as readonly string[];
    // Most changes of a record whose version is known keep its entries.
    if (condition === "version" && index.length > 0) {
      const [isStored, former = "", s = ""] = await put(0);
      if (isStored === "0") return undefined;
      if (isStored === "1") {
        const left = entriesOf(former).map((entry) => entry.index);
        const removed = left.filter((name) => !names.includes(name));
        await follows(this.#indexes.apply(removed, { key, s, end: "", index }));
        return version;
      }
    }
    return this.#indexes.running(version, async () => {
      // The marks are sent first, so that there is no record whose index entries nobody completes.
      const [marked, stored] = await Promise.allSettled([this.#indexes.mark(names, version, key), put(1)]);
      if (stored.status === "rejected") throw stored.reason;
      const reply = stored.value;
      if (marked.status === "rejected") throw reply[0] === "1" ? unmarked(key, marked.reason) : marked.reason;
      const [isStored, former = "", s = "", end = ""] = reply;
      if (isStored !== "1") {
        this.#indexes.unmark(names, version, key).catch(() => {});
        return undefined;
      }
      const all = [...names, ...entriesOf(former).map((entry) => entry.index)];
      await follows(this.#indexes.apply(all, { key, s, end, index }, version));
      return version;
    });
  }

  async touch(key: string, ttlMs: number): Promise<boolean> {
    const reply = await this.#engine.run(TOUCH, this.#keys(key), [durationOf(ttlMs)]);
    const [isFound, text = "", s = "", end = ""] = reply as readonly string[];
    const index = entriesOf(text);
    const names = index.map((entry) => entry.index);
    await follows(this.#indexes.apply(names, { key, s, end, index }));
    return isFound === "1";
  }

  async delete(key: string, ifVersion?: string): Promise<boolean> {
    const reply = await this.#engine.run(DELETE, this.#keys(key), [ifVersion ?? ""]);
    const [isDeleted, former = "", s = ""] = reply as readonly string[];
    const names = entriesOf(former).map((entry) => entry.index);
    await follows(this.#indexes.apply(names, { key, s, end: "", index: [] }));
    return isDeleted === "1";
  }

  list(
    index: string,
    { after, limit }: { readonly after?: IndexPlace; readonly limit: number },
  ): Promise<readonly Listed[]> {
    return this.#indexes.list(index, limit, after);
  }

  count(index: string): Promise<number> {
    return this.#indexes.count(index);
  }

  #keys(key: string): readonly string[] {
    return [recordKey(this.#engine, key)];
  }
}

/** Error of a put that was carried out although its marks were refused, as when a full engine gets room in between. */
function unmarked(key: string, cause: unknown): ClusterError {
  const message = `put a record: ${JSON.stringify(key)} was stored, and its index entries may be missing; put it again`;
  return new ClusterError("unknown_outcome", message, { cause });
}

/** Waits until the indexes follow a record. If the engine fails, they are repaired when they are read. */
async function follows(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof ClusterError) || error.failure === "refused") throw error;
  }
}
