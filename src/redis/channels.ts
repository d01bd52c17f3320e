import type { Clock } from "../call/clock.js";
import { ignoreErrors } from "../call/maybe-promise.js";
import { Link } from "../cluster/engine/link.js";
import type { RedisClient, RedisConnection } from "./client.js";
import { failureOf, isAnswer } from "./failure.js";

export type ChannelListener = (text: string) => void;

/** Place of a listener in a channel. */
export interface Listening {
  /** Resolves when messages arrive that are published from now on. Waits while the engine is away. */
  readonly ready: Promise<void>;
  stop(): void;
}

export interface ChannelsOptions {
  readonly client: RedisClient;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

interface Channel {
  readonly listeners: Set<ChannelListener>;
  /** Connection that is subscribed, or is about to be. */
  on: RedisConnection | undefined;
  isReady: boolean;
  ready: Promise<void>;
  setReady: () => void;
}

/** Channels that this process hears, on one connection. Each channel is subscribed once. */
export class Channels {
  readonly #link: Link<RedisConnection>;
  readonly #channels = new Map<string, Channel>();
  /** Channels that are being left. The client libraries mix up commands for one channel that overlap. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #returns = new Set<() => void>();
  readonly #missed = new Set<() => void>();
  #ups = 0;

  constructor({ client, clock, timeoutMs }: ChannelsOptions) {
    this.#link = new Link({
      name: "channels",
      engine: "Redis",
      clock,
      timeoutMs,
      prepare: (connection) => this.#subscribeAll(connection),
      open: (onClose, signal) =>
        client.open({ onMessage: (channel, text) => this.#deliver(channel, text), onClose }, signal),
      failureOf,
      isAnswer,
      onUp: () => this.#onUp(),
      onDown: () => this.#onDown(),
    });
  }

  get isUp(): boolean {
    return this.#link.isUp;
  }

  tried(what: string): Promise<void> {
    return this.#link.tried(what);
  }

  listen(name: string, listener: ChannelListener): Listening {
    let channel = this.#channels.get(name);
    if (channel === undefined) {
      channel = newChannel();
      this.#channels.set(name, channel);
      this.#subscribe(name, channel);
    }
    const { listeners } = channel;
    // A function of its own, so that a listener that is added twice has two places.
    const own: ChannelListener = (text) => listener(text);
    listeners.add(own);
    const stop = () => {
      if (listeners.delete(own) && listeners.size === 0) this.#leave(name);
    };
    return { ready: channel.ready, stop };
  }

  /**
   * Calls the listener after a connection was replaced and all channels are subscribed again. Messages may have been
   * missed. Returns a function that removes the listener.
   */
  onReturn(listener: () => void): () => void {
    const own = () => listener();
    this.#returns.add(own);
    return () => void this.#returns.delete(own);
  }

  /** Calls the listener when messages may have been missed, for whatever reason. */
  onMissed(listener: () => void): () => void {
    const own = () => listener();
    this.#missed.add(own);
    return () => void this.#missed.delete(own);
  }

  /** Tells that messages may have been missed. */
  tellMissed(): void {
    for (const listener of [...this.#missed]) ignoreErrors(listener);
  }

  /** Replaces the connection, since it delivers nothing any more. */
  reset(): void {
    this.#link.reset();
  }

  close(): Promise<void> {
    this.#channels.clear();
    return this.#link.close();
  }

  #subscribe(name: string, channel: Channel): void {
    const { connection } = this.#link;
    if (connection === undefined || channel.on === connection) return;
    const left = this.#leaving.get(name);
    if (left !== undefined) {
      left.then(() => {
        if (this.#channels.get(name) === channel) this.#subscribe(name, channel);
      });
      return;
    }
    channel.on = connection;
    const work = (on: RedisConnection) => on.subscribe(name);
    // A failure replaces the connection, and the next connection subscribes again.
    this.#link.ask(`subscribe to ${name}`, true, work).then(channel.setReady, () => connection.close());
  }

  async #subscribeAll(connection: RedisConnection): Promise<void> {
    const all = [...this.#channels].map(async ([name, channel]) => {
      channel.on = connection;
      await connection.subscribe(name);
      channel.setReady();
    });
    await Promise.all(all);
  }

  #leave(name: string): void {
    const channel = this.#channels.get(name);
    this.#channels.delete(name);
    const connection = channel?.on;
    if (channel === undefined || connection === undefined) return;
    const left = channel.ready
      .then(async () => {
        if (connection !== this.#link.connection) return;
        await this.#link.ask(`unsubscribe from ${name}`, true, (on) => on.unsubscribe(name));
      })
      .catch(() => connection.close())
      .finally(() => {
        if (this.#leaving.get(name) === left) this.#leaving.delete(name);
      });
    this.#leaving.set(name, left);
  }

  #onUp(): void {
    for (const [name, channel] of this.#channels) this.#subscribe(name, channel);
    if (this.#ups++ > 0) for (const listener of [...this.#returns]) ignoreErrors(listener);
  }

  #onDown(): void {
    this.#leaving.clear();
    for (const channel of this.#channels.values()) {
      channel.on = undefined;
      if (channel.isReady) unready(channel);
    }
  }

  #deliver(name: string, text: string): void {
    const channel = this.#channels.get(name);
    if (channel === undefined) return;
    for (const listener of [...channel.listeners]) ignoreErrors(() => listener(text));
  }
}

function newChannel(): Channel {
  const channel: Channel = {
    listeners: new Set(),
    on: undefined,
    isReady: false,
    ready: Promise.resolve(),
    setReady: () => {},
  };
  unready(channel);
  return channel;
}

function unready(channel: Channel): void {
  channel.isReady = false;
  channel.ready = new Promise((resolve) => {
    channel.setReady = () => {
      channel.isReady = true;
      resolve();
    };
  });
}
