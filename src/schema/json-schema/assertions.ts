import { isObject, keysOf, pointerTo } from "../../protocol/json.js";
import { type StepBudget, spend } from "./limits.js";
import { multiplesOf } from "./multiple-of.js";
import type { Patterns } from "./pattern.js";
import type { Node, Run } from "./types.js";

/** Cost in steps of a lookup of a missing property. */
export const MISS = 4;

const TYPES: Record<string, (value: unknown) => boolean> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === "string",
  array: (value) => Array.isArray(value),
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
};

/** Creates an assertion from the value of its keyword, which is known to be valid. */
type Assertion<Limit> = (limit: Limit, patterns: Patterns) => Node;

/** Keywords that examine the value alone. */
const KEYWORDS = {
  type: typeNode,
  const: (limit: unknown): Node => oneOfValues([limit]),
  enum: oneOfValues,
  minimum: numeric((value, limit) => value >= limit, "at least"),
  maximum: numeric((value, limit) => value <= limit, "at most"),
  exclusiveMinimum: numeric((value, limit) => value > limit, "above"),
  exclusiveMaximum: numeric((value, limit) => value < limit, "below"),
  multipleOf: (limit: number): Node => {
    const fits = multiplesOf(limit);
    return (value, run) =>
      typeof value !== "number" || fits(value, run) || issue(run, `must be a multiple of ${limit}`);
  },
  minLength: sized(textSize, true, ["character", "characters"]),
  maxLength: sized(textSize, false, ["character", "characters"]),
  minItems: sized(listSize, true, ["item", "items"]),
  maxItems: sized(listSize, false, ["item", "items"]),
  minProperties: sized(objectSize, true, ["property", "properties"]),
  maxProperties: sized(objectSize, false, ["property", "properties"]),
  pattern: (limit: string, patterns: Patterns): Node => {
    const matcher = patterns.read(limit);
    if (typeof matcher === "string") return doubt;
    return (value, run) => typeof value !== "string" || matcher.test(value, run) || issue(run, `must match ${limit}`);
  },
  uniqueItems: (limit: boolean): Node => {
    return (value, run) =>
      !limit || !Array.isArray(value) || areUnique(value, run) || issue(run, "must not repeat an item");
  },
  required: requireKeys,
  dependentRequired: (limit: Record<string, readonly string[]>): Node => {
    const needs = Object.entries(limit).map(([key, keys]) => [key, requireKeys(keys)] as const);
    return (value, run, seen) => {
      spend(run, needs.length);
      return !isObject(value) || needs.every(([key, node]) => !hasKey(value, key) || node(value, run, seen));
    };
  },
};

/** Keywords by name. */
export const ASSERTIONS = KEYWORDS as { readonly [keyword: string]: Assertion<never> };

/** Reports an issue at the current value, or at a member of it. */
export function issue(run: Run, message: string, key?: string): false {
  if (run.quiet === 0 && run.issues.length < run.limits.maxIssues) {
    run.issues.push({ path: key === undefined ? "" : pointerTo(key), message });
  }
  return false;
}

/** True if an object has a property that JSON would contain. */
export function hasKey(value: Record<string, unknown>, key: string): boolean {
  return value[key] !== undefined && Object.hasOwn(value, key);
}

/** Accepts a text for a pattern that is not applied, and counts it as a doubt. */
export function doubt(value: unknown, run: Run): boolean {
  if (typeof value === "string") run.doubts += 1;
  return true;
}

function typeNode(limit: string | readonly string[]): Node {
  const names = [...new Set(typeof limit === "string" ? [limit] : limit)];
  const tests = names.map((name) => TYPES[name]!);
  const [only] = tests;
  const message = `must be ${names.map((name) => `${/^[aio]/.test(name) ? "an" : "a"} ${name}`).join(" or ")}`;
  if (tests.length === 1) return (value, run) => only!(value) || issue(run, message);
  return (value, run) => tests.some((test) => test(value)) || issue(run, message);
}

function oneOfValues(values: readonly unknown[]): Node {
  const set = new ValueSet();
  for (const value of values) set.add(value);
  const list = values.length > 50 ? undefined : values.map((value) => canonical(value)).join(", ");
  const isShort = list !== undefined && list.length <= 200;
  const shown = !isShort ? "one of the allowed values" : values.length === 1 ? list : `one of ${list}`;
  return (value, run) => set.has(value, run) || issue(run, `must be ${shown}`);
}

