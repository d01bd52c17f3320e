export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The keys that JSON would carry. */
export function keysOf(value: Record<string, unknown>): string[] {
  return Object.keys(value).filter((key) => value[key] !== undefined);
}

/** A JSON pointer of one step, with its leading slash. */
export function pointerTo(key: PropertyKey): string {
  return `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
