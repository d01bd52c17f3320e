import { isObject, pointerTo } from "../protocol/json.js";
import { withoutNumbers } from "./keys.js";

/** Place at which two values differ. */
export interface Difference {
  /** JSON pointer. */
  readonly path: string;
  readonly recorded: unknown;
  readonly live: unknown;
}

/** How two values are compared: exactly, or by their shape, which is the types of their members. */
export interface Comparison {
  readonly by?: "value" | "shape" | undefined;
  /** JSON pointers of places that may differ. `*` stands for any segment. */
  readonly ignore?: readonly string[] | undefined;
}

/** Returns the places at which a value differs from a recorded one. Pseudonyms of a kind are equal. */
export function differencesOf(recorded: unknown, live: unknown, comparison: Comparison = {}): readonly Difference[] {
  const found: Difference[] = [];
  const ignored = (comparison.ignore ?? []).map((pointer) => pointer.split("/"));
  const isShape = comparison.by === "shape";
  const compare = (a: unknown, b: unknown, path: string): void => {
    if (isIgnored(path, ignored)) return;
    if (Array.isArray(a) && Array.isArray(b)) {
      if (isShape && a.length > 0)
        for (const [at, each] of b.entries()) compare(a[Math.min(at, a.length - 1)], each, `${path}/${at}`);
      else if (!isShape)
        for (let at = 0; at < Math.max(a.length, b.length); at++) compare(a[at], b[at], `${path}/${at}`);
    } else if (isObject(a) && isObject(b)) {
      for (const name of new Set([...Object.keys(a), ...Object.keys(b)]))
        compare(own(a, name), own(b, name), path + pointerTo(name));
    } else if (isShape ? typeOf(a) !== typeOf(b) : !isSame(a, b)) found.push({ path, recorded: a, live: b });
  };
  compare(recorded, live, "");
  return found;
}

/** Writes differences for a person. */
export function describeDifferences(differences: readonly Difference[], most = 5): string {
  const told = differences
    .slice(0, most)
    .map(({ path, recorded, live }) => `${path || "/"}: recorded ${shown(recorded)}, now ${shown(live)}`);
  const more = differences.length - told.length;
  return [...told, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

const MAX_SHOWN = 120;

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
}

function own(object: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  return typeof a === "string" && typeof b === "string" && a.includes("<") && withoutNumbers(a) === withoutNumbers(b);
}

function typeOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function isIgnored(path: string, ignored: readonly (readonly string[])[]): boolean {
  if (ignored.length === 0 || path === "") return false;
  const segments = path.split("/");
  return ignored.some(
    (each) => each.length <= segments.length && each.every((one, at) => one === "*" || one === segments[at]),
  );
}
