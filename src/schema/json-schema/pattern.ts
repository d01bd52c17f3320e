import { type StepBudget, spend } from "./limits.js";
import { type PatternBranches, type PatternPart, readingCost, readPattern } from "./pattern-syntax.js";

/**
 * State of a matcher. It consumes a character that `fits`, passes an `edge`, or, with neither, leads to both of its
 * successors.
 */
interface State {
  readonly fits: ((code: number) => boolean) | undefined;
  readonly edge: string | undefined;
  next: number;
  readonly other: number;
}

/** Set of states that a text has led to, with the set that follows for each ASCII character and for the end. */
class Front {
  readonly after: (Front | undefined)[] = new Array(129).fill(undefined);
  constructor(readonly states: readonly number[]) {}
}

const EDGE = /^(?:[\^$]|\\[bB])$/;
/** Stands for the character before the first one and after the last one. */
const NONE = -1;
const FINAL = 0;
const MATCHED = new Front([]);
const FAILED = new Front([]);

/**
 * Remaining memory for fronts, shared by the matchers of a schema. When it is used up, fronts are computed each time.
 */
interface FrontMemory {
  left: number;
}

/** Patterns of a schema or form, which share its limits. */
export class Patterns {
  readonly #read = new Map<string, PatternMatcher | string>();
  readonly #memory: FrontMemory = { left: 10_000 };
  #states: number;

  constructor(maxStates: number) {
    this.#states = maxStates;
  }

