import type { Cluster } from "../../cluster/cluster.js";
import { ClusterError, type ClusterFailure } from "../../cluster/error.js";
import type { Store } from "../../cluster/store.js";
import { equal } from "./assert.js";

type MaybePromise<T> = T | Promise<T>;

/** State of one test, empty at its start. */
export interface World {
  /** Returns a new node. All nodes of a world share its state. */
  node(): MaybePromise<Cluster>;
  /** Cuts a node off for good, as `kill -9` of its process does: it neither renews nor releases anything. */
  crash(node: Cluster): MaybePromise<void>;
  /**
   * Closes a node and the connections that were made for it.
   * @default node.close()
   */
  readonly close?: ((node: Cluster) => MaybePromise<void>) | undefined;
  /**
   * Lets time pass.
   * @default a wait
   */
  readonly elapse?: ((ms: number) => MaybePromise<void>) | undefined;
  /**
   * Returns a new store of the state, not connected. The rules that a cluster does not show are tested on it.
   */
  readonly store?: (() => MaybePromise<Store>) | undefined;
  /**
   * Loses the reply of the next operation by which a node takes jobs. The engine carries it out. The case of
   * `lostReplyContract` requires it.
   */
  readonly loseTake?: ((node: Cluster) => void) | undefined;
  /** Engine of this world alone. The cases of `engineContract` require it. */
  readonly engine?: Engine | undefined;
}

export interface Engine {
  /** Ends the engine as `kill -9` does. */
  kill(): MaybePromise<void>;
  /** Starts the engine again, with the state that it had stored. */
  start(): MaybePromise<void>;
  /** Takes all room of the engine, so that it stores nothing more. The cases of `fullContract` require it. */
  readonly fill?: (() => MaybePromise<void>) | undefined;
  /** Gives the engine room again. */
  readonly free?: (() => MaybePromise<void>) | undefined;
}

export type Open = (scope: Scope) => MaybePromise<World>;

/** Registers a test, as `test` of a test runner does. */
export type Register = (title: string, body: () => Promise<void>) => unknown;

/** Time of one test. */
export interface Scope {
  /** Runs a function after the test. */
  after(run: () => unknown): void;
}

/** World of a case, with defaults. Its nodes are closed after the case. */
export interface Stage {
  readonly scope: Scope;
  readonly engine: Engine;
  node(): Promise<Cluster>;
  crash(node: Cluster): Promise<void>;
  close(node: Cluster): Promise<void>;
  elapse(ms: number): Promise<void>;
  /** Returns a store that is connected, if the world has stores. It is closed after the case. */
  store(): Promise<Store | undefined>;
  loseTake(node: Cluster): void;
}

/** Life, in milliseconds, that is long enough for some operations on a busy machine. */
export const LIFE_MS = 1_000;
/** Time after which such a life has passed for certain. */
export const PAST_LIFE_MS = 1_300;

/** Registers a case of the contract. */
export type Case = (title: string, body: (stage: Stage) => Promise<void>) => void;

export function casesOf(test: Register, open: Open): Case {
  return (title, body) => {
    test(title, async () => {
      const last: (() => unknown)[] = [];
      const scope = { after: (run: () => unknown) => void last.push(run) };
      try {
        await inWorld(await open(scope), scope, body);
      } finally {
        for (const run of last) await run();
      }
    });
  };
}

async function inWorld(world: World, scope: Scope, body: (stage: Stage) => Promise<void>): Promise<void> {
  const nodes = new Set<Cluster>();
  const stage = stageOf(scope, world, nodes);
  try {
    await body(stage);
  } finally {
    for (const node of nodes) await stage.close(node);
  }
}

function stageOf(scope: Scope, world: World, nodes: Set<Cluster>): Stage {
  return {
    scope,
    get engine() {
      if (world.engine === undefined) throw new Error("the world of this adapter has no engine");
      return world.engine;
    },
    async node() {
      const node = await world.node();
      nodes.add(node);
      return node;
    },
    async crash(node) {
      await world.crash(node);
    },
    async close(node) {
      nodes.delete(node);
      await (world.close?.(node) ?? node.close());
    },
    async elapse(ms) {
      await (world.elapse === undefined ? wait(ms) : world.elapse(ms));
    },
    async store() {
      const store = await world.store?.();
      await store?.connect({ onText() {}, onMissed() {}, onShort() {} });
      if (store !== undefined) scope.after(() => store.close());
      return store;
    },
    loseTake(node) {
      if (world.loseTake === undefined) throw new Error("the world of this adapter loses no replies");
      world.loseTake(node);
    },
  };
}

export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves once the condition holds. Rejects if it does not within `limitMs`. */
export async function until(fits: () => MaybePromise<boolean>, what: string, limitMs = 20_000): Promise<void> {
  for (const end = performance.now() + limitMs; !(await fits()); await wait(10))
    if (performance.now() > end) throw new Error(`not within ${limitMs} ms: ${what}`);
}

/** Runs an operation that must fail, by an exception or a rejection, with one of these failures. */
export async function failsWith(
  failures: ClusterFailure | readonly ClusterFailure[],
  run: () => unknown,
): Promise<void> {
  const failure = await failureOf(run);
  const expected = [failures].flat();
  if (!expected.includes(failure as ClusterFailure)) equal(failure, expected.join(" or "));
}

/** Returns the failure of an operation, or undefined if it succeeds. Other errors than a ClusterError are thrown. */
export async function failureOf(run: () => unknown): Promise<ClusterFailure | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (error instanceof ClusterError) return error.failure;
    throw error;
  }
}

/** Items of an async iterable, collected while it runs. */
export interface Collected<T> {
  readonly items: readonly T[];
  /** Resolves when the iterable ends, and rejects with its error. */
  readonly end: Promise<void>;
  /** Resolves once so many items have arrived. Rejects if the iterable ends before. */
  reaches(count: number): Promise<void>;
}

export function collect<T>(source: AsyncIterable<T>): Collected<T> {
  const items: T[] = [];
  let ended = false;
  const run = async () => {
    try {
      for await (const item of source) items.push(item);
    } finally {
      ended = true;
    }
  };
  const end = run();
  end.catch(() => undefined);
  const reaches = async (count: number) => {
    await until(() => items.length >= count || ended, `${count} items, have ${items.length}`);
    if (items.length < count) {
      await end;
      throw new Error(`the iterable ended after ${items.length} of ${count} items`);
    }
  };
  return { items, end, reaches };
}
