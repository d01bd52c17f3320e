/**
 * Implements `instanceof`, as a class's own `Symbol.hasInstance`: an instance of the same class of another copy of the package
 * counts. A program loads two copies when two of its dependencies need different versions, or when one of them is bundled. The
 * text in `bowline` tells the class, since bundlers rename classes. A class without such a text of its own, as a user derives
 * one, has ordinary instances only.
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
