/**
 * Implements `instanceof` as `Symbol.hasInstance` of a class. An instance of the same class from another copy of the
 * package counts. A program loads two copies if two of its dependencies need different versions, or if one of them is
 * bundled. The static member `bowline` identifies the class, since bundlers rename classes. A class without its own
 * `bowline`, such as a subclass of a user, has ordinary instances only.
 */
export function isInstance(this: object, value: unknown): boolean {
  if (Function.prototype[Symbol.hasInstance].call(this, value)) return true;
  const { bowline } = this as Branded;
  let type: unknown = Object.hasOwn(this, "bowline") ? (value as object | undefined)?.constructor : undefined;
  for (; typeof type === "function"; type = Object.getPrototypeOf(type)) {
    if ((type as Branded).bowline === bowline) return true;
  }
  return false;
}

interface Branded {
  readonly bowline?: string;
}
