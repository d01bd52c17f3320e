import { isObject, keysOf, pointerTo } from "../../protocol/json.js";
import { isMultiple, type Node, type Run, toPattern } from "./types.js";

const MAX_ISSUES = 32;

const TYPES: Record<string, (value: unknown) => boolean> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === "string",
  array: (value) => Array.isArray(value),
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
};

/** Makes an assertion from its keyword's value, which is as it must be. */
type Assertion<Limit> = (limit: Limit) => Node;

/** The keywords that look at the value alone. */
const KEYWORDS = {
  type: typeNode,
  const: (limit: unknown): Node => oneOfValues([limit]),
  enum: oneOfValues,
  minimum: numeric((value, limit) => value >= limit, "at least"),
  maximum: numeric((value, limit) => value <= limit, "at most"),
  exclusiveMinimum: numeric((value, limit) => value > limit, "above"),
  exclusiveMaximum: numeric((value, limit) => value < limit, "below"),
  multipleOf: numeric(isMultiple, "a multiple of"),
  minLength: sized(textSize, true, ["character", "characters"]),
  maxLength: sized(textSize, false, ["character", "characters"]),
  minItems: sized(listSize, true, ["item", "items"]),
  maxItems: sized(listSize, false, ["item", "items"]),
  minProperties: sized(objectSize, true, ["property", "properties"]),
  maxProperties: sized(objectSize, false, ["property", "properties"]),
  pattern: (limit: string): Node => {
    const pattern = toPattern(limit)!;
    return (value, run) =>
      typeof value !== "string" || pattern.test(value) || issue(run, `must match ${pattern.source}`);
  },
  uniqueItems: (limit: boolean): Node => {
    return (value, run) => !limit || !Array.isArray(value) || areUnique(value) || issue(run, "must not repeat an item");
  },
  required: requireKeys,
  dependentRequired: (limit: Record<string, readonly string[]>): Node => {
    const needs = Object.entries(limit).map(([key, keys]) => [key, requireKeys(keys)] as const);
    return (value, run, seen) =>
      !isObject(value) || needs.every(([key, node]) => !hasKey(value, key) || node(value, run, seen));
  },
};

/** The same, by name. */
export const ASSERTIONS = KEYWORDS as { readonly [keyword: string]: Assertion<never> };

/** Reports an issue at the present value. */
export function issue(run: Run, message: string, path = ""): false {
  if (run.quiet === 0 && run.issues.length < MAX_ISSUES) run.issues.push({ path, message });
  return false;
}

/** Whether an object has a property that JSON would carry. */
export function hasKey(value: Record<string, unknown>, key: string): boolean {
  return value[key] !== undefined && Object.hasOwn(value, key);
}

function typeNode(limit: string | readonly string[]): Node {
  const names: readonly string[] = typeof limit === "string" ? [limit] : limit;
  const tests = names.map((name) => TYPES[name]!);
  const [only] = tests;
  const message = `must be ${names.map((name) => `${/^[aio]/.test(name) ? "an" : "a"} ${name}`).join(" or ")}`;
  if (tests.length === 1) return (value, run) => only!(value) || issue(run, message);
  return (value, run) => tests.some((test) => test(value)) || issue(run, message);
}

function oneOfValues(values: readonly unknown[]): Node {
  const set = new ValueSet(values);
  const list = values.map((value) => canonical(value)).join(", ");
  const shown = list.length > 200 ? "one of the allowed values" : values.length === 1 ? list : `one of ${list}`;
  return (value, run) => set.has(value) || issue(run, `must be ${shown}`);
}

function numeric(test: (value: number, limit: number) => boolean, words: string): Assertion<number> {
  return (limit) => (value, run) =>
    typeof value !== "number" || test(value, limit) || issue(run, `must be ${words} ${limit}`);
}

/** A bound on a size: `size` is undefined for a value that the keyword does not concern. */
function sized(
  size: (value: unknown, limit: number) => number | undefined,
  atLeast: boolean,
  what: readonly [string, string],
): Assertion<number> {
  return (limit) => {
    const message = `must have ${atLeast ? "at least" : "at most"} ${limit} ${limit === 1 ? what[0] : what[1]}`;
    return (value, run) => {
      const count = size(value, limit);
      return count === undefined || (atLeast ? count >= limit : count <= limit) || issue(run, message);
    };
  };
}

/** Code points, not code units; counted only where the difference can matter. */
function textSize(value: unknown, limit: number): number | undefined {
  if (typeof value !== "string") return undefined;
  if (value.length < limit) return value.length;
  if (value.length / 2 > limit) return value.length / 2;
  let count = 0;
  for (const _ of value) count += 1;
  return count;
}

function listSize(value: unknown): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

function objectSize(value: unknown): number | undefined {
  return isObject(value) ? keysOf(value).length : undefined;
}

function requireKeys(keys: readonly string[]): Node {
  return (value, run) => {
    if (!isObject(value)) return true;
    let ok = true;
    for (const key of keys) if (!hasKey(value, key)) ok = issue(run, "is required", pointerTo(key));
    return ok;
  };
}

function areUnique(items: readonly unknown[]): boolean {
  const set = new ValueSet([]);
  for (const item of items) {
    if (set.has(item)) return false;
    set.add(item);
  }
  return true;
}

/** A set of JSON values. */
class ValueSet {
  readonly #plain = new Set<unknown>();
  readonly #nested = new Set<string>();
  constructor(values: readonly unknown[]) {
    for (const value of values) this.add(value);
  }
  has(value: unknown): boolean {
    return isNested(value) ? this.#nested.size > 0 && this.#nested.has(canonical(value)) : this.#plain.has(value);
  }
  add(value: unknown): void {
    if (isNested(value)) this.#nested.add(canonical(value));
    else this.#plain.add(value);
  }
}

function isNested(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** A text that is equal for equal JSON values, whatever the order of their keys. */
function canonical(value: unknown, depth = 0): string {
  if (depth > 512) throw new RangeError("nested too deeply");
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join()}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  const keys = keysOf(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key], depth + 1)}`).join()}}`;
}
