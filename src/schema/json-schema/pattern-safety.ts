/** One step of a pattern: a character, a group of alternatives, or (`edge`) something that takes no character. */
interface Step {
  readonly kind: "char" | "group" | "edge";
  readonly test: RegExp | undefined;
  readonly branches: readonly (readonly Step[])[];
  isOptional: boolean;
  isEndless: boolean;
}

const MAX_LENGTH = 2000;
const TOKEN =
  /\\(?:[pPu]\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|k<[^>]*>|.)|\[(?:\\.|[^\]\\])*\]|\(\?(?:[:=!]|<[=!]|<[^>]*>)|./suy;
const QUANTIFIER = /(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??/y;
/** The characters that overlaps are looked for among. */
const SAMPLES = [...Array.from({ length: 95 }, (_, code) => String.fromCharCode(code + 32)), "\t", "\n", "é", "一"];

/**
 * Whether a pattern is free of the shapes that make matching take exponential time: a repeated group that can end in a
 * repetition of what it can begin with, as in `(a+)+`, or whose alternatives overlap, as in `(\w|\d)*`. For patterns
 * of strangers: it errs on the side of refusal, and does not look for polynomial cost.
 */
export function isSafePattern(source: string): boolean {
  return (
    source.length <= MAX_LENGTH && new PatternReader(source).readBranches().every((steps) => steps.every(isSafeStep))
  );
}

function isSafeStep(step: Step): boolean {
  if (!step.branches.every((steps) => steps.every(isSafeStep))) return false;
  if (!step.isEndless || step.kind !== "group") return true;
  return !SAMPLES.some((char) => isAmbiguous(step.branches, char));
}

function isAmbiguous(branches: Step["branches"], char: string): boolean {
  const starting = branches.filter((steps) => starts(steps, char));
  if (starting.length === 0) return false;
  if (starting.length > 1 && starting.some((steps) => steps.length === 1 && steps[0]!.kind === "char")) return true;
  return branches.some((steps) => endsRepeating(steps, char));
}

/** Whether a sequence can begin with a character. */
function starts(steps: readonly Step[], char: string): boolean {
  for (const step of steps) {
    if (step.test?.test(char) === true || (step.kind === "group" && step.branches.some((inner) => starts(inner, char))))
      return true;
    if (!canBeEmpty(step)) return false;
  }
  return false;
}

/** Whether a sequence can end within a repetition of a character, or in that and more of the same character. */
function endsRepeating(steps: readonly Step[], char: string): boolean {
  for (const step of steps.toReversed()) {
    if (step.isEndless && (step.test?.test(char) === true || step.branches.some((inner) => starts(inner, char))))
      return true;
    if (step.kind === "group" && step.branches.some((inner) => endsRepeating(inner, char))) return true;
    if (!canBeEmpty(step) && !starts([step], char)) return false;
  }
  return false;
}

function canBeEmpty(step: Step): boolean {
  return (
    step.isOptional ||
    step.kind === "edge" ||
    (step.kind === "group" && step.branches.some((inner) => inner.every(canBeEmpty)))
  );
}

/** Reads a pattern that is known to be a valid regular expression. */
class PatternReader {
  #at = 0;
  constructor(readonly source: string) {}

  /** The alternatives up to the end, or to the bracket that closes the group. */
  readBranches(): Step[][] {
    const branches: Step[][] = [[]];
    for (let token = this.#next(TOKEN); token !== undefined && token[0] !== ")"; token = this.#next(TOKEN)) {
      if (token[0] === "|") branches.push([]);
      else branches.at(-1)!.push(this.#readStep(token[0]));
    }
    return branches;
  }

  #readStep(token: string): Step {
    const isGroup = token.startsWith("(");
    const isEdge = /^(?:[\^$]|\\[bB]|\(\?<?[=!])$/.test(token);
    const step: Step = {
      kind: isEdge ? "edge" : isGroup ? "group" : "char",
      test: isGroup || isEdge ? undefined : toTest(token),
      branches: isGroup ? this.readBranches() : [],
      isOptional: false,
      isEndless: false,
    };
    const quantifier = this.#next(QUANTIFIER);
    if (quantifier === undefined) return step;
    const [text, least, comma, most] = quantifier;
    step.isOptional = /^[*?]/.test(text) || least === "0";
    step.isEndless = /^[*+]/.test(text) || (comma !== undefined && most === "");
    return step;
  }

  #next(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.source) ?? undefined;
    if (found !== undefined) this.#at = pattern.lastIndex;
    return found;
  }
}

/** What a token matches; a back reference may match anything. */
function toTest(token: string): RegExp {
  return /^\\(?:[1-9k])/.test(token) ? /^/ : new RegExp(`^(?:${token})$`, "u");
}
