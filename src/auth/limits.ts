import { DefinitionError } from "../protocol/errors.js";
import { assertOptions } from "../protocol/known-options.js";

/** The limits that an author gives over the defaults. Throws for a name that there is not, and for what is no number. */
export function toLimits<T extends object>(where: string, defaults: T, given: Partial<T> = {}): T {
  assertOptions(`${where}: limits`, given, defaults as { readonly [name: string]: 1 });
  const stated = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name, value] of stated) {
    if (typeof value !== "number" || !(value >= 0))
      throw new DefinitionError(`${where}: limits.${name} has to be a number, and not below 0`);
  }
  return { ...defaults, ...Object.fromEntries(stated) };
}
