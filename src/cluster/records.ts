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
    const attempt = () => this.#operations.run(named("put", key), (store) => store.put(key, value, put));
    try {
      return (await attempt()) ? version : undefined;
    } catch (error) {
      // Without a condition, a repeated put might replace a newer value.
      if (!isUnknown(error) || ifVersion === undefined || !(await isStoredBy(attempt))) throw error;
      return version;
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

/**
 * Repeats a put whose outcome is unknown. Returns true if the record has its version. If not, the put may have been carried
 * out nevertheless, and another one may have followed.
 */
async function isStoredBy(attempt: () => Promise<boolean>): Promise<boolean> {
  for (let left = MAX_REPEATS; left > 0; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (!isUnknown(error)) return false;
    }
  }
  return false;
}

const named = (operation: string, key: string) => `${operation} record ${JSON.stringify(key)}`;
