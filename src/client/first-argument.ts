/**
 * Throws unless the first argument of a method is a string. Other SDKs take one object, which a program without types
 * may pass here. `form` is how the method is called.
 */
export function assertFirstIsString(form: string, given: unknown): asserts given is string {
  if (typeof given === "string") return;
  throw new TypeError(`${form}: the first argument must be a string, got ${given === null ? "null" : typeof given}`);
}
