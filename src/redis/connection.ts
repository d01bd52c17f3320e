import type { Clock } from "../call/clock.js";
import { Link } from "../cluster/connection.js";
import type { ClusterError } from "../cluster/error.js";
import type { StoreEvents } from "../cluster/store.js";
import { fromStored, toStored } from "../cluster/text.js";
import { failureOf, isAnswer, isReply, isShort } from "./failure.js";
import { namesOf, type Script } from "./scripts.js";

/** Client library as the cluster uses it. `fromNodeRedis` and `fromIoredis` create it. */
export interface RedisClient {
  /**
   * Opens a connection of its own, which does not reconnect, queues nothing while it is closed and repeats no command.
   * Rejects if it cannot be opened, or when the signal fires.
   */
  open(events: RedisEvents, signal: AbortSignal): Promise<RedisConnection>;
}

export interface RedisEvents {
  onMessage(channel: string, text: string): void;
  /** Called once when an open connection is closed for any reason. */
  onClose(): void;
}

/** Open connection. Its commands are sent in the order in which they are called. */
export interface RedisConnection {
  command(args: readonly string[]): Promise<unknown>;
  subscribe(channel: string): Promise<void>;
  /** Closes the connection at once. Commands that wait for their reply are rejected. */
  close(): void;
}

export interface RedisConnectionsOptions {
  readonly client: RedisClient;
  readonly prefix: string;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly events: StoreEvents;
  /** Scripts that are loaded by each connection. */
  readonly scripts: readonly Script[];
  /** Examines the server of a new connection. Rejects if it cannot be used. */
  examine(command: RedisConnection["command"]): Promise<void>;
}

/** The two connections of a process: one runs scripts, the other receives texts. */
export class RedisConnections {
  readonly #scripts: Link<RedisConnection>;
  readonly #texts: Link<RedisConnection>;
  readonly #keys: string;
  readonly #hashes = new Map<Script, string>();
  #wasUp = false;

  constructor({ client, prefix, clock, timeoutMs, events, scripts, examine }: RedisConnectionsOptions) {
    const { keys, channel } = namesOf(prefix);
    this.#keys = keys;
    const common = { engine: "Redis", clock, timeoutMs, isAnswer };
    this.#texts = new Link({
      ...common,
      name: "channel",
      failureOf,
      open: (onClose, signal) =>
        client.open({ onMessage: (_, text) => events.onText(fromStored(text)), onClose }, signal),
      prepare: (connection) => connection.subscribe(channel),
      onUp: () => {
        if (this.#wasUp) events.onMissed();
      },
    });
    this.#scripts = new Link({
      ...common,
      name: "commands",
      failureOf: (error: unknown, what: string, isRead: boolean): ClusterError => {
        const failure = failureOf(error, what, isRead);
        if (isShort(failure)) events.onShort();
        return failure;
      },
      open: (onClose, signal) => client.open({ onMessage: () => {}, onClose }, signal),
      prepare: async ({ command }) => {
        // No operation runs before the first attempt to receive texts, so that none can be missed before.
        await this.#texts.tried("start").catch(() => {});
        await examine(command);
        const load = async (script: Script) =>
          this.#hashes.set(script, String(await command(["SCRIPT", "LOAD", script.lua])));
        await Promise.all(scripts.map(load));
      },
      onUp: () => {
        this.#wasUp = true;
      },
    });
  }

  get isUp(): boolean {
    return this.#scripts.isUp && this.#texts.isUp;
  }

  /** Resolves if both connections are open, after the first attempt to open them. Rejects otherwise. */
  async tried(what: string): Promise<void> {
    await Promise.all([this.#scripts.tried(what), this.#texts.tried(what)]);
  }

  /** Opens the connection anew that receives texts. */
  listenAgain(): void {
    this.#texts.reset();
  }

  /** Runs a script. Texts are stored in a form that Redis keeps. */
  run<T>(script: Script, args: readonly (string | number)[]): Promise<T> {
    const rest = ["1", this.#keys, ...args.map((arg) => (typeof arg === "number" ? String(arg) : toStored(arg)))];
    return this.#scripts.ask(script.name, script.isRead, async ({ command }) => {
      try {
        return decoded(await command(["EVALSHA", this.#hashes.get(script) ?? "", ...rest])) as T;
      } catch (error) {
        if (!isReply(error) || !error.message.includes("NOSCRIPT")) throw error;
        return decoded(await command(["EVAL", script.lua, ...rest])) as T;
      }
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.#scripts.close(), this.#texts.close()]);
  }
}

/** Returns a reply with the texts of their stored forms. */
function decoded(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(decoded);
  return typeof reply === "string" ? fromStored(reply) : reply;
}
