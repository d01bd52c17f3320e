import type { AbortSwitch } from "../call/abort-switch.js";
import { DefinitionError } from "../protocol/errors.js";
import { type Journal, type JournalChange, memberOf, NO_JOURNAL, partOf, questionOf, stepOf } from "./journal.js";
import { isWaiting, toFailure, toThrown } from "./step-failure.js";
import { Steps } from "./steps.js";

/** Owner of a journal while a handler runs. */
export interface JournalKeeper {
  readonly journal: Journal;
  /** Changes the journal. The handler continues when the change is stored. */
  keep(change: JournalChange): void | Promise<void>;
}

/** Owner of a journal that says how the handler runs. */
export interface JournalHost extends JournalKeeper {
  /** End of the run. A step that fails after it has not failed, and runs again. */
  readonly end: AbortSwitch;
  /** Called before the work of a step. Throws if it must not run now. `isRecorded` is true if an earlier run began it. */
  allow?(name: string, isRecorded: boolean): void | Promise<void>;
  /** Called with each mistake after which the outcome of the handler does not count. */
  onBroken?(error: Error): void;
}

/** Question of a handler, with what is recorded of it. */
export interface Question {
  readonly key: string;
  /** True if it was not asked before. */
  readonly isNew: boolean;
  /** True if another question was asked with its key before. The recorded answer belongs to that one. */
  readonly hasChanged: boolean;
  /** Recorded answer to this very question. */
  readonly answer: unknown;
  /** Steps that are under way, of which the question may be a part. */
  readonly within: readonly string[];
}

/**
 * One run of a handler with a journal. Each time that the handler asks for a step, it gets the next recorded outcome; without
 * one, the work runs and its outcome is recorded. Attempts at the same run share `steps`.
 */
export class JournalRun {
  /** Owner of the journal. It is replaced when the call becomes a task. */
  host: JournalHost;
  readonly #steps: Steps;
  /** Recorded steps and questions that the handler has not asked for in this run, with the number of times. */
  readonly #expected: Map<string, number>;
  /** Number of failures of each step that the handler was told in this run. */
  readonly #told = new Map<string, number>();
  /** Outcomes that the handler waits for, by step. All who ask for a step meanwhile get the same one. */
  readonly #awaited = new Map<string, Promise<unknown>>();
  /** Steps whose work is under way in this run. */
  readonly #underWay = new Set<string>();
  readonly #keys = new Set<string>();
  #onReplayed: (() => void)[] = [];
  #count = 0;

  constructor(host: JournalHost, steps?: Steps) {
    this.host = host;
    this.#steps = steps ?? new Steps(host.journal.steps);
    this.#expected = expectedOf(host.journal);
  }

