import type { LogEntry } from "./cluster.js";
import type { LogPlace, StoredEntry } from "./store.js";

/**
 * Returns the id of an entry: the number of its log, its number there, and the claim by which it was written. An engine
 * that has lost writes gives numbers twice, but a claim is random, so that an id never means another entry.
 */
export function idOf({ id, n, claim }: LogPlace): string {
  return `${id}-${n}-${claim}`;
}

/** Returns the place that an id names, or undefined if it is not the id of an entry. */
export function placeOf(text: string): LogPlace | undefined {
  const [, id, n, claim] = /^([\dA-Za-z.]{1,64})-(\d{1,18})-([\da-f]{12})$/.exec(text) ?? [];
  return id === undefined || n === undefined || claim === undefined ? undefined : { id, n, claim };
}

export function entryOf(id: string, { n, claim, data, last }: StoredEntry): LogEntry {
  return { id: idOf({ id, n, claim }), data, last };
}
