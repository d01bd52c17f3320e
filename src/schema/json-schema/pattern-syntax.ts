/** Part of a pattern with its repetition: a group of alternatives, or a token for a character or an edge. */
export interface PatternPart {
  readonly token: string;
  readonly branches: PatternBranches | undefined;
  readonly min: number;
  readonly max: number;
}

/** Alternatives, each a sequence of parts. */
export type PatternBranches = readonly (readonly PatternPart[])[];

const MAX_NESTING = 200;
export const NO_PATTERN = "is not a valid regular expression";
const TOO_LARGE = "needs too many states (limits.maxPatternStates)";
/** Cost in states of a property class. The engine takes about 50 us to read one. */
const PROPERTY_COST = 20;
const TOKEN =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|[pPu]\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|.)|\[(?:\\.|[^\]\\])*\]|\(\?(?:<?[=!]|<[^>]*>|[a-z-]*:)|./suy;
const QUANTIFIER = /([*+?]|\{(\d+)(,?)(\d*)\})\??/y;

/** Parsed pattern, with an upper bound of the states of its matcher. */
export interface PatternTree {
  readonly branches: PatternBranches;
  readonly states: number;
}

/** Parses a pattern. Returns a reason if it cannot be matched in linear time with at most `maxStates` states. */
export function readPattern(source: string, maxStates: number): PatternTree | string {
  const cost = readingCost(source);
  if (cost > maxStates) return TOO_LARGE;
  try {
    new RegExp(source, "u");
  } catch {
    return NO_PATTERN;
  }
  const reader = new PatternReader(source);
  const branches = reader.readBranches(0);
  if (reader.problem !== undefined) return reader.problem;
  const states = cost + statesOf(branches);
  // Infinitely many states repeated 0 times give NaN, which counts as too large.
  return states <= maxStates ? { branches, states } : TOO_LARGE;
}

/** Returns the cost in states of parsing a pattern, whether or not it can be matched. */
export function readingCost(source: string): number {
  const properties = source.split("\\p{").length + source.split("\\P{").length - 2;
  return PROPERTY_COST * properties + (source.length >> 3);
}

/** Returns an upper bound of the states of a matcher for these alternatives. */
function statesOf(branches: PatternBranches): number {
  let states = branches.length;
  for (const { branches: inner, min, max } of branches.flat()) {
    const once = inner === undefined ? 1 : statesOf(inner);
    states += max === Number.POSITIVE_INFINITY ? once * Math.max(min, 1) + 1 : once * min + (once + 1) * (max - min);
  }
  return states;
}

/** Parses a text that is known to be a regular expression. */
class PatternReader {
  /** Reason why the pattern cannot be matched. */
  problem: string | undefined;
  #at = 0;
  constructor(readonly source: string) {}

  /** Reads alternatives up to the end or the closing parenthesis of the group. */
  readBranches(depth: number): PatternBranches {
    const branches: PatternPart[][] = [[]];
    if (depth > MAX_NESTING) this.problem = `nests groups more than ${MAX_NESTING} deep`;
    for (
      let token = this.#next(TOKEN)?.[0];
      token !== undefined && token !== ")" && this.problem === undefined;
      token = this.#next(TOKEN)?.[0]
    ) {
      if (token === "|") branches.push([]);
      else branches.at(-1)!.push(this.#readPart(token, depth));
    }
    return branches;
  }

  #readPart(token: string, depth: number): PatternPart {
    if (/^\(\?(?:<?[=!]|[a-z-]+:)|^\\[1-9k]/.test(token)) {
      this.problem = "uses a lookaround, a backreference or flags, which cannot be matched in linear time";
    }
    const branches = token.startsWith("(") ? this.readBranches(depth + 1) : undefined;
    const [, sign, least = "", comma, most = ""] = this.#next(QUANTIFIER) ?? [];
    if (sign === undefined) return { token, branches, min: 1, max: 1 };
    const min = sign === "+" ? 1 : Number(least);
    const max = sign === "?" ? 1 : comma === "" ? min : Number(most || Number.POSITIVE_INFINITY);
    return { token, branches, min, max };
  }

  #next(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.source) ?? undefined;
    if (found !== undefined) this.#at = pattern.lastIndex;
    return found;
  }
}
