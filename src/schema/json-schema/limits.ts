/** Limits of a JSON Schema and of a check with it. */
export interface SchemaLimits {
  /**
   * Maximum nesting depth of schemas.
   * @default 64
   */
  readonly maxDepth: number;
  /**
   * Maximum number of subschemas.
   * @default 10_000
   */
  readonly maxSubschemas: number;
  /**
   * Maximum number of states of all patterns of a schema, with counted repetitions expanded. A `\p{...}` counts as 20
   * states. Every eight characters of a pattern, which may be a class, count as one.
   * @default 10_000
   */
  readonly maxPatternStates: number;
  /**
   * Maximum depth of references that a check follows.
   * @default 512
   */
  readonly maxRefDepth: number;
  /**
   * Maximum number of steps of a check. Each schema, keyword, member and character that is examined costs steps.
   * @default 4_000_000
   */
  readonly maxSteps: number;
  /**
   * Maximum number of issues that a check reports.
   * @default 32
   */
  readonly maxIssues: number;
}

/** Default limits. */
export const SCHEMA_LIMITS: SchemaLimits = {
  maxDepth: 64,
  maxSubschemas: 10_000,
  maxPatternStates: 10_000,
  maxRefDepth: 512,
  maxSteps: 4_000_000,
  maxIssues: 32,
};

/**
 * Remaining steps of a check. Work that the value or a reference can repeat takes them by `spend`. Work that the schema
 * alone bounds, such as the keywords of one schema, is only subtracted, so that most checks never call `spend`. The next
 * call of it, or the end of the check, finds what was subtracted.
 */
export interface StepBudget {
  left: number;
}

/**
 * Takes steps from a budget. Throws a `RangeError` when it is exhausted, since `not` would turn a plain failure into a
 * pass.
 */
export function spend(budget: StepBudget, steps: number): void {
  budget.left -= steps;
  if (budget.left < 0) throw new RangeError("the check takes too many steps");
}

/** Describes a check that was aborted, with its remedy. */
export function spentMessage(maxSteps: number, remedy = "raise limits.maxSteps of jsonSchemaValidator"): string {
  return `takes more than ${maxSteps} steps to check; ${remedy}`;
}
