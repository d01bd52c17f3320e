import type { IndexPlace, Listed, PutOptions, Records, Stored } from "./cluster.js";
import { isUnknown } from "./error.js";
import type { Operations } from "./operations.js";

/** Number of times that a put with an unknown outcome is repeated. */
const MAX_REPEATS = 2;

/** Records of a store. The version of a record is made by the process that puts it. */
export class StoreRecords implements Records {
  readonly #operations: Operations;

  constructor(operations: Operations) {
    this.#operations = operations;
  }

  get(key: string): Promise<Stored | undefined> {
    return this.#operations.run(named("get", key), (store) => store.get(key));
  }

  async put(key: string, value: string, options: PutOptions = {}): Promise<string | undefined> {
    const version = this.#operations.version();
    const { ttlMs, ifVersion, index } = options;
    const put = { version, ttlMs, ifVersion, index };
    for (let repeats = ifVersion === undefined ? 0 : MAX_REPEATS; ; repeats--) {
      try {
        const isStored = await this.#operations.run(named("put", key), (store) => store.put(key, value, put));
        return isStored ? version : undefined;
      } catch (error) {
        // A put with a condition can be repeated: the version shows if it was carried out.
        if (!isUnknown(error) || repeats === 0) throw error;
      }
    }
  }

  touch(key: string, ttlMs: number): Promise<boolean> {
    return this.#operations.run(named("touch", key), (store) => store.touch(key, ttlMs));
  }

  delete(key: string, ifVersion?: string): Promise<boolean> {
    return this.#operations.run(named("delete", key), (store) => store.delete(key, ifVersion));
  }

  list(index: string, options: { readonly after?: IndexPlace; readonly limit: number }): Promise<readonly Listed[]> {
    return this.#operations.run(`list the index ${JSON.stringify(index)}`, (store) => store.list(index, options));
  }

  count(index: string): Promise<number> {
    return this.#operations.run(`count the index ${JSON.stringify(index)}`, (store) => store.count(index));
  }
}

const named = (operation: string, key: string) => `${operation} record ${JSON.stringify(key)}`;
