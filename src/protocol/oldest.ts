/** Map or set. Its keys are in the order in which they were added. */
interface Kept<K> {
  readonly size: number;
  keys(): Iterable<K>;
  delete(key: K): unknown;
}

/** Removes the oldest entries until at most `most` are left. */
export function dropOldest<K>(kept: Kept<K>, most: number): void {
  if (kept.size <= most) return;
  for (const key of kept.keys()) {
    kept.delete(key);
    if (kept.size <= most) return;
  }
}
