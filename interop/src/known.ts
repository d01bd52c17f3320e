import type { Outcome } from "./run-pair.js";

/** A check that fails because of the peer. */
export interface Known {
  /** `client -> server mode era`, with `*` for any word. */
  readonly pair: string;
  readonly check: string;
  readonly reason: string;
  /** True if the outcome depends on which of two events comes first. Such an entry is not stale when a pair passes. */
  readonly sometimes?: boolean;
}

/** A known difference and the pair that showed it. */
export interface Difference extends Known {
  /** The entry's own pair, with its wildcards. */
  readonly entry: string;
}

export interface Verdict {
  readonly totals: { readonly passed: number; readonly known: number; readonly failed: number };
  readonly failures: readonly Outcome[];
  readonly differences: readonly Difference[];
  /** Entries that no longer fail. */
  readonly stale: readonly Known[];
}

/**
 * Separates known differences from failures. An entry is stale when a pair that it names passes, unless it has
 * `sometimes`, or when no such pair exists.
 */
export function judge(outcomes: readonly Outcome[], known: readonly Known[], complete: boolean): Verdict {
  const entryOf = (outcome: Outcome) => known.find((entry) => concerns(entry, outcome));
  const failed = outcomes.filter(({ problem }) => problem !== undefined);
  const failures = failed.filter((outcome) => entryOf(outcome) === undefined);
  const differences = failed.flatMap((outcome) => {
    const entry = entryOf(outcome);
    return entry === undefined ? [] : [{ ...entry, entry: entry.pair, pair: outcome.pair }];
  });
  const stale = known.filter((entry) => {
    const concerned = outcomes.filter((outcome) => concerns(entry, outcome));
    if (concerned.length === 0) return complete;
    return entry.sometimes !== true && concerned.some(({ problem }) => problem === undefined);
  });
  const passed = outcomes.length - failed.length;
  return { totals: { passed, known: differences.length, failed: failures.length }, failures, differences, stale };
}

function concerns(entry: Known, outcome: Outcome): boolean {
  const wanted = entry.pair.split(" ");
  const words = outcome.pair.split(" ");
  return entry.check === outcome.check && words.every((word, index) => wanted[index] === "*" || wanted[index] === word);
}
