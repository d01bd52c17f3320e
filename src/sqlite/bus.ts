import { ignoreErrors } from "../call/maybe-promise.js";
import type { Bus } from "../cluster/cluster.js";
import { fromStored, toStored } from "../cluster/engine/text.js";
import type { Engine } from "./engine.js";
import type { Message } from "./messages.js";
import type { Watch } from "./watch.js";

interface Subscription {
  readonly listener: (text: string, from: string) => void;
  /** Messages up to this number were published before the subscription. */
  since: number;
}

/** Messages by a table, whose numbers have no holes. */
export class SqliteBus implements Bus {
  readonly #engine: Engine;
  readonly #watch: Watch;
  readonly #node: string;
  readonly #topics = new Map<string, Set<Subscription>>();
  readonly #gaps = new Set<() => void>();

  constructor(engine: Engine, watch: Watch, node: string) {
    this.#engine = engine;
    this.#watch = watch;
    this.#node = node;
  }

  publish(topic: string, text: string): Promise<void> {
    return this.#engine.run("publish", this.#node, toStored(topic), toStored(text));
  }

  async subscribe(topic: string, listener: (text: string, from: string) => void): Promise<() => void> {
    const unwatch = this.#watch.topic(toStored(topic));
    // The thread tells of later messages after it has answered.
    const since = await this.#engine.run("lastMessage").catch((error) => {
      unwatch();
      throw error;
    });
    const subscription = { listener, since };
    const found = this.#topics.get(topic) ?? new Set();
    this.#topics.set(topic, found.add(subscription));
    return () => {
      unwatch();
      found.delete(subscription);
      if (found.size === 0 && this.#topics.get(topic) === found) this.#topics.delete(topic);
    };
  }

  onGap(listener: () => void): () => void {
    const entry = () => listener();
    this.#gaps.add(entry);
    return () => void this.#gaps.delete(entry);
  }

  /** Tells that messages may have been missed. */
  gap(): void {
    for (const tell of [...this.#gaps]) ignoreErrors(tell);
  }

  /** Tells all processes that messages may have been missed, since some could not be stored. */
  tellAll(): void {
    this.gap();
    this.#engine.run("skipMessage").catch(() => {});
  }

  /** Forgets the numbers of messages, since another file may be open now. */
  reset(): void {
    for (const subscription of [...this.#topics.values()].flatMap((found) => [...found])) subscription.since = 0;
    this.gap();
  }

  deliver({ id, sender, topic, text }: Message): void {
    const message = fromStored(text);
    for (const { listener, since } of [...(this.#topics.get(fromStored(topic)) ?? [])])
      if (id > since) ignoreErrors(() => listener(message, sender));
  }

  /** Ends all subscriptions. */
  close(): void {
    this.#topics.clear();
    this.#gaps.clear();
  }
}
