import type { Bus } from "#src/cluster/cluster.js";
import type { SimProcess } from "../process.js";
import type { Connection } from "./connection.js";
import type { EngineState } from "./state.js";

type Listener = (text: string, from: string) => void;

interface Subscription {
  readonly bus: SimBus;
  readonly listener: Listener;
  isOn: boolean;
}

/** Longest time until a node learns of a lost message. */
const HEARTBEAT_MS = 3_000;

/** Messages between the nodes. Senders overtake each other; messages of one sender stay in order. */
export class Topics {
  readonly #engine: EngineState;
  readonly #topics = new Map<string, Set<Subscription>>();
  /** Called with each message that the engine has received. */
  onMessage: (topic: string, text: string, from: string) => void = () => {};

  constructor(engine: EngineState) {
    this.#engine = engine;
  }

  get size(): number {
    return this.#topics.size;
  }

  add(topic: string, bus: SimBus, listener: Listener): Subscription {
    const subscription = { bus, listener, isOn: true };
    const all = this.#topics.get(topic) ?? new Set();
    this.#topics.set(topic, all.add(subscription));
    return subscription;
  }

  remove(topic: string, subscription: Subscription): void {
    subscription.isOn = false;
    const all = this.#topics.get(topic);
    all?.delete(subscription);
    if (all?.size === 0) this.#topics.delete(topic);
  }

  publish(topic: string, text: string, from: string): void {
    this.onMessage(topic, text, from);
    const { dice, weather } = this.#engine;
    for (const subscription of this.#topics.get(topic) ?? []) {
      const isLost = weather.lostMessages > 0 && dice.chance(weather.lostMessages);
      if (isLost) subscription.bus.lose(dice.between(1, HEARTBEAT_MS), `${topic} ${text}`);
      else subscription.bus.receive(subscription, text, from);
    }
  }
}

/** Bus of one node. */
export class SimBus implements Bus {
  readonly #engine: EngineState;
  readonly #topics: Topics;
  readonly #process: SimProcess;
  readonly #connection: Connection;
  readonly #node: string;
  readonly #gapListeners = new Set<() => void>();
  readonly #leave = new Set<() => void>();
  /** Time of the last delivery from each sender. */
  readonly #lastFrom = new Map<string, number>();
  #lastSent = 0;
  /** Counts losses of the connection. */
  #losses = 0;

  constructor(engine: EngineState, topics: Topics, process: SimProcess, connection: Connection, node: string) {
    this.#engine = engine;
    this.#topics = topics;
    this.#process = process;
    this.#connection = connection;
    this.#node = node;
  }

  publish(topic: string, text: string): Promise<void> {
    const { scheduler } = this.#engine;
    const now = scheduler.now();
    const at = Math.max(this.#lastSent, now + this.#engine.delay());
    this.#lastSent = at;
    const send = () => this.#topics.publish(topic, text, this.#node);
    return this.#connection.operate(`publish ${topic} ${text}`, false, send, undefined, at - now);
  }

  async subscribe(topic: string, listener: Listener): Promise<() => void> {
    const topics = this.#topics;
    const add = () => topics.add(topic, this, listener);
    const remove = (subscription: Subscription) => topics.remove(topic, subscription);
    const subscription = await this.#connection.operate(`subscribe ${topic}`, true, add, remove);
    const leave = () => {
      if (this.#leave.delete(leave)) remove(subscription);
    };
    this.#leave.add(leave);
    return leave;
  }

  onGap(listener: () => void): () => void {
    const own = () => listener();
    this.#gapListeners.add(own);
    return () => void this.#gapListeners.delete(own);
  }

  receive(subscription: Subscription, text: string, from: string): void {
    if (!this.#connection.isUp) return;
    const { scheduler } = this.#engine;
    const now = scheduler.now();
    const at = Math.max(this.#lastFrom.get(from) ?? 0, now + this.#engine.delay());
    this.#lastFrom.set(from, at);
    const losses = this.#losses;
    const deliver = () => {
      if (losses !== this.#losses) return;
      this.#process.enter(() => {
        if (!subscription.isOn) return;
        this.#engine.trace(() => `bus ${this.#process.name} gets ${text}`);
        subscription.listener(text, from);
      });
    };
    scheduler.schedule(deliver, at - now);
  }

  /** Loses a message. The node learns it some time later. */
  lose(learnedMs: number, what: string): void {
    this.#engine.trace(() => `bus ${this.#process.name} misses ${what}`);
    this.tellGap(learnedMs);
  }

  /** Loses the messages under way. */
  cut(): void {
    this.#losses++;
  }

  tellGap(afterMs: number): void {
    if (this.#engine.broken === "gap") return;
    const tell = () => {
      if (!this.#connection.isUp) return;
      this.#engine.trace(() => `bus ${this.#process.name} learns of a gap`);
      for (const listener of [...this.#gapListeners]) listener();
    };
    this.#engine.scheduler.schedule(() => this.#process.enter(tell), afterMs);
  }

  close(): void {
    this.#losses++;
    for (const leave of this.#leave) leave();
    this.#gapListeners.clear();
  }
}
