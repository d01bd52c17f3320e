import type { MaybePromise } from "../call/maybe-promise.js";
import type { IndexPlace, Listed, PutOptions, Records, Stored } from "./cluster.js";
import { ClusterError, isUnknown } from "./error.js";

/** Maximum number of attempts to change a record that others change at the same time. */
const MAX_CONFLICTS = 100;

/** Number of records of a page of a listing. */
const PAGE = 200;

/** New value of a record. */
export interface Change extends Omit<PutOptions, "ifVersion"> {
  readonly value: string;
}

export interface UpdateOptions {
  /** The record as it was read before. */
  readonly known?: Stored | undefined;
  /** True if a change that may have been made must not be made again. The update then has an unknown outcome. */
  readonly once?: boolean;
}

/**
 * Changes a record by compare-and-set. `change` is called with the record, if there is one, and again if another call has
 * changed it meanwhile. Without a change it returns undefined. Resolves with the record as it is then. A change whose outcome
 * is unknown is made again, unless `once`: it has to leave alone what it has made before.
 */
export async function update(
  records: Pick<Records, "get" | "put">,
  key: string,
  change: (stored: Stored | undefined) => MaybePromise<Change | undefined>,
  { known, once = false }: UpdateOptions = {},
): Promise<Stored | undefined> {
  let stored = known ?? (await records.get(key));
  for (let attempt = 0; attempt < MAX_CONFLICTS; attempt++) {
    const changed = await change(stored);
    if (changed === undefined) return stored;
    const { value, ...options } = changed;
    let unknown: unknown;
    try {
      const version = await records.put(key, value, { ...options, ifVersion: stored?.version ?? null });
      if (version !== undefined) return { key, value, version };
    } catch (error) {
      if (once || !isUnknown(error)) throw error;
      unknown = error;
    }
    // If the record cannot be read either, the change may have been made all the same.
    stored = await records.get(key).catch((error: unknown) => Promise.reject(unknown ?? error));
  }
  const text = `record ${JSON.stringify(key)} was changed by others each of ${MAX_CONFLICTS} times`;
  throw new ClusterError("unavailable", `${text}; try again, and change it less often`);
}

/** Yields the records of an index in pages. */
export async function* each(
  records: Pick<Records, "list">,
  index: string,
  limit = PAGE,
): AsyncGenerator<Listed, void, undefined> {
  for (let after: IndexPlace | undefined; ; ) {
    const page = await records.list(index, after === undefined ? { limit } : { after, limit });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < limit) return;
    after = { score: last.score, key: last.key };
  }
}
