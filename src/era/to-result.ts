import type { Result } from "./server-era.js";

/** What a handler returned as a result on the wire: that is an object, and nothing is an empty one. */
export function toResult(value: unknown, method: string): Result {
  if (value === undefined) return {};
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Result;
  throw new TypeError(`the handler of ${method} must return an object or nothing`);
}
