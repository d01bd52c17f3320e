import { DefinitionError } from "./errors.js";

/** The kind of value that an option takes; 1 for an option whose reader tells. */
type Kind = 1 | "array" | "boolean" | "function" | "number" | "object" | "string";

/** All options that there are, each with the kind of its value. */
export type Known<T> = { readonly [K in keyof Required<T>]: Kind };

/**
 * Refuses options that are none, that do not exist, and says which may have been meant, or that are of a wrong kind: a
 * program without types would have them passed over in silence, or fail far from here.
 */
export function assertOptions(where: string, given: unknown, known: object): void {
  if (typeof given !== "object" || given === null) throw new DefinitionError(`${where}: the options must be an object`);
  for (const [name, value] of Object.entries(given)) {
    if (Object.hasOwn(known, name)) {
      assertKind(`${where}: ${name}`, value, (known as Known<Record<string, unknown>>)[name]);
      continue;
    }
    const best = Object.keys(known).sort((one, other) => likeness(name, other) - likeness(name, one))[0] ?? "";
    const hint = likeness(name, best) < 0.5 ? "" : `; did you mean ${best}?`;
    throw new DefinitionError(`${where}: has no option ${name}${hint}`);
  }
}

function assertKind(where: string, value: unknown, kind: unknown): void {
  if (value === undefined || typeof kind !== "string") return;
  const given = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  if (given !== kind) throw new DefinitionError(`${where} must be of the kind ${kind}, not ${given}`);
}

/** Fills in the limits that were not given. Refuses a limit that is unknown or no number, and one below 0. */
export function resolveLimits<Limits extends object>(
  where: string,
  given: Partial<Limits> | undefined,
  defaults: Limits,
): Limits {
  const limits = { ...defaults };
  assertOptions(`${where}: limits`, given ?? {}, defaults);
  for (const [name, value] of Object.entries(given ?? {})) {
    if (value === undefined) continue;
    if (typeof value !== "number" || !(value >= 0))
      throw new DefinitionError(
        `${where}: limits.${name} must be a number, 0 or more, or Infinity for no limit, not ${String(value)}`,
      );
    limits[name as keyof Limits] = value as Limits[keyof Limits];
  }
  return limits;
}

/** How much of two names is the same from the beginning and from the end, from 0 to 1. */
function likeness(one: string, other: string): number {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  let [head, tail] = [0, 0];
  while (head < a.length && a[head] === b[head]) head++;
  while (tail < a.length - head && a.at(~tail) === b.at(~tail)) tail++;
  return (head + tail) / Math.max(a.length, b.length);
}
