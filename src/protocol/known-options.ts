import { DefinitionError } from "./errors.js";

/** Type of an option's value. 1 if the code that reads the option checks it. */
type Kind = 1 | "array" | "boolean" | "function" | "number" | "object" | "string";

/** All known options with the types of their values. */
export type Known<T> = { readonly [K in keyof Required<T>]: Kind };

/**
 * Throws if the options are not an object, or if an option is unknown or of the wrong type. The message suggests the
 * option that was probably meant. `otherNames` maps option names of other SDKs to the names here. Without this check, a
 * program without types would have its option ignored, or fail far from the mistake.
 */
export function assertOptions(
  where: string,
  given: unknown,
  known: object,
  otherNames: { readonly [name: string]: string } = {},
): void {
  if (typeof given !== "object" || given === null) throw new DefinitionError(`${where}: the options must be an object`);
  for (const [name, value] of Object.entries(given)) {
    if (Object.hasOwn(known, name)) {
      assertKind(`${where}: ${name}`, value, (known as Known<Record<string, unknown>>)[name]);
      continue;
    }
    const best = Object.keys(known).sort((one, other) => likeness(name, other) - likeness(name, one))[0] ?? "";
    const guess = likeness(name, best) < 0.5 ? "" : `; did you mean ${best}?`;
    const hint = Object.hasOwn(otherNames, name) ? `; use ${otherNames[name]}` : guess;
    throw new DefinitionError(`${where}: has no option ${name}${hint}`);
  }
}

function assertKind(where: string, value: unknown, kind: unknown): void {
  if (value === undefined || typeof kind !== "string") return;
  const given = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  if (given !== kind) throw new DefinitionError(`${where} must be of type ${kind}, got ${given}`);
}

/** Adds the defaults of limits that are not given. Throws if a limit is unknown, not a number, or below 0. */
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
        `${where}: limits.${name} must be a number of 0 or more, or Infinity for no limit, got ${String(value)}`,
      );
    limits[name as keyof Limits] = value as Limits[keyof Limits];
  }
  return limits;
}

/** Similarity of two names from 0 to 1: the share of their common beginning and end, regardless of case. */
function likeness(one: string, other: string): number {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  let [head, tail] = [0, 0];
  while (head < a.length && a[head] === b[head]) head++;
  while (tail < a.length - head && a.at(~tail) === b.at(~tail)) tail++;
  return (head + tail) / Math.max(a.length, b.length);
}
