import type { StepFailure } from "./step-failure.js";

/**
 * Steps, questions and answers of a call, so that its handler can run again: in each round of an ordinary call, and in each
 * run of a task. It is JSON.
 */
export interface Journal {
  /** Values of the steps that are done, by name. */
  readonly steps: { readonly [name: string]: unknown };
  /** Names of the steps that have begun and not ended. */
  readonly begun: readonly string[];
  /** Failures of steps by name, in their order. A step may be tried again, and complete later. */
  readonly failed?: { readonly [name: string]: readonly StepFailure[] } | undefined;
  /** Questions by key: the text of one that `ctx` asked, and the number of times that it was asked. */
  readonly asked: { readonly [key: string]: { readonly text?: string | undefined; readonly times: number } };
  readonly answers: { readonly [key: string]: unknown };
  /** State of a handler that returned `inputRequired`, and the answers to its questions, if they are not in a request. */
  readonly authored?: { readonly state?: unknown; readonly answers: { readonly [key: string]: unknown } } | undefined;
  /** Steps that were under way when a step began or a question was asked, which may be a part of them. */
  readonly within?: { readonly [what: string]: readonly string[] } | undefined;
}

export type JournalChange = (journal: Journal) => Journal;

export const NO_JOURNAL: Journal = { steps: {}, begun: [], asked: {}, answers: {} };

/** Names of a step and of a question in `within`, and in errors. */
export const stepOf = (name: string) => `step ${name}`;
export const questionOf = (key: string) => `question ${key}`;

/** Returns the member with a name that may be one of `Object.prototype`. */
export function memberOf<T>(members: { readonly [name: string]: T } | undefined, name: string): T | undefined {
  return members !== undefined && Object.hasOwn(members, name) ? members[name] : undefined;
}

/** Returns the journal with the steps of which a step or question may be a part. */
export function partOf(journal: Journal, what: string, within: readonly string[]): Journal {
  return within.length === 0 ? journal : { ...journal, within: { ...journal.within, [what]: within } };
}

/** Returns the journal with a question that is asked, again if it was asked before. */
export function withQuestion(
  journal: Journal,
  {
    key,
    text,
    within = [],
  }: { readonly key: string; readonly text?: string | undefined; readonly within?: readonly string[] | undefined },
): Journal {
  const times = (memberOf(journal.asked, key)?.times ?? 0) + 1;
  return partOf({ ...journal, asked: { ...journal.asked, [key]: { text, times } } }, questionOf(key), within);
}
