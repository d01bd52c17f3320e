/**
 * Creates the error for a first argument that is not a string. Other SDKs take one object, which a program without types
 * may pass here. `form` is how the method is called.
 */
export function firstArgumentError(form: string, given: unknown): TypeError {
  return new TypeError(`${form}: the first argument must be a string, got ${given === null ? "null" : typeof given}`);
}
