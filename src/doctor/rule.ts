import type { Facts } from "./facts.js";

/** `error`: a host fails, or a user is at risk. `warning`: some hosts or calls suffer. `note`: good to know. */
export const LEVELS = ["error", "warning", "note"] as const;

export type Level = (typeof LEVELS)[number];

/** What a rule has found. */
export interface Problem {
  readonly level: Level;
  /** What is concerned: a tool, a parameter, a request, an address. Text of the server is not escaped. */
  readonly place: string;
  readonly text: string;
  /** Lines of the recording that show it. */
  readonly lines?: readonly number[] | undefined;
  /** Remedy, where that of the rule does not fit. */
  readonly remedy?: string | undefined;
  /** Id of the requirement that is violated, where that of the rule does not fit. */
  readonly requirement?: string | undefined;
}

/**
 * What a rule needs: a server that is a process or at a URL, a call that the user allowed (`try`), time to wait (`slow`), or
 * the files of hosts.
 */
export type Need = "process" | "url" | "try" | "slow" | "hosts";

/** Rule: a pure function of facts. */
export interface Rule {
  /** `group/name`. */
  readonly id: string;
  /** What it finds, in one line that follows "finds". */
  readonly finds: string;
  readonly remedy: string;
  readonly needs: readonly Need[];
  /** Id of the requirement that a server violates with it. */
  readonly requirement?: string | undefined;
  /** Returns the problems, or undefined if the facts that it needs are missing: it is not applicable then. */
  check(facts: Facts): readonly Problem[] | undefined;
}
