/** The bounds of a JSON Schema, and of one check by it. */
export interface SchemaLimits {
  /** The depth to which schemas nest. @default 64 */
  readonly maxDepth: number;
  /** The number of subschemas. @default 10_000 */
  readonly maxSubschemas: number;
  /**
   * The states of all patterns of a schema, counted repetitions written out. A `\p{...}` counts as 20, and eight characters
   * of a pattern, which may be a class, as one.
   * @default 10_000
   */
  readonly maxPatternStates: number;
  /** The depth to which a check follows references. @default 512 */
  readonly maxRefDepth: number;
  /** The steps of one check: each schema, keyword, member and character that is looked at. @default 4_000_000 */
  readonly maxSteps: number;
  /** The number of issues that a check reports. @default 32 */
  readonly maxIssues: number;
}

export const SCHEMA_LIMITS: SchemaLimits = {
  maxDepth: 64,
  maxSubschemas: 10_000,
  maxPatternStates: 10_000,
  maxRefDepth: 512,
  maxSteps: 4_000_000,
  maxIssues: 32,
};

/** The steps that a check may still take. */
export interface StepBudget {
  left: number;
}

/** Takes steps from a budget. Throws a `RangeError` when it is spent: a mere failure would turn into a pass under `not`. */
export function spend(budget: StepBudget, steps: number): void {
  budget.left -= steps;
  if (budget.left < 0) throw new RangeError("too much to check");
}

/** The words for a check that was given up. */
export function spentMessage(maxSteps: number): string {
  return `takes more than ${maxSteps} steps to check, so the check was given up; limits.maxSteps of createValidator raises that`;
}
