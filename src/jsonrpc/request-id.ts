import type { RequestId } from "./message.js";

const CANONICAL_INTEGER = /^(?:0|-?[1-9][0-9]{0,15})$/;

/**
 * The key under which an id is filed: a canonical decimal string and its number share one, since peers confuse them.
 * Any other string, such as `"07"` or `""`, is only itself.
 */
export function idKey(id: RequestId): RequestId {
  if (typeof id === "number" || !CANONICAL_INTEGER.test(id)) return id;
  const twin = Number(id);
  return Number.isSafeInteger(twin) ? twin : id;
}

/** The same id in its other spelling, if it has one. */
export function idTwin(id: RequestId): RequestId | undefined {
  if (typeof id === "number") return String(id);
  const key = idKey(id);
  return key === id ? undefined : key;
}
