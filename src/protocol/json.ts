/** Mistake in a value. `path` is a JSON pointer. Neither member contains values from the input. */
export interface Problem {
  readonly path: string;
  readonly expected: string;
}

/** Compiled check. Returns undefined if the value is valid. */
export type Check = (value: unknown) => Problem | undefined;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** Returns the keys whose values are not undefined, which are the keys that JSON would contain. */
export function keysOf(value: Record<string, unknown>): string[] {
  return Object.keys(value).filter((key) => value[key] !== undefined);
}

/** Returns a copy of an object without its undefined members. */
export function defined<T extends object>(members: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}

/** Returns a JSON pointer of one segment, with its leading slash. */
export function pointerTo(key: PropertyKey): string {
  return `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
