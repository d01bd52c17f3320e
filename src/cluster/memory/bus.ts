import type { Bus } from "../cluster.js";
import type { Link } from "./link.js";
import { Window } from "./window.js";

type Listener = (text: string, from: string) => void;

interface Subscription {
  readonly link: Link;
  readonly listener: Listener;
  isOn: boolean;
}

interface Message {
  readonly topic: string;
  readonly text: string;
  readonly from: string;
}

/** Maximum number of messages that wait during a delivery. Above it messages are lost, and all nodes are told of a gap. */
const MAX_WAITING = 10_000;

/** Topics that the nodes of a process share. */
export class TopicTable {
  /** Subscriptions by topic. An array is replaced, not changed, since a delivery may be reading it. */
  readonly #topics = new Map<string, readonly Subscription[]>();
  /** Messages that listeners published during a delivery. They come after the message that is delivered. */
  readonly #waiting = new Window<Message>();
  readonly buses = new Set<MemoryBus>();
  #isDelivering = false;
  #hasLost = false;

  get size(): number {
    return this.#topics.size;
  }

  add(topic: string, subscription: Subscription): void {
    this.#topics.set(topic, [...(this.#topics.get(topic) ?? []), subscription]);
  }

  remove(topic: string, subscription: Subscription): void {
    subscription.isOn = false;
    const rest = (this.#topics.get(topic) ?? []).filter((other) => other !== subscription);
    if (rest.length === 0) this.#topics.delete(topic);
    else this.#topics.set(topic, rest);
  }

  publish(message: Message): void {
    if (this.#waiting.size < MAX_WAITING) this.#waiting.push(message);
    else this.#hasLost = true;
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) this.#deliver(next);
    this.#isDelivering = false;
    if (!this.#hasLost) return;
    this.#hasLost = false;
    for (const bus of this.buses) bus.tellGap();
  }

  #deliver({ topic, text, from }: Message): void {
    for (const { link, listener, isOn } of this.#topics.get(topic) ?? []) {
      if (!isOn || !link.isUp) continue;
      try {
        listener(text, from);
      } catch (error) {
        report(error);
      }
    }
  }
}

export class MemoryBus implements Bus {
  readonly #link: Link;
  readonly #table: TopicTable;
  readonly #gapListeners = new Set<() => void>();
  /** Functions that end the subscriptions of this node. */
  readonly #leave = new Set<() => void>();

  constructor(link: Link, table: TopicTable) {
    this.#link = link;
    this.#table = table;
    table.buses.add(this);
  }

  publish(topic: string, text: string): void {
    this.#link.check();
    this.#table.publish({ topic, text, from: this.#link.node });
  }

  subscribe(topic: string, listener: Listener): () => void {
    this.#link.check();
    const subscription = { link: this.#link, listener, isOn: true };
    this.#table.add(topic, subscription);
    const leave = () => {
      if (this.#leave.delete(leave)) this.#table.remove(topic, subscription);
    };
    this.#leave.add(leave);
    return leave;
  }

  onGap(listener: () => void): () => void {
    const own = () => listener();
    this.#gapListeners.add(own);
    return () => {
      this.#gapListeners.delete(own);
    };
  }

  /** Tells that messages were missed. */
  tellGap(): void {
    for (const listener of [...this.#gapListeners]) {
      try {
        listener();
      } catch (error) {
        report(error);
      }
    }
  }

  close(): void {
    this.#table.buses.delete(this);
    for (const leave of this.#leave) leave();
    this.#gapListeners.clear();
  }
}

/** Reports the error of a listener as uncaught, so that it does not keep a message from others. */
function report(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
