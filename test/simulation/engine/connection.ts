import type { Closable } from "#src/cluster/connection.js";
import type { SimProcess } from "../process.js";
import type { EngineConnection, SimEngine } from "./engine.js";

/** Longest time until an operation arrives whose reply is lost. */
const LATE_MS = 1_400;

/** Longest time until an operation arrives after its connection was lost. A new connection takes longer. */
const ORPHAN_MS = 20;

/** Longest time until a process notices by itself that it gets no texts. */
const DEAF_MS = 3_000;

/** Texts of one sender on their way, in order. */
interface Line {
  readonly texts: string[];
  lastAt: number;
}

/**
 * Connection of a process to the simulated engine. An operation takes one way to the engine, where it is carried out, and
 * one way back. Chance decides if the operations on their way reach the engine when the connection is lost.
 */
export class SimConnection implements Closable, EngineConnection {
  readonly #engine: SimEngine;
  readonly #onText: (text: string) => void;
  readonly #onClose: () => void;
  /** Rejects the operations without a reply. */
  readonly #waiting = new Set<(error: Error) => void>();
  /** Texts on their way by sender. Senders overtake each other. */
  readonly #lines = new Map<string, Line>();
  #isClosed = false;
  #lostAt = Number.POSITIVE_INFINITY;
  /** Percent of the operations on their way that arrive after a loss. */
  #orphans = 0;

  /** `onClose` is called when the process learns that the connection is lost. */
  constructor(
    engine: SimEngine,
    readonly process: SimProcess,
    onText: (text: string) => void,
    onClose: () => void,
  ) {
    this.#engine = engine;
    this.#onText = onText;
    this.#onClose = onClose;
    engine.connections.add(this);
  }

  get #isOpen(): boolean {
    return this.#lostAt === Number.POSITIVE_INFINITY;
  }

  /** Carries out an operation at the engine. */
  ask<T>(name: string, args: readonly unknown[], work: () => Promise<T>): Promise<T> {
    const engine = this.#engine;
    const { scheduler, weather, dice } = engine;
    const isUnlucky = weather.lostReplies > 0 && dice.chance(weather.lostReplies);
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject);
      const arrive = () => {
        if (!this.#isOpen && (scheduler.now() > this.#lostAt + ORPHAN_MS || !dice.chance(this.#orphans))) return;
        const result = engine.perform(this.process.name, name, args, work);
        const answer = () => {
          if (this.#isOpen && this.#waiting.delete(reject)) this.process.enter(() => resolve(result));
        };
        if (isUnlucky) engine.trace(() => `${this.process.name} gets no reply to ${name}`);
        else scheduler.schedule(answer, engine.delay());
      };
      if (!isUnlucky) scheduler.schedule(arrive, engine.delay());
      else if (dice.chance(60)) scheduler.schedule(arrive, dice.between(0.1, LATE_MS));
    });
  }

  receive(text: string, from: string): void {
    const { scheduler, dice, weather, trace } = this.#engine;
    if (weather.lostTexts > 0 && dice.chance(weather.lostTexts)) {
      trace(() => `${this.process.name} misses ${text}`);
      return this.lose(dice.chance(80) ? dice.between(1, DEAF_MS) : undefined);
    }
    const line = this.#lines.get(from) ?? { texts: [], lastAt: 0 };
    this.#lines.set(from, line);
    line.texts.push(text);
    line.lastAt = Math.max(line.lastAt, scheduler.now() + this.#engine.delay());
    const arrive = () => {
      // Times are rounded, so that texts with the same time could change places.
      const next = line.texts.shift() as string;
      if (this.#isOpen) this.process.enter(() => this.#isClosed || this.#onText(next));
    };
    scheduler.schedule(arrive, line.lastAt - scheduler.now());
  }

  /** Loses the connection. The process learns it after a time, or not by itself. */
  lose(afterMs: number | undefined, orphans = 50): void {
    if (!this.#isOpen) return;
    this.#lostAt = this.#engine.scheduler.now();
    this.#orphans = orphans;
    this.#engine.connections.delete(this);
    this.#engine.listeners.delete(this);
    if (afterMs !== undefined) this.#engine.scheduler.schedule(() => this.process.enter(() => this.close()), afterMs);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.lose(undefined);
    for (const reject of this.#waiting) reject(new Error("the connection was lost"));
    this.#waiting.clear();
    this.#onClose();
  }
}
