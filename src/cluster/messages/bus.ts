import { ignoreErrors } from "../../call/maybe-promise.js";
import type { Bus } from "../cluster.js";
import type { Calls } from "./calls.js";

interface Subscription {
  readonly listener: (text: string, from: string) => void;
}

/** Messages that the host passes on. */
export class MessageBus implements Bus {
  readonly #calls: Calls;
  readonly #topics = new Map<string, Set<Subscription>>();
  readonly #gaps = new Set<{ readonly listener: () => void }>();

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  publish(topic: string, text: string): Promise<void> {
    return this.#calls.run("publish", topic, text);
  }

  async subscribe(topic: string, listener: (text: string, from: string) => void): Promise<() => Promise<void>> {
    // Messages can come together with the result.
    const subscription = { listener };
    const found = this.#topics.get(topic) ?? new Set();
    this.#topics.set(topic, found.add(subscription));
    const leave = () => {
      const wasOn = found.delete(subscription);
      if (found.size === 0 && this.#topics.get(topic) === found) this.#topics.delete(topic);
      return wasOn;
    };
    try {
      await this.#calls.run("subscribe", topic);
    } catch (error) {
      leave();
      throw error;
    }
    return async () => {
      // A host that cannot be reached forgets the topic with this process.
      if (leave()) await this.#calls.run("unsubscribe", topic).catch(() => {});
    };
  }

  onGap(listener: () => void): () => void {
    const entry = { listener };
    this.#gaps.add(entry);
    return () => void this.#gaps.delete(entry);
  }

  /** Tells that messages may have been missed. */
  gap(): void {
    for (const { listener } of [...this.#gaps]) ignoreErrors(listener);
  }

  deliver(topic: string, text: string, from: string): void {
    for (const { listener } of [...(this.#topics.get(topic) ?? [])]) ignoreErrors(() => listener(text, from));
  }

  /** Ends all subscriptions. */
  close(): void {
    this.#topics.clear();
    this.#gaps.clear();
  }
}
