import { runWithin } from "../call/abortable.js";
import { ignoreErrors } from "../call/maybe-promise.js";
import type { Bus } from "../cluster/cluster.js";
import type { Channels, Listening } from "./channels.js";
import type { Engine } from "./engine.js";
import { away } from "./failure.js";
import { readScript, type Script, script } from "./scripts.js";

/** Life of the counter of a topic without messages. A counter that begins again looks like a hole, which is harmless. */
const COUNTER_MS = 86_400_000;

/**
 * A full server refuses INCR, but not in a script that has written before, so that a message needs no room.
 * ARGV: channel, node, text.
 */
const PUBLISH = script(
  "publish a message",
  `redis.call('PEXPIRE', KEYS[1], ${COUNTER_MS})
  local n = redis.call('INCR', KEYS[1])
  if n == 1 then redis.call('PEXPIRE', KEYS[1], ${COUNTER_MS}) end
  n = text(n)
  redis.call('PUBLISH', ARGV[1], n .. ' ' .. ARGV[2] .. ' ' .. ARGV[3])
  return 1`,
);
/** Sends the counter of a topic to one node, behind all messages of the topic. ARGV: channel of the node, topic. */
const BEAT = readScript(
  "beat of the bus",
  `redis.call('PUBLISH', ARGV[1], (redis.call('GET', KEYS[1]) or '0') .. ' ' .. ARGV[2])
  return 1`,
);

/** Number of beats in a row that may be on their way before the connection of the channels counts as stuck. */
const MAX_BEATS = 2;
/** Minimum delay of a heartbeat from which this process counts as stopped for a time. */
const PAUSE_MS = 1_000;

interface Topic {
  readonly listeners: Set<(text: string, from: string) => void>;
  readonly listening: Listening;
  /** Number of the last message. Undefined until a message or a beat tells it. */
  last: number | undefined;
}

/**
 * Messages by the channels of Redis, numbered per topic by the engine. A message that does not have the next number shows
 * a hole. A heartbeat sends the number of each topic to this node by way of the engine, which shows the loss of the last
 * message, and a connection that delivers nothing.
 */
export class RedisBus implements Bus {
  static readonly scripts: readonly Script[] = [PUBLISH, BEAT];
  readonly #engine: Engine;
  readonly #channels: Channels;
  readonly #topics = new Map<string, Topic>();
  readonly #gaps = new Set<() => void>();
  readonly #heartbeatMs: number;
  readonly #own: string;
  #timer: unknown;
  /** Beats that were sent and have not arrived. */
  #beats = 0;

  constructor(engine: Engine, channels: Channels, heartbeatMs: number) {
    this.#engine = engine;
    this.#channels = channels;
    this.#heartbeatMs = heartbeatMs;
    this.#own = engine.keys.channel("node", engine.node);
    channels.listen(this.#own, (text) => this.#onBeat(text));
    channels.onReturn(() => this.#onReturn());
    this.#schedule();
  }

  async publish(topic: string, text: string): Promise<void> {
    const { engine, channel, counter } = this.#names(topic);
    await engine.run(PUBLISH, [counter], [channel, engine.node, text]);
  }

  async subscribe(topic: string, listener: (text: string, from: string) => void): Promise<() => void> {
    const { clock, closing, timeoutMs } = this.#engine;
    const what = `subscribe to ${JSON.stringify(topic)}`;
    if (closing.aborted) throw away(`${what}: the cluster is closed`);
    await this.#channels.tried(what);
    const entry = this.#open(topic);
    const own = (text: string, from: string) => listener(text, from);
    entry.listeners.add(own);
    const leave = () => {
      if (!entry.listeners.delete(own) || entry.listeners.size > 0) return;
      entry.listening.stop();
      this.#topics.delete(topic);
    };
    const late = () => away(`${what}: Redis did not confirm it within ${timeoutMs} ms`);
    try {
      await runWithin({ clock, signal: closing, ms: timeoutMs, late }, () => entry.listening.ready);
      if (entry.last === undefined) await this.#beat(topic);
    } catch (error) {
      leave();
      throw closing.aborted ? away(`${what}: the cluster is closed`) : error;
    }
    return leave;
  }

  onGap(listener: () => void): () => void {
    const own = () => listener();
    this.#gaps.add(own);
    return () => void this.#gaps.delete(own);
  }

  close(): void {
    this.#engine.clock.cancel(this.#timer);
    this.#topics.clear();
    this.#gaps.clear();
  }

  #open(topic: string): Topic {
    const known = this.#topics.get(topic);
    if (known !== undefined) return known;
    const listening = this.#channels.listen(this.#names(topic).channel, (text) => this.#onMessage(entry, text));
    const entry: Topic = { listeners: new Set(), listening, last: undefined };
    this.#topics.set(topic, entry);
    return entry;
  }

  #onMessage(topic: Topic, message: string): void {
    const [number = "", from = ""] = message.split(" ", 2);
    const text = message.slice(number.length + from.length + 2);
    const isNext = topic.last === undefined || Number(number) === topic.last + 1;
    topic.last = Number(number);
    if (!isNext) this.gap();
    for (const listener of [...topic.listeners]) ignoreErrors(() => listener(text, from));
  }

  #onBeat(text: string): void {
    this.#beats = 0;
    const at = text.indexOf(" ");
    const topic = this.#topics.get(text.slice(at + 1));
    if (at < 0 || topic === undefined) return;
    const last = Number(text.slice(0, at));
    const isMissed = topic.last !== undefined && topic.last !== last;
    topic.last = last;
    if (isMissed) this.gap();
  }

  /** Begins to count anew, since the engine may have lost its last numbers. */
  #onReturn(): void {
    this.#beats = 0;
    for (const topic of this.#topics.values()) topic.last = undefined;
    this.gap();
    this.#beatAll();
  }

  /** Tells that messages may have been missed. */
  gap(): void {
    this.#channels.tellMissed();
    for (const listener of [...this.#gaps]) ignoreErrors(listener);
  }

  #schedule(): void {
    const { clock, closing } = this.#engine;
    const due = clock.now() + this.#heartbeatMs;
    this.#timer = clock.schedule(() => {
      if (closing.aborted) return;
      // Others may have taken a process that was stopped for lost.
      if (clock.now() - due > Math.max(PAUSE_MS, MAX_BEATS * this.#heartbeatMs)) this.gap();
      this.#schedule();
      this.#beatAll();
    }, this.#heartbeatMs);
  }

  #beatAll(): void {
    if (!this.#channels.isUp || !this.#engine.isUp) return;
    if (this.#beats >= MAX_BEATS) {
      this.#beats = 0;
      return this.#channels.reset();
    }
    this.#beats++;
    for (const topic of ["", ...this.#topics.keys()]) this.#beat(topic).catch(() => {});
  }

  async #beat(topic: string): Promise<void> {
    await this.#engine.run(BEAT, [this.#names(topic).counter], [this.#own, topic]);
  }

  #names(topic: string) {
    const engine = this.#engine;
    return { engine, channel: engine.keys.channel("bus", topic), counter: engine.keys.key("count", topic) };
  }
}