function numeric(test: (value: number, limit: number) => boolean, words: string): Assertion<number> {
  return (limit) => (value, run) =>
    typeof value !== "number" || test(value, limit) || issue(run, `must be ${words} ${limit}`);
}

/** Creates a bound on a size. `size` returns undefined for a value that the keyword does not apply to. */
function sized(
  size: (value: unknown, limit: number, run: Run) => number | undefined,
  atLeast: boolean,
  what: readonly [string, string],
): Assertion<number> {
  return (limit) => {
    const message = `must have ${atLeast ? "at least" : "at most"} ${limit} ${limit === 1 ? what[0] : what[1]}`;
    return (value, run) => {
      const count = size(value, limit, run);
      return count === undefined || (atLeast ? count >= limit : count <= limit) || issue(run, message);
    };
  };
}

/**
 * Returns a number that compares with `limit` as the number of code points does. Counts code points only if the number
 * of code units does not settle the comparison. Returns undefined for a value that is not a string.
 */
function textSize(value: unknown, limit: number, run: Run): number | undefined {
  if (typeof value !== "string") return undefined;
  if (value.length < limit) return value.length;
  if (value.length / 2 > limit) return value.length / 2;
  spend(run, value.length >> 3);
  let count = 0;
  for (const _ of value) count += 1;
  return count;
}

function listSize(value: unknown): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

function objectSize(value: unknown, _limit: number, run: Run): number | undefined {
  if (!isObject(value)) return undefined;
  const count = keysOf(value).length;
  spend(run, count * 4);
  return count;
}

function requireKeys(keys: readonly string[]): Node {
  return (value, run) => {
    if (!isObject(value)) return true;
    run.left -= keys.length;
    let missing = 0;
    for (const key of keys) {
      if (hasKey(value, key)) continue;
      missing += 1;
      issue(run, "is required", key);
    }
    run.left -= missing * MISS;
    return missing === 0;
  };
}

function areUnique(items: readonly unknown[], run: Run): boolean {
  const set = new ValueSet();
  return items.every((item) => set.add(item, run));
}

/** Set of JSON values. */
class ValueSet {
  readonly #plain = new Set<unknown>();
  /**
   * Lists and objects, serialized. Numbers are serialized too, since a peer could choose numbers whose hashes collide
   * in the engine.
   */
  readonly #written = new Set<string>();

  has(value: unknown, budget: StepBudget): boolean {
    if (typeof value === "string") spend(budget, value.length >> 6);
    if (typeof value === "number") return this.#written.size > 0 && this.#written.has(`=${value}`);
    if (!isNested(value)) return this.#plain.has(value);
    return this.#written.size > 0 && this.#written.has(canonical(value, budget));
  }

  /** Adds a value. Returns true if it is new. */
  add(value: unknown, budget?: StepBudget): boolean {
    if (budget !== undefined) spend(budget, 3);
    if (typeof value === "number") return addTo(this.#written, `=${value}`);
    return isNested(value) ? addTo(this.#written, canonical(value, budget)) : addTo(this.#plain, value);
  }
}

/** Adds a value. Returns true if it is new. */
function addTo(set: Set<unknown>, value: unknown): boolean {
  const before = set.size;
  return set.add(value).size > before;
}

function isNested(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** Serializes a value so that equal JSON values have equal texts, whatever the order of their keys. */
function canonical(value: unknown, budget: StepBudget = { left: Number.POSITIVE_INFINITY }, depth = 0): string {
  if (depth > 512) throw new RangeError("nested too deeply");
  const again = (part: unknown) => canonical(part, budget, depth + 1);
  let text: string;
  if (Array.isArray(value)) text = `[${value.map(again).join()}]`;
  else if (!isObject(value)) text = JSON.stringify(value) ?? "null";
  else {
    const keys = keysOf(value).sort();
    text = `{${keys.map((key) => `${JSON.stringify(key)}:${again(value[key])}`).join()}}`;
  }
  spend(budget, 4 + (text.length >> 3));
  return text;
}
