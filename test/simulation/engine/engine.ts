import type { LogEntry, Stored } from "#src/cluster/cluster.js";
import { entryOf } from "#src/cluster/logs.js";
import { MemoryEngine, MemoryStore } from "#src/cluster/memory/store.js";
import type { Dice } from "../dice.js";
import type { SimProcess } from "../process.js";
import type { Scheduler } from "../scheduler.js";
import { type Break, removeSafeguard } from "./breaks.js";

export interface EngineOptions {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly broken?: Break | undefined;
  /** True for an engine that answers at once. */
  readonly isInstant?: boolean;
  readonly trace?: (text: () => string) => void;
}

/** Faults that happen by chance while they are on, in percent of the operations or texts. */
export interface Weather {
  /** Operations whose reply does not arrive. */
  lostReplies: number;
  /** Texts that do not reach one node. */
  lostTexts: number;
  /** Operations and texts that take up to `slowMs`. */
  slow: number;
  slowMs: number;
}

/** Connection of a process, as its engine sees it. */
export interface EngineConnection {
  readonly process: SimProcess;
  receive(text: string, from: string): void;
  /**
   * Loses the connection. The process learns it after a time, or not by itself. `orphans` is the percentage of the
   * operations on their way that arrive.
   */
  lose(afterMs: number | undefined, orphans?: number): void;
}

/** Engine in memory that all nodes share. It and the connections to it fail when the simulation says so. */
export class SimEngine {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly broken: Break | undefined;
  readonly trace: (text: () => string) => void;
  readonly weather: Weather = { lostReplies: 0, lostTexts: 0, slow: 0, slowMs: 0 };
  /** Operations of the engine itself, without faults. */
  readonly store: MemoryStore;
  readonly #memory: MemoryEngine;
  readonly #isInstant: boolean;
  /** Open connections, and those that receive texts. */
  readonly connections = new Set<EngineConnection>();
  readonly listeners = new Set<EngineConnection>();
  readonly #cutOff = new Set<SimProcess>();
  /** Names of all that was stored. */
  readonly #keys = new Set<string>();
  readonly #logs = new Set<string>();
  /** Process whose operation is carried out. */
  #sender = "";
  /** Called with each text that the engine has received. */
  onText: (text: string) => void = () => {};
  isUp = true;

  constructor({ scheduler, dice, broken, isInstant = false, trace = () => {} }: EngineOptions) {
    this.scheduler = scheduler;
    this.dice = dice;
    this.broken = broken;
    this.trace = trace;
    this.#isInstant = isInstant;
    this.#memory = new MemoryEngine({ clock: scheduler });
    removeSafeguard(this.#memory, broken);
    this.store = new MemoryStore(this.#memory);
    void this.store.connect({ onText: (text) => this.#send(text), onMissed: () => {}, onShort: () => {} });
  }

  /** Records that are stored. */
  get records(): readonly Stored[] {
    return [...this.#keys].flatMap((key) => this.#memory.records.get(key) ?? []);
  }

  /** Returns the entries of a stream, in order. */
  entriesOf(log: string, stream: string): readonly LogEntry[] {
    const page = this.#memory.logs.read(log, stream, undefined, 10_000);
    return page === undefined ? [] : page.entries.map((entry) => entryOf(page.id, entry));
  }

  /** Names of the logs that are stored. */
  get logs(): readonly string[] {
    return [...this.#logs].filter((log) => this.#memory.logs.read(log, "", undefined, 0) !== undefined);
  }

  /** Carries out an operation of a process. */
  perform<T>(from: string, name: string, args: readonly unknown[], work: () => Promise<T>): Promise<T> {
    const [first] = args;
    if (name === "put") this.#keys.add(String(first));
    else if (name === "create") this.#logs.add(String(first));
    this.#sender = from;
    const result = work();
    const note = (outcome: unknown) => this.trace(() => `engine ${from} ${name} ${shown(args)} -> ${shown(outcome)}`);
    result.then(note, note);
    return result;
  }

  /** Time of one way between a node and the engine. */
  delay(): number {
    if (this.#isInstant) return 0;
    const { slow, slowMs } = this.weather;
    return slow > 0 && this.dice.chance(slow) ? this.dice.between(1, slowMs) : this.dice.between(0.1, 2);
  }

  /** True if a process can connect. */
  reaches(process: SimProcess): boolean {
    return this.isUp && !this.#cutOff.has(process);
  }

  /** Cuts a process off. */
  cut(process: SimProcess): void {
    this.trace(() => `${process.name} is cut off`);
    this.#cutOff.add(process);
    for (const connection of this.connections)
      if (connection.process === process) connection.lose(this.dice.chance(80) ? this.#noticeMs() : undefined);
  }

  /** Lets a process connect again. */
  mend(process: SimProcess): void {
    this.#cutOff.delete(process);
  }

  /** Ends the engine. All connections are lost; the state stays. */
  stop(): void {
    this.isUp = false;
    for (const connection of this.connections) connection.lose(this.#noticeMs(), 0);
  }

  start(): void {
    this.isUp = true;
  }

  /** Time until a process learns that a connection is closed. */
  #noticeMs(): number {
    return this.#isInstant ? 0 : this.dice.between(0, 20);
  }

  #send(text: string): void {
    this.onText(text);
    for (const listener of this.listeners) listener.receive(text, this.#sender);
  }
}

function shown(value: unknown): string {
  if (value instanceof Error) return String(value);
  return (JSON.stringify(value) ?? "undefined").slice(0, 200);
}
