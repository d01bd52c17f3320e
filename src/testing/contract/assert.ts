/** Checks of the contract, so that it runs with every test runner. */

export function ok(value: unknown, text = `expected a value, got ${shown(value)}`): asserts value {
  if (!value) throw new Error(text);
}

export function equal<T>(actual: unknown, expected: T, text?: string): asserts actual is T {
  if (!Object.is(actual, expected)) fail(actual, expected, text);
}

export function notEqual(actual: unknown, other: unknown): void {
  if (Object.is(actual, other)) throw new Error(`expected another value than ${shown(other)}`);
}

/** Compares values that JSON can write, and undefined. */
export function deepEqual<T>(actual: unknown, expected: T, text?: string): asserts actual is T {
  if (shown(actual) !== shown(expected)) fail(actual, expected, text);
}

export function match(text: string, form: RegExp): void {
  if (!form.test(text)) throw new Error(`expected a text like ${form}, got ${shown(text)}`);
}

function fail(actual: unknown, expected: unknown, text = "the values differ"): never {
  throw new Error(`${text}: expected ${shown(expected)}, got ${shown(actual)}`);
}

function shown(value: unknown): string {
  return JSON.stringify(value, (_, part) => (part === undefined ? "undefined" : sorted(part))) ?? "undefined";
}

/** Returns an object with its members in the order of their names. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
