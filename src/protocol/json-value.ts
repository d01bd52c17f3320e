// Values of authors that become JSON: results of tools, values of steps and of `ctx.state`.

import { pointerTo } from "./json.js";

/** End of the description of bytes, which have no form in JSON. */
export const BYTES = " (bytes: use base64)";

/**
 * Returns the place and kind of the first part of a value that JSON would lose, such as "/users is a Map". An object with
 * `toJSON` is not examined, except bytes. With `above`, which is empty at first, a cycle is found, too.
 */
export function findLost(value: unknown, above?: object[]): string | undefined {
  return find(value, above === undefined ? LOST : { above, exact: false });
}

/**
 * Same as `findLost` for a value that code gets again from its JSON. Each part whose kind would be another then counts:
 * a date, an instance of a class, `NaN`, `undefined` in a list.
 */
export function findChanged(value: unknown): string | undefined {
  return find(value, { above: [], exact: true });
}

interface Search {
  /** Objects that contain the value. Undefined for a value without cycles. */
  readonly above: object[] | undefined;
  readonly exact: boolean;
}

const LOST: Search = { above: undefined, exact: false };

function find(value: unknown, search: Search): string | undefined {
  if (typeof value !== "object") return findInPrimitive(value, search);
  if (value === null) return undefined;
  if (isBytes(value)) return ` is a ${value.constructor.name}${BYTES}`;
  if (!search.exact && "toJSON" in value) return undefined;
  if (Array.isArray(value)) return within(value, undefined, search);
  const keys = Object.keys(value);
  if ((search.exact || keys.length === 0) && !isPlain(value)) return ` is a ${value.constructor.name}`;
  return within(value, keys, search);
}

function findInPrimitive(value: unknown, { exact }: Search): string | undefined {
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint")
    return ` is a ${typeof value}`;
  return exact && typeof value === "number" && !Number.isFinite(value) ? ` is ${value}` : undefined;
}

/** Searches the members of an object, or the items of a list, which has no `keys`. */
function within(value: object, keys: readonly string[] | undefined, search: Search): string | undefined {
  const { above, exact } = search;
  if (above?.includes(value)) return " contains itself";
  above?.push(value);
  const length = keys?.length ?? (value as unknown[]).length;
  for (let index = 0; index < length; index++) {
    const key = keys?.[index] ?? index;
    const part = (value as Record<PropertyKey, unknown>)[key];
    const isHole = exact && keys === undefined && part === undefined;
    const lost = isHole ? " is undefined" : find(part, search);
    if (lost !== undefined) return `${pointerTo(key)}${lost}`;
  }
  above?.pop();
  return undefined;
}

function isBytes(value: object): boolean {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
}

/** True for an object literal or an object without a prototype. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
