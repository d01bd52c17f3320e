import { DefinitionError } from "./errors.js";

/** The names of all options that there are. */
export type Known<T> = { readonly [K in keyof Required<T>]: 1 };

/**
 * Refuses options that are none, or that do not exist, and says which may have been meant: a program without types would
 * have them passed over in silence.
 */
export function assertOptions(where: string, given: unknown, known: { readonly [name: string]: 1 }): void {
  if (typeof given !== "object" || given === null) throw new DefinitionError(`${where}: the options must be an object`);
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  const [meant] = Object.keys(known)
    .map((name) => ({ name, distance: distanceOf(unknown.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance }) => distance <= Math.max(2, unknown.length / 3))
    .sort((one, other) => one.distance - other.distance);
  const hint = meant === undefined ? "" : `; did you mean ${meant.name}?`;
  throw new DefinitionError(`${where}: has no option ${unknown}${hint}`);
}

/** How many letters have to be put in, taken out or changed to make one text of the other. */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j++) {
      const changed = (row[j] ?? 0) + (one[i] === other[j] ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
