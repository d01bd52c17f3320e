/**
 * Implements `instanceof` as `Symbol.hasInstance` of a class. An instance of the same class from another copy of the
 * package counts. A program loads two copies if two of its dependencies need different versions, or if one of them is
 * bundled. The static member `bowline` identifies the class, since bundlers rename classes. A class without its own
 * `bowline`, such as a subclass of a user, has ordinary instances only.
 */
export function isInstance(this: object, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (ordinary.call(this, value)) return true;
  let type: unknown = value.constructor;
  // Returns early for plain objects, since each result of a tool is tested here.
  if (type === Object || !Object.hasOwn(this, "bowline")) return false;
  const { bowline } = this as Branded;
  for (; typeof type === "function"; type = Object.getPrototypeOf(type)) {
    if ((type as Branded).bowline === bowline) return true;
  }
  return false;
}

/** What `instanceof` does for a class without a `Symbol.hasInstance` of its own. */
export const ordinary = Function.prototype[Symbol.hasInstance];

interface Branded {
  readonly bowline?: string;
}

/** Mark of data of the authorization gate. All copies of the package share it. */
const KEPT = Symbol.for("bowline.kept-auth");

/** Returns data of the gate that was kept for a later run, without its token. The mark on it is not enumerable. */
export function toKeptAuth(auth: object): object {
  return Object.defineProperty({ ...auth }, KEPT, { value: true });
}

/** True if data of the gate was kept without its token. */
export function isKeptAuth(auth: object): boolean {
  return KEPT in auth;
}
