/** What is wrong with a value, and where: `path` is a JSON pointer without values, `expected` never echoes input. */
export interface Problem {
  readonly path: string;
  readonly expected: string;
}

/** A compiled check: undefined when the value fits. */
export type Check = (value: unknown) => Problem | undefined;