  /** Returns the matcher for a pattern, or the reason why it cannot be matched. */
  read(source: string): PatternMatcher | string {
    const known = this.#read.get(source);
    if (known !== undefined) return known;
    const tree = readPattern(source, this.#states);
    const read = typeof tree === "string" ? tree : new PatternMatcher(tree.branches, this.#memory);
    const states = typeof tree === "object" ? tree.states : readingCost(source);
    if (states <= this.#states) this.#states -= states;
    this.#read.set(source, read);
    return read;
  }

  /** Patterns read so far that cannot be matched, with the reasons. */
  get skipped(): readonly (readonly [source: string, problem: string])[] {
    return [...this.#read].filter((entry): entry is [string, string] => typeof entry[1] === "string");
  }
}

/** Describes patterns that are not applied. */
export function skippedMessage([first, ...more]: Patterns["skipped"]): string | undefined {
  if (first === undefined) return undefined;
  return `${quotePattern(first[0])}: it ${first[1]}${more.length === 0 ? "" : ` (and ${more.length} more)`}`;
}

/** Quotes a pattern for a message. */
export function quotePattern(source: string): string {
  return `the pattern ${JSON.stringify(source.length > 100 ? `${source.slice(0, 100)}...` : source)}`;
}

/**
 * Matches a pattern in linear time by following all paths at once. The outcome equals that of a `RegExp` with the `u`
 * flag.
 */
export class PatternMatcher {
  readonly #states: State[] = [{ fits: undefined, edge: undefined, next: FINAL, other: FINAL }];
  readonly #start: number;
  readonly #first: Front;
  readonly #fronts = new Map<string, Front>();
  readonly #memory: FrontMemory;
  /** True if the pattern contains word boundaries, which also depend on the preceding character. */
  readonly #words: boolean;
  readonly #anchored: boolean;
  /** Number of the step in which each state was last visited. */
  readonly #visited: Float64Array;
  #turn = 0;
  readonly #tests = new Map<string, (code: number) => boolean>();

  constructor(branches: PatternBranches, memory: FrontMemory) {
    this.#start = this.#addBranches(branches, FINAL);
    this.#first = new Front([this.#start]);
    this.#memory = memory;
    this.#words = this.#states.some(({ edge }) => edge !== undefined && edge.length > 1);
    this.#anchored = this.#states[this.#start]?.edge === "^";
    this.#visited = new Float64Array(this.#states.length);
  }

  /** True if any part of a text matches. */
  test(text: string, budget: StepBudget): boolean {
    let front = this.#first;
    let before = NONE;
    for (let at = 0; ; ) {
      let code = at < text.length ? text.charCodeAt(at) : NONE;
      if (code >= 0xd800) code = text.codePointAt(at)!;
      const after = (code < 128 ? front.after[code + 1] : undefined) ?? this.#advance(front, before, code, budget);
      if (after === MATCHED || after === FAILED) {
        spend(budget, at >> 2);
        return after === MATCHED;
      }
      front = after;
      before = code;
      at += code > 0xffff ? 2 : 1;
    }
  }

  /** Returns the front after a character or the end, or the verdict. */
  #advance(front: Front, before: number, code: number, budget: StepBudget): Front {
    const found: number[] = [];
    const stack = front.states.slice();
    this.#turn += 1;
    for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
      if (this.#visited[id] === this.#turn) continue;
      this.#visited[id] = this.#turn;
      spend(budget, 1);
      const { fits, edge, next, other } = this.#states[id]!;
      if (id === FINAL) return remember(front, code, MATCHED);
      if (fits !== undefined) {
        if (code !== NONE && fits(code)) found.push(next);
      } else if (edge === undefined) stack.push(next, other);
      else if (holds(edge, before, code)) stack.push(next);
    }
    if (!this.#anchored) found.push(this.#start);
    if (code === NONE || found.length === 0) return remember(front, code, FAILED);
    const name = found.join() + (this.#words && isWord(code));
    const known = this.#fronts.get(name);
    if (known !== undefined) return remember(front, code, known);
    const after = new Front(found);
    if (this.#memory.left <= 0) {
      spend(budget, 4);
      return after;
    }
    this.#memory.left -= 30 + found.length;
    this.#fronts.set(name, after);
    return remember(front, code, after);
  }

  /** Adds the states of alternatives that continue with `next`. Returns their first state. */
  #addBranches(branches: PatternBranches, next: number): number {
    const starts = branches.map((parts) => parts.reduceRight((then, part) => this.#addPart(part, then), next));
    return starts.reduceRight((other, start) => this.#add({ next: start, other }));
  }

  #addPart(part: PatternPart, next: number): number {
    let start = next;
    let { min } = part;
    if (part.max === Number.POSITIVE_INFINITY) {
      const loop = this.#add({ next, other: next });
      const body = this.#addOnce(part, loop);
      this.#states[loop]!.next = body;
      start = min === 0 ? loop : body;
      min -= 1;
    } else
      for (let more = min; more < part.max; more += 1)
        start = this.#add({ next: this.#addOnce(part, start), other: next });
    for (; min > 0; min -= 1) start = this.#addOnce(part, start);
    return start;
  }

  #addOnce({ token, branches }: PatternPart, next: number): number {
    if (branches !== undefined) return this.#addBranches(branches, next);
    if (EDGE.test(token)) return this.#add({ edge: token, next });
    const fits = this.#tests.get(token) ?? toTest(token);
    this.#tests.set(token, fits);
    return this.#add({ fits, next });
  }

  #add({ fits, edge, next, other = next }: Partial<State> & { next: number }): number {
    return this.#states.push({ fits, edge, next, other }) - 1;
  }
}

function remember(front: Front, code: number, after: Front): Front {
  if (code < 128) front.after[code + 1] = after;
  return after;
}

function holds(edge: string, before: number, code: number): boolean {
  if (edge === "^") return before === NONE;
  if (edge === "$") return code === NONE;
  return (isWord(before) !== isWord(code)) === (edge === "\\b");
}

function isWord(code: number): boolean {
  return code !== NONE && /\w/.test(String.fromCodePoint(code));
}

/** Returns the predicate for a token, which is a character or a class of characters. */
function toTest(token: string): (code: number) => boolean {
  const literal = /^\\?([^\\.[\da-zA-Z])$|^([^\\.[])$/su.exec(token);
  if (literal !== null) {
    const only = (literal[1] ?? literal[2]!).codePointAt(0);
    return (code) => code === only;
  }
  const pattern = new RegExp(`^(?:${token})$`, "u");
  return (code) => pattern.test(String.fromCodePoint(code));
}
