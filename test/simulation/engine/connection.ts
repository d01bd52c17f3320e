import { ClusterError } from "#src/cluster/error.js";
import type { SimProcess } from "../process.js";
import type { EngineState } from "./state.js";

interface Operation {
  readonly isRead: boolean;
  readonly run: () => unknown;
  readonly reject: (error: unknown) => void;
  /** Called if the engine has carried out the operation and the caller does not learn it. */
  readonly undo: ((value: never) => void) | undefined;
  readonly name: string;
  /** Result, after the engine has carried out the operation. */
  value: unknown;
  isDone: boolean;
  isLost: boolean;
}

/** Longest time until an operation without a reply counts as failed. */
const TIMEOUT_MS = 1_500;

/**
 * Connection of a node to the engine. An operation takes one way to the engine, where it is carried out, and one way back.
 * When the connection is lost, operations under way fail, and chance decides if the engine carries them out.
 */
export class Connection {
  readonly #engine: EngineState;
  readonly #process: SimProcess;
  readonly #underWay = new Set<Operation>();
  isUp = true;
  isClosed = false;

  constructor(engine: EngineState, process: SimProcess) {
    this.#engine = engine;
    this.#process = process;
  }

  /** Carries out an operation at the engine. */
  operate<T>(name: string, isRead: boolean, run: () => T, undo?: (value: T) => void, least = 0): Promise<T> {
    if (!this.isUp || this.isClosed) return Promise.reject(this.#away(name));
    return new Promise<T>((resolve, reject) => {
      const operation: Operation = { name, isRead, run, undo, reject, value: undefined, isDone: false, isLost: false };
      this.#underWay.add(operation);
      const { scheduler, weather, dice } = this.#engine;
      const isUnlucky = weather.lostReplies > 0 && dice.chance(weather.lostReplies);
      const arrive = () => {
        if (operation.isLost) return;
        if (isUnlucky) return this.#fail(operation, dice.chance(60), dice.between(1, TIMEOUT_MS));
        const settle = this.#carryOut(operation, resolve as (value: unknown) => void);
        scheduler.schedule(() => {
          if (operation.isLost) return;
          this.#underWay.delete(operation);
          this.#process.enter(settle);
        }, this.#engine.delay());
      };
      scheduler.schedule(arrive, Math.max(least, this.#engine.delay()));
    });
  }

  /** Loses the connection. */
  cut(): void {
    if (!this.isUp) return;
    const { dice, isUp } = this.#engine;
    for (const operation of [...this.#underWay]) this.#fail(operation, isUp && dice.chance(50), dice.between(0, 20));
    this.isUp = false;
  }

  mend(): void {
    if (!this.isClosed) this.isUp = true;
  }

  close(): void {
    this.cut();
    this.isClosed = true;
  }

  #carryOut(operation: Operation, resolve: (value: unknown) => void): () => void {
    const { trace } = this.#engine;
    operation.isDone = true;
    try {
      const value = operation.run();
      operation.value = value;
      trace(() => `engine ${this.#process.name} ${operation.name} -> ${shown(value)}`);
      return () => resolve(value);
    } catch (error) {
      trace(() => `engine ${this.#process.name} ${operation.name} fails: ${error}`);
      return () => operation.reject(error);
    }
  }

  /** Lets an operation fail without a reply. */
  #fail(operation: Operation, isCarriedOut: boolean, afterMs: number): void {
    this.#underWay.delete(operation);
    operation.isLost = true;
    if (!operation.isDone && isCarriedOut) this.#carryOut(operation, () => {});
    const { name, isRead, value } = operation;
    if (value !== undefined) operation.undo?.(value as never);
    this.#engine.trace(() => `engine ${this.#process.name} ${name} gets no reply`);
    const error = isRead ? this.#away(name) : unknownOutcome(name);
    this.#engine.scheduler.schedule(() => this.#process.enter(() => operation.reject(error)), afterMs);
  }

  #away(name: string): ClusterError {
    const why = this.isClosed ? "the cluster is closed" : "the engine cannot be reached";
    return new ClusterError("unavailable", `${name}: ${why}`);
  }
}

function unknownOutcome(name: string): ClusterError {
  return new ClusterError("unknown_outcome", `${name}: the connection failed before the reply`);
}

function shown(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return JSON.stringify(value)?.slice(0, 160) ?? "object";
}
