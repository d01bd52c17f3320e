import { Dice } from "./dice.js";
import { type Break, TASK_BREAKS } from "./engine/breaks.js";
import type { Outcome, RunOptions } from "./run.js";
import { withSeededCrypto } from "./seeded-crypto.js";
import { SessionRun } from "./session-run.js";
import { TaskRun } from "./tasks/task-run.js";

export interface SimulateOptions extends RunOptions {
  /** Kind of the run. Without it, even seeds have tasks and odd ones have sessions, or it is that of the safeguard. */
  readonly kind?: Kind | undefined;
}

export type Kind = "sessions" | "tasks";

/** Runs several servers over one engine, with clients and faults, as a seed decides. */
export function simulate(seed: number, options: SimulateOptions = {}): Promise<Outcome> {
  const kind = options.kind ?? kindOf(seed, options.broken);
  const create = () => (kind === "tasks" ? new TaskRun(seed, options) : new SessionRun(seed, options));
  return withSeededCrypto(new Dice(seed), () => create().play());
}

/** Returns the kind of a run. */
export function kindOf(seed: number, broken: Break | undefined): Kind {
  if (broken === undefined) return seed % 2 === 0 ? "tasks" : "sessions";
  return (TASK_BREAKS as readonly Break[]).includes(broken) ? "tasks" : "sessions";
}
