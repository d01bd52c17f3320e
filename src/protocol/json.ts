/** Describes a mistake in a value: `path` is a JSON pointer without values, `expected` never echoes input. */
export interface Problem {
  readonly path: string;
  readonly expected: string;
}

/** A compiled check: undefined when the value fits. */
export type Check = (value: unknown) => Problem | undefined;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** The keys that JSON would carry. */
export function keysOf(value: Record<string, unknown>): string[] {
  return Object.keys(value).filter((key) => value[key] !== undefined);
}

/** An object without those of its members that are undefined. */
export function defined<T extends object>(members: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}

/** A JSON pointer of one step, with its leading slash. */
export function pointerTo(key: PropertyKey): string {
  return `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
