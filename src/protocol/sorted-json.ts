import { isObject } from "./json.js";

/** Returns JSON text that is equal for equal values, whatever the order of their members. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([one], [two]) => (one < two ? -1 : 1))) : inner,
  );
}