  /** The journal with the steps of all attempts. */
  get journal(): Journal {
    const { journal } = this.host;
    return { ...journal, steps: { ...this.#steps.done, ...journal.steps } };
  }

  /** What is recorded first of all that the handler has not asked for in this run. */
  get missing(): string | undefined {
    return this.#expected.keys().next().value;
  }

  /** Calls the listener once, when the handler has asked for all that is recorded. */
  onReplayed(listener: () => void): void {
    this.#onReplayed.push(listener);
  }

  /** Resolves when no step is under way. */
  settled(): Promise<void> {
    return this.#steps.settled();
  }

  /**
   * Returns what is recorded of a question. One without a key is that with the same text, so that a question before it that
   * is not asked again does not shift its number, or else has the next number.
   */
  question(text: string, given: string | undefined): Question {
    const key = given ?? this.#keyOf(text);
    if (this.#keys.has(key)) throw this.#broken(`two questions have the key "${key}"; give each its own`);
    this.#keys.add(key);
    this.#found(questionOf(key));
    const { asked, answers } = this.host.journal;
    const before = memberOf(asked, key);
    const hasChanged = before !== undefined && before.text !== text;
    const answer = hasChanged ? undefined : memberOf(answers, key);
    return { key, isNew: before === undefined, hasChanged, answer, within: [...this.#underWay] };
  }

  async step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    const awaited = this.#awaited.get(name);
    if (awaited !== undefined) return awaited as Promise<T>;
    const outcome = this.#outcome(name, work);
    this.#awaited.set(name, outcome);
    try {
      return await outcome;
    } finally {
      this.#awaited.delete(name);
    }
  }

  async #outcome<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    const { journal } = this.host;
    const isRecorded = this.#found(stepOf(name)) || journal.begun.includes(name);
    const told = Math.max(this.#told.get(name) ?? 0, this.#past(stepOf(name)));
    const failure = memberOf(journal.failed, name)?.[told];
    if (failure !== undefined) {
      this.#told.set(name, told + 1);
      throw toThrown(failure);
    }
    if (Object.hasOwn(journal.steps, name)) return journal.steps[name] as T;
    if (!this.#steps.has(name)) await this.host.allow?.(name, isRecorded);
    const value = await this.#steps.run(name, () => this.#perform(name, work));
    // Another attempt has recorded it in its own journal.
    if (!Object.hasOwn(this.host.journal.steps, name)) await this.#keep((journal) => done(journal, name, value));
    return value;
  }

  async #perform<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    const within = [...this.#underWay];
    await this.#keep((journal) =>
      partOf({ ...journal, begun: [...others(journal, name), name] }, stepOf(name), within),
    );
    // Another run may have done the step since.
    this.host.end.throwIfAborted();
    const value = await this.#work(name, work);
    await this.#keep((journal) => done(journal, name, value));
    return value;
  }

  /** Does the work of a step, and records its failure. */
  async #work<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    this.#underWay.add(name);
    try {
      return await work();
    } catch (error) {
      // The end of the run says nothing about the step, nor does a question in it.
      if (!this.host.end.aborted && !isWaiting(error)) await this.#keepFailure(name, error);
      throw error;
    } finally {
      this.#underWay.delete(name);
    }
  }

  async #keepFailure(name: string, error: unknown): Promise<void> {
    await this.#keep((journal) => {
      const failures = [
        ...(memberOf(journal.failed, name) ?? []),
        { ...toFailure(error), parts: partsOf(journal, name) },
      ];
      this.#told.set(name, failures.length);
      return { ...journal, begun: others(journal, name), failed: { ...journal.failed, [name]: failures } };
    });
  }

  /** Changes the journal. One that cannot be kept ends the run, so that no handler continues without it. */
  async #keep(change: JournalChange): Promise<void> {
    try {
      await this.host.keep(change);
    } catch (error) {
      this.host.onBroken?.(error as Error);
      throw error;
    }
  }

  #keyOf(text: string): string {
    const { asked } = this.host.journal;
    const isFree = (key: string) => !this.#keys.has(key) && this.#past(questionOf(key)) === 0;
    const known = Object.keys(asked).find((key) => NUMBERED.test(key) && asked[key]?.text === text && isFree(key));
    let number = ++this.#count;
    while (!isFree(numbered(number))) number++;
    return known ?? numbered(number);
  }

  /** Returns how often a part of a step that runs again was asked for in its earlier attempts. */
  #past(what: string): number {
    const failures = [...this.#underWay].map((name) => {
      const told = this.#told.get(name) ?? 0;
      return memberOf(this.host.journal.failed, name)?.[told - 1];
    });
    return Math.max(0, ...failures.map((failure) => memberOf(failure?.parts, what) ?? 0));
  }

  /** Notes that the handler has asked for something. Returns false if nothing more of it is recorded. */
  #found(what: string): boolean {
    const times = this.#expected.get(what);
    if (times === undefined) return false;
    if (times > 1) this.#expected.set(what, times - 1);
    else this.#expected.delete(what);
    if (this.#expected.size === 0) for (const replayed of this.#onReplayed.splice(0)) replayed();
    return true;
  }

  #broken(message: string): Error {
    const error = new DefinitionError(message);
    this.host.onBroken?.(error);
    return error;
  }
}

/** Creates the host of a journal that is kept in memory. */
export function memoryJournal(end: AbortSwitch): JournalHost {
  let journal = NO_JOURNAL;
  return {
    end,
    get journal() {
      return journal;
    },
    keep(change) {
      journal = change(journal);
    },
  };
}

/** Key of a question without a name. */
const NUMBERED = /^ask-\d+$/;
const numbered = (number: number) => `ask-${number}`;

const others = ({ begun }: Journal, name: string) => begun.filter((other) => other !== name);

const done = (journal: Journal, name: string, value: unknown): Journal => ({
  ...journal,
  begun: others(journal, name),
  steps: { ...journal.steps, [name]: value === undefined ? null : value },
});

/** Returns the parts of a step that belong to its attempts up to now, with the number of their failures, or 1 for a question. */
function partsOf({ within = {}, failed }: Journal, name: string): { readonly [what: string]: number } | undefined {
  const parts = Object.keys(within).filter((what) => memberOf(within, what)?.includes(name));
  const timesOf = (what: string) =>
    what.startsWith(stepOf("")) ? (memberOf(failed, what.slice(stepOf("").length))?.length ?? 0) : 1;
  const counted = parts.map((what) => [what, timesOf(what)] as const).filter(([, times]) => times > 0);
  return counted.length === 0 ? undefined : Object.fromEntries(counted);
}

/**
 * Returns what a handler asks for if it runs as before, with the number of times. It does not ask for the parts of a step
 * that has an outcome, since the work of that step does not run again.
 */
function expectedOf({ steps, begun, failed = {}, answers, within = {} }: Journal): Map<string, number> {
  const hasOutcome = (name: string) => Object.hasOwn(steps, name) || Object.hasOwn(failed, name);
  const isPart = (what: string) => memberOf(within, what)?.some(hasOutcome) === true;
  const recorded = [
    ...Object.entries(failed).flatMap(([name, failures]) => failures.map(() => stepOf(name))),
    ...[...new Set([...Object.keys(steps), ...begun])].map(stepOf),
    ...Object.keys(answers).map(questionOf),
  ];
  const expected = new Map<string, number>();
  for (const what of recorded) if (!isPart(what)) expected.set(what, (expected.get(what) ?? 0) + 1);
  return expected;
}
