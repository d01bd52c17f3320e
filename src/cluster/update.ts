import type { MaybePromise } from "../call/maybe-promise.js";
import type { IndexPlace, Listed, PutOptions, Records, Stored } from "./cluster.js";
import { ClusterError } from "./error.js";

/** Maximum number of attempts to change a record that others change at the same time. */
const MAX_CONFLICTS = 100;

/** Number of records of a page of a listing. */
const PAGE = 200;

/** New value of a record. */
export interface Change extends Omit<PutOptions, "ifVersion"> {
  readonly value: string;
}

/**
 * Changes a record by compare-and-set. `change` is called with the record, if there is one, and again if another call has
 * changed it meanwhile. Without a change it returns undefined. Resolves with the record as it is then. `known` is the record
 * as it was read before.
 */
export async function update(
  records: Pick<Records, "get" | "put">,
  key: string,
  change: (stored: Stored | undefined) => MaybePromise<Change | undefined>,
  known?: Stored,
): Promise<Stored | undefined> {
  let stored = known ?? (await records.get(key));
  for (let attempt = 0; attempt < MAX_CONFLICTS; attempt++) {
    const changed = await change(stored);
    if (changed === undefined) return stored;
    const { value, ...options } = changed;
    const version = await records.put(key, value, { ...options, ifVersion: stored?.version ?? null });
    if (version !== undefined) return { key, value, version };
    stored = await records.get(key);
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
