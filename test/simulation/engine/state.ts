import { createTables, type Tables } from "#src/cluster/memory/tables.js";
import type { Dice } from "../dice.js";
import type { Scheduler } from "../scheduler.js";

/** Safeguards of the engine that a run switches off, to show that the checks see their absence. */
export const ENGINE_BREAKS = ["fence", "end", "gap", "answer", "wake", "drop"] as const;
/** Safeguards of tasks. */
export const TASK_BREAKS = ["lease", "journal", "requeue"] as const;

export const BREAKS = [...ENGINE_BREAKS, ...TASK_BREAKS] as const;

export type Break = (typeof BREAKS)[number];

export interface EngineOptions {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly broken?: Break | undefined;
  /** True for an engine that answers at once. */
  readonly isInstant?: boolean;
  readonly trace?: (text: () => string) => void;
}

/** Faults that happen by chance while they are on, in percent of the operations or messages. */
export interface Weather {
  /** Operations whose reply does not arrive. */
  lostReplies: number;
  /** Messages of the bus that do not reach one node. */
  lostMessages: number;
  /** Operations and messages that take up to `slowMs`. */
  slow: number;
  slowMs: number;
}

/** State of the engine, and the chances by which it fails. */
export class EngineState {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly broken: Break | undefined;
  readonly tables: Tables;
  readonly weather: Weather = { lostReplies: 0, lostMessages: 0, slow: 0, slowMs: 0 };
  readonly trace: (text: () => string) => void;
  readonly #isInstant: boolean;
  isUp = true;

  constructor({ scheduler, dice, broken, isInstant = false, trace = () => {} }: EngineOptions) {
    this.scheduler = scheduler;
    this.dice = dice;
    this.broken = broken;
    this.trace = trace;
    this.#isInstant = isInstant;
    this.tables = createTables({ clock: scheduler });
  }

  /** Time of one way between a node and the engine. */
  delay(): number {
    if (this.#isInstant) return 0;
    const { slow, slowMs } = this.weather;
    return slow > 0 && this.dice.chance(slow) ? this.dice.between(1, slowMs) : this.dice.between(0.1, 2);
  }
}
