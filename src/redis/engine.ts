import type { Clock } from "../call/clock.js";
import { Link } from "../cluster/engine/link.js";
import type { ClusterError } from "../cluster/error.js";
import type { RedisClient, RedisConnection } from "./client.js";
import { away, failureOf, isAnswer, isReply, isShort } from "./failure.js";
import { Keys } from "./keys.js";
import type { Script } from "./scripts.js";

export interface EngineOptions {
  readonly node: string;
  readonly client: RedisClient;
  readonly prefix: string;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Scripts that are loaded by each connection. */
  readonly scripts: readonly Script[];
  /** Examines the server after each connect. Rejects if it cannot be used. */
  examine(command: RedisConnection["command"]): Promise<void>;
}

/** Commands and scripts that run on the Redis server. */
export class Engine {
  readonly node: string;
  readonly clock: Clock;
  readonly keys: Keys;
  readonly timeoutMs: number;
  /** Fires when the cluster closes. */
  readonly closing: AbortSignal;
  /** Called when the server could not store something. */
  onShort: () => void = () => {};
  readonly #link: Link<RedisConnection>;
  readonly #closer = new AbortController();
  readonly #hashes = new Map<Script, string>();
  #tokens = 0;

  constructor({ node, client, prefix, clock, timeoutMs, scripts, examine }: EngineOptions) {
    this.node = node;
    this.clock = clock;
    this.timeoutMs = timeoutMs;
    this.keys = new Keys(prefix);
    this.closing = this.#closer.signal;
    const prepare = async (connection: RedisConnection) => {
      await examine((args) => connection.command(args));
      await Promise.all(
        scripts.map(async (script) => {
          this.#hashes.set(script, String(await connection.command(["SCRIPT", "LOAD", script.lua])));
        }),
      );
    };
    const open = (onClose: () => void, signal: AbortSignal) => client.open({ onMessage: () => {}, onClose }, signal);
    const toFailure = (error: unknown, what: string, isRead: boolean): ClusterError => {
      const failure = failureOf(error, what, isRead);
      if (isShort(failure)) this.onShort();
      return failure;
    };
    const options = { name: "commands", engine: "Redis", clock, timeoutMs, open, prepare, isAnswer };
    this.#link = new Link({ ...options, failureOf: toFailure });
  }

  get isUp(): boolean {
    return this.#link.isUp && !this.closing.aborted;
  }

  /** Resolves if there is a connection, after the first attempt to connect. Rejects otherwise. `what` is in the error. */
  tried(what: string): Promise<void> {
    return this.#link.tried(what);
  }

  /** Returns a name that no other process and no other call uses. */
  token(): string {
    this.#tokens++;
    return `${this.node}.${this.#tokens.toString(36)}`;
  }

  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    if (this.closing.aborted) return Promise.reject(away(`${script.name}: the cluster is closed`));
    return this.runAtEnd(script, keys, args);
  }

  /** Runs a script, also while the cluster closes. */
  runAtEnd(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args.map(String)];
    return this.#link.ask(script.name, script.isRead, async ({ command }) => {
      try {
        return await command(["EVALSHA", this.#hashes.get(script) ?? "", ...rest]);
      } catch (error) {
        if (!isReply(error) || !error.message.includes("NOSCRIPT")) throw error;
        return command(["EVAL", script.lua, ...rest]);
      }
    });
  }

  /** Ends what waits for the engine. Scripts that release something can still run. */
  startClosing(): void {
    this.#closer.abort();
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}
