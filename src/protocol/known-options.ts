import { DefinitionError } from "./errors.js";

/** The names of all options that there are. */
export type Known<T> = { readonly [K in keyof Required<T>]: 1 };

/**
 * Refuses options that are none, or that do not exist, and says which may have been meant: a program without types would
 * have them passed over in silence.
 */
export function assertOptions(where: string, given: unknown, known: object): void {
  if (typeof given !== "object" || given === null) throw new DefinitionError(`${where}: the options must be an object`);
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name)) continue;
    const best = Object.keys(known).sort((one, other) => likeness(name, other) - likeness(name, one))[0] ?? "";
    const hint = likeness(name, best) < 0.5 ? "" : `; did you mean ${best}?`;
    throw new DefinitionError(`${where}: has no option ${name}${hint}`);
  }
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
        `${where}: limits.${name} must be a number, 0 or more, or Infinity for no limit, not ${value}`,
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
