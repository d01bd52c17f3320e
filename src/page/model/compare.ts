import type { Span } from "../../recording/spans.js";
import { type FrameRow, framesOf } from "./frames.js";
import type { Run } from "./run.js";
import { labelOf } from "./text.js";

/** Call of a run. */
export interface Side {
  readonly run: Run;
  readonly span: Span;
}

/** Line of a comparison: the frames of both sides that mean the same, or the one that only one side has. */
export interface ComparedRow {
  readonly a: FrameRow | undefined;
  readonly b: FrameRow | undefined;
  /** Undefined where only one side has something. */
  readonly isSame: boolean | undefined;
}

/** Aligns the frames of two calls by what they mean, whatever time they took. */
export function compareFrames(a: Side, b: Side): readonly ComparedRow[] {
  const messagesOf = ({ run, span }: Side) => framesOf(run, span).filter(({ d }) => d !== undefined);
  return align(messagesOf(a), messagesOf(b), meaningOf).map(([one, other]) => ({
    a: one,
    b: other,
    isSame: one === undefined || other === undefined ? undefined : contentOf(one) === contentOf(other),
  }));
}

/** True if both calls have the same result. */
export function hasSameResult(a: Side, b: Side): boolean {
  const [one, other] = [a, b].map(({ run, span }) =>
    framesOf(run, span).findLast(({ kind }) => kind === "result" || kind === "error"),
  );
  return one !== undefined && other !== undefined && one.kind === other.kind && contentOf(one) === contentOf(other);
}

/**
 * What a frame means for a caller, so that both ways of asking look alike: a question is a question whether it is a
 * request or a result, and an answer is an answer whether it is a response or a new request.
 */
function meaningOf({ kind, d, body, text }: FrameRow): string {
  if (kind === "request" && isObjectWith(body, "inputResponses")) return "answer";
  if (kind === "asks" || kind === "answer" || kind === "progress") return kind;
  return kind === "request" || kind === "notification" ? `${d} ${text.split(" ", 1)[0]}` : `${d} ${kind}`;
}

function isObjectWith(value: unknown, name: string): boolean {
  return typeof value === "object" && value !== null && name in value;
}

function contentOf({ body, kind, text }: FrameRow): string {
  if (isObjectWith(body, "inputResponses")) {
    const answers = Object.values((body as { readonly inputResponses: object }).inputResponses ?? {});
    return answers.map(stable).join();
  }
  return kind === "asks" || kind === "progress" ? text : stable(body);
}

/** Serializes a value with its members in order, without tokens and times that differ between runs. */
function stable(value: unknown): string {
  return JSON.stringify(value, (key, one) => {
    if (key === "progressToken" || key === "requestId") return undefined;
    if (typeof one !== "object" || one === null || Array.isArray(one)) return one;
    return Object.fromEntries(Object.entries(one).sort(([x], [y]) => (x < y ? -1 : 1)));
  });
}

/** Longest lists that are aligned exactly. Longer ones are paired in their order, so that a comparison never takes long. */
const MAX_EXACT = 500;

/** Aligns two lists so that as many elements as possible with equal keys are beside each other. */
function align<T>(
  a: readonly T[],
  b: readonly T[],
  keyOf: (one: T) => string,
): (readonly [T | undefined, T | undefined])[] {
  if (a.length > MAX_EXACT || b.length > MAX_EXACT)
    return Array.from({ length: Math.max(a.length, b.length) }, (_, index) => [a[index], b[index]] as const);
  const [keysA, keysB] = [a.map(keyOf), b.map(keyOf)];
  const width = b.length + 1;
  // Length of the longest common part from each pair of places on.
  const common = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] as number;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] = keysA[i] === keysB[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const pairs: (readonly [T | undefined, T | undefined])[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && keysA[i] === keysB[j]) pairs.push([a[i++], b[j++]]);
    else if (j === b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) pairs.push([a[i++], undefined]);
    else pairs.push([undefined, b[j++]]);
  }
  return pairs;
}

/** Call of one run, with the same call of another. */
export interface ComparedCall {
  readonly label: string;
  readonly a: Span | undefined;
  readonly b: Span | undefined;
  readonly difference: "same" | "result differs" | "state differs" | "only here" | "only there";
}

/** Compares two runs by their calls. */
export function compareRuns(a: Run, b: Run): readonly ComparedCall[] {
  const callsOf = (run: Run) => run.spans.filter(({ lane }) => lane === "calls" || lane === "tasks");
  return align(callsOf(a), callsOf(b), labelOf).map(([one, other]) => ({
    label: labelOf((one ?? other) as Span),
    a: one,
    b: other,
    difference: differenceOf(a, one, b, other),
  }));
}

function differenceOf(a: Run, one: Span | undefined, b: Run, other: Span | undefined): ComparedCall["difference"] {
  if (one === undefined || other === undefined) return one === undefined ? "only there" : "only here";
  if (one.state !== other.state) return "state differs";
  const isEmpty = one.state === "cancelled" || one.state === "lost" || one.state === "open";
  return isEmpty || hasSameResult({ run: a, span: one }, { run: b, span: other }) ? "same" : "result differs";
}

/** Calls whose arguments are compared to find a counterpart: those nearest in time. */
const MAX_CANDIDATES = 20;

/**
 * Returns the same call of another connection, or of another run: the one with the same arguments that is nearest in
 * time, or else the nearest one.
 */
export function counterpartOf(run: Run, span: Span, other: Run): Span | undefined {
  const { method, name, c, from } = span;
  const isCandidate = (each: Span) => each.method === method && each.name === name && (other !== run || each.c !== c);
  const near = other.spans
    .filter(isCandidate)
    .sort((a, b) => Math.abs(a.from - from) - Math.abs(b.from - from))
    .slice(0, MAX_CANDIDATES);
  if (near.length < 2) return near[0];
  const args = argumentsOf(run, span);
  return near.find((each) => argumentsOf(other, each) === args) ?? near[0];
}

function argumentsOf(run: Run, span: Span): string {
  const body = framesOf(run, span).find(({ kind }) => kind === "request")?.body;
  return stable(body);
}
