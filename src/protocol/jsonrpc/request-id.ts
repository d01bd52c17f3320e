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

/** What is filed under exactly this id, or else under its other spelling. */
export function findByEither<T>(filed: Pick<ReadonlyMap<RequestId, T>, "get">, id: RequestId): T | undefined {
  const exact = filed.get(id);
  if (exact !== undefined) return exact;
  const twin = idTwin(id);
  return twin === undefined ? undefined : filed.get(twin);
}

/** The same id in its other spelling, if it has one. */
function idTwin(id: RequestId): RequestId | undefined {
  if (typeof id === "number") return String(id);
  const key = idKey(id);
  return key === id ? undefined : key;
}
