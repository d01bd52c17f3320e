import { Dice } from "./dice.js";
import type { Break } from "./engine/breaks.js";
import { SimEngine } from "./engine/engine.js";
import { Faults } from "./faults.js";
import type { History, Violation } from "./history.js";
import type { SimNode } from "./node.js";
import { SimProcess } from "./process.js";
import { Scheduler } from "./scheduler.js";
import { World } from "./world.js";

export interface RunOptions {
  readonly broken?: Break | undefined;
  /** Called with each line of the trace. */
  readonly onLine?: ((line: string) => void) | undefined;
  readonly nodes?: number;
}

export interface Outcome {
  readonly seed: number;
  readonly violations: readonly Violation[];
  /** Equal for two runs in which the same things happened at the same times. */
  readonly hash: number;
  readonly events: number;
  readonly faults: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

type CreateHistory<H> = new (now: () => number, trace: (text: () => string) => void) => H;

/** Run of a seed: nodes over one engine, with faults. */
export abstract class Run<H extends History> {
  readonly #seed: number;
  readonly #nodes: number;
  #started = 0;
  protected readonly broken: Break | undefined;
  protected readonly scheduler = new Scheduler();
  protected readonly dice: Dice;
  protected readonly history: H;
  protected readonly engine: SimEngine;
  protected readonly world: World;
  #faults: Faults | undefined;

  constructor(seed: number, { broken, onLine, nodes }: RunOptions, createHistory: CreateHistory<H>) {
    this.#seed = seed;
    this.broken = broken;
    this.dice = new Dice(seed);
    const { scheduler } = this;
    const trace = (text: () => string) => onLine?.(`${scheduler.now().toFixed(2).padStart(10)} ${text()}`);
    this.history = new createHistory(() => scheduler.now(), trace);
    this.engine = new SimEngine({ scheduler, dice: this.dice.branch(), broken, trace });
    const network = { scheduler, dice: this.dice.branch(), slow: 0 };
    this.world = new World(scheduler, this.dice.branch(), network, this.history, this.dice.chance(85));
    this.#nodes = nodes ?? this.dice.whole(2, 3);
  }

  /** Faults of the run, after it has begun. */
  protected get faults(): Faults {
    this.#faults ??= new Faults(this.world, this.engine, (slot) => this.#start(slot));
    return this.#faults;
  }

  /** Creates the node of a process. */
  protected abstract createNode(process: SimProcess): SimNode;

  /** Plays the run to its end, or until an invariant is broken. */
  protected abstract playAll(): Promise<void>;

  async play(): Promise<Outcome> {
    const onRejection = (reason: unknown) => {
      const text = reason instanceof Error ? reason.stack : reason;
      this.history.violate("errors", `a promise is rejected, and nobody handles it: ${text}`);
    };
    process.on("unhandledRejection", onRejection);
    try {
      for (let slot = 0; slot < this.#nodes; slot++) this.#start(slot);
      await this.playAll();
      // Rejections are told between turns of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
    } catch (error) {
      this.history.violate("errors", `${(error as Error).stack}`);
    } finally {
      process.off("unhandledRejection", onRejection);
    }
    return {
      seed: this.#seed,
      violations: this.history.violations,
      hash: this.history.hash,
      events: this.scheduler.events,
      faults: this.faults.kinds,
      counts: this.history.counts,
    };
  }

  /** Lets time pass until something holds, at the latest until a time. */
  protected async passUntil(latest: number, holds: () => boolean, next: () => void): Promise<void> {
    const { violations } = this.history;
    while (violations.length === 0 && this.scheduler.now() < latest && !holds())
      await this.until(Math.min(latest, this.scheduler.now() + 2_000), () => {});
    if (violations.length === 0) next();
  }

  /** Lets time pass, and goes on unless an invariant is broken. */
  protected async until(time: number, next: () => void): Promise<void> {
    const { violations } = this.history;
    await this.scheduler.runUntil(time, () => violations.length > 0);
    if (violations.length === 0) next();
  }

  #start(slot: number): void {
    const node = this.createNode(new SimProcess(`n${++this.#started}`, this.scheduler));
    this.history.note(`${node.name} starts`);
    this.world.nodes[slot] = node;
    // A server joins the others with its first request.
    this.world.send({ method: "GET", principal: "probe" }, node);
  }
}
