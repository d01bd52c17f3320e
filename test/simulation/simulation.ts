import { checkLeftovers, checkSettled, findLeftovers } from "./checks.js";
import { finish, runClient } from "./client.js";
import { Dice } from "./dice.js";
import { SimEngine } from "./engine/engine.js";
import type { Break } from "./engine/state.js";
import { Faults } from "./faults.js";
import { History, type Violation } from "./history.js";
import { RESOURCES, SESSION_IDLE_MS, SimNode } from "./node.js";
import { SimProcess } from "./process.js";
import { Scheduler } from "./scheduler.js";
import { withSeededCrypto } from "./seeded-crypto.js";
import type { ClientSession } from "./session.js";
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

/** Time in which clients begin calls, and faults happen. */
const ACTIVE_MS = 15_000;
/** Time after the last fault in which everything settles. */
const SETTLE_MS = 60_000;
/** Time after which nothing of a session is left that its client has not used. */
const EXPIRE_MS = 5 * SESSION_IDLE_MS;

/** Runs several servers over one engine, with clients and faults, as a seed decides. */
export function simulate(seed: number, options: RunOptions = {}): Promise<Outcome> {
  return withSeededCrypto(new Dice(seed), () => new Run(seed, options).play());
}

class Run {
  readonly #seed: number;
  readonly #scheduler = new Scheduler();
  readonly #dice: Dice;
  readonly #history: History;
  readonly #engine: SimEngine;
  readonly #world: World;
  readonly #faults: Faults;
  readonly #sessions: ClientSession[] = [];
  #started = 0;
  #broadcasts = 0;

  constructor(seed: number, { broken, onLine, nodes }: RunOptions) {
    this.#seed = seed;
    this.#dice = new Dice(seed);
    const scheduler = this.#scheduler;
    const trace = (text: () => string) => onLine?.(`${scheduler.now().toFixed(2).padStart(10)} ${text()}`);
    this.#history = new History(() => scheduler.now(), trace);
    this.#engine = new SimEngine({ scheduler, dice: this.#dice.branch(), broken, trace });
    const network = { scheduler, dice: this.#dice.branch(), slow: 0 };
    this.#world = new World(scheduler, this.#dice.branch(), network, this.#history, this.#dice.chance(85));
    for (let slot = 0, count = nodes ?? this.#dice.whole(2, 3); slot < count; slot++) this.#start(slot);
    this.#faults = new Faults(this.#world, this.#engine, (slot) => this.#start(slot));
    this.#engine.topics.onMessage = (topic, text) => this.#onMessage(topic, text);
  }

  async play(): Promise<Outcome> {
    const onRejection = (reason: unknown) => {
      const text = reason instanceof Error ? reason.stack : reason;
      this.#history.violate("errors", `a promise is rejected, and nobody handles it: ${text}`);
    };
    process.on("unhandledRejection", onRejection);
    try {
      await this.#playAll();
      // Rejections are told between turns of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
    } catch (error) {
      this.#history.violate("errors", `${(error as Error).stack}`);
    } finally {
      process.off("unhandledRejection", onRejection);
    }
    return {
      seed: this.#seed,
      violations: this.#history.violations,
      hash: this.#history.hash,
      events: this.#scheduler.events,
      faults: this.#faults.kinds,
      counts: this.#history.counts,
    };
  }

  async #playAll(): Promise<void> {
    const world = this.#world;
    this.#faults.plan(ACTIVE_MS);
    const clients: Promise<void>[] = [];
    for (let left = this.#dice.whole(2, 4); left > 0; left--)
      clients.push(runClient(world, this.#dice.pick(["anna", "bert"]), this.#sessions));
    this.#publish();
    await this.#until(ACTIVE_MS, () => {
      this.#faults.heal();
      this.#history.note("all faults are over");
      world.isClosing = true;
    });
    await this.#until(ACTIVE_MS + SETTLE_MS / 3, () => {
      for (const uri of RESOURCES) this.#change(uri);
    });
    await this.#until(ACTIVE_MS + SETTLE_MS / 2, () => {});
    const isSettled = () => this.#history.calls.every(({ settled, isRead }) => settled !== undefined && isRead);
    await this.#passUntil(ACTIVE_MS + SETTLE_MS, isSettled, () => {
      checkSettled(world, this.#faults.kinds.length === 0);
      this.#close();
    });
    const isEmpty = () => findLeftovers(world, this.#engine).length === 0;
    await this.#passUntil(ACTIVE_MS + SETTLE_MS + EXPIRE_MS, isEmpty, () => checkLeftovers(world, this.#engine));
    world.isOver = true;
  }

  /** Lets time pass until something holds, at the latest until a time. */
  async #passUntil(latest: number, holds: () => boolean, next: () => void): Promise<void> {
    const { violations } = this.#history;
    while (violations.length === 0 && this.#scheduler.now() < latest && !holds())
      await this.#until(Math.min(latest, this.#scheduler.now() + 2_000), () => {});
    if (violations.length === 0) next();
  }

  /** Lets time pass, and goes on unless an invariant is broken. */
  async #until(time: number, next: () => void): Promise<void> {
    const { violations } = this.#history;
    await this.#scheduler.runUntil(time, () => violations.length > 0);
    if (violations.length === 0) next();
  }

  #start(slot: number): void {
    const { nodes, isResumable } = this.#world;
    const process = new SimProcess(`n${++this.#started}`, this.#scheduler);
    const node = new SimNode(process, this.#engine.connect(process), this.#history, isResumable);
    node.isCalmSince = (since) => !this.#world.wasTroubled(since, node.name);
    this.#history.note(`${node.name} starts`);
    nodes[slot] = node;
    // A server joins the others with its first request.
    this.#world.send({ method: "GET", principal: "probe" }, node);
  }

  /** Announces changes and sends messages to all clients, from any node. */
  async #publish(): Promise<void> {
    const { dice } = this.#world;
    while (!this.#world.isClosing) {
      await this.#world.sleep(dice.between(100, 2_000));
      if (dice.chance(60)) this.#change(dice.pick(RESOURCES));
      else this.#broadcast();
    }
  }

  #change(uri: string): void {
    const node = this.#runningNode();
    this.#history.note(`${node?.name} changes ${uri}`);
    node?.server.changes.resourceUpdated(uri);
  }

  #broadcast(): void {
    const node = this.#runningNode();
    if (node === undefined) return;
    const data = { from: node.name, number: ++this.#broadcasts };
    this.#history.broadcasts.push({ ...data, at: this.#scheduler.now() });
    node.server.log("info", data);
  }

  #runningNode(): SimNode | undefined {
    const running = this.#world.nodes.filter(({ process, isClosed }) => process.isRunning && !isClosed);
    return running.length === 0 ? undefined : this.#dice.pick(running);
  }

  #onMessage(topic: string, text: string): void {
    if (topic !== "changes") return;
    const { kind, uri } = JSON.parse(text) as { readonly kind: string; readonly uri?: string };
    if (kind === "resource" && uri !== undefined) this.#history.changes.push({ uri, at: this.#scheduler.now() });
  }

  /** Lets the clients end their sessions, or leave them to expire. */
  #close(): void {
    for (const session of this.#sessions) {
      if (!session.isOpen || session.record.isLeft) continue;
      if (this.#dice.chance(50)) session.leave();
      else finish(this.#world, session);
    }
  }
}
