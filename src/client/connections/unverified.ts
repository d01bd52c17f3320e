import { untilAborted } from "../../call/abortable.js";
import type { CallLifetime } from "../../call/lifetime.js";
import type {
  ClientResult,
  ClientRuntime,
  Connection,
  ConnectionCall,
  Subscription,
  WatchEvents,
} from "../../era/client-era.js";
import type { CloseOptions } from "../../era/transport.js";
import { ConnectionError, RpcError } from "../../protocol/errors.js";
import type { Params } from "../../protocol/jsonrpc/message.js";
import type { LoggingLevel, SubscriptionFilter } from "../../protocol/types/index.js";
import { innerRuntime, WrappedConnection } from "./wrapped.js";

/** Opens a connection from prior knowledge, or, with a signal, by probing the server. */
export type OpenUnverified = (runtime: ClientRuntime, asking?: AbortSignal) => Promise<Connection>;

/**
 * Connection that was opened from prior knowledge. The first successful call confirms it. If the server refuses a call
 * before that, the server is probed once, within the limits of that call. If it speaks another era, the refused calls
 * are repeated in that era. Other calls in progress on the first connection may fail.
 */
export class UnverifiedConnection extends WrappedConnection implements Connection {
  readonly #open: OpenUnverified;
  readonly #runtime: ClientRuntime;
  #unproved = true;
  #logLevel: LoggingLevel | undefined;
  #closed = false;
  /** Connection that was replaced. */
  #replaced: Connection | undefined;
  /** Resolves when the probe is done. Undefined without a probe. */
  #look: Promise<void> | undefined;
  /** Refused calls that wait for the probe. */
  readonly #asking = new Set<CallLifetime>();

  private constructor(runtime: ClientRuntime, open: OpenUnverified) {
    super();
    this.#open = open;
    this.#runtime = innerRuntime(runtime, (reason, connection) => {
      if (connection === this.connection) runtime.onClose(reason, this);
    });
  }

  static async open(runtime: ClientRuntime, open: OpenUnverified): Promise<UnverifiedConnection> {
    const unverified = new UnverifiedConnection(runtime, open);
    unverified.connection = await open(unverified.#runtime);
    return unverified;
  }

  call(call: ConnectionCall, lifetime: CallLifetime): Promise<ClientResult> {
    return this.#attempt(lifetime, (connection, again) =>
      connection.call(again ? { ...call, id: undefined } : call, lifetime),
    );
  }

  notify(method: string, params: Params | undefined): void | Promise<void> {
    return this.connection.notify(method, params);
  }

  async setLogLevel(level: LoggingLevel, lifetime: CallLifetime): Promise<void> {
    await this.connection.setLogLevel(level, lifetime);
    this.#logLevel = level;
  }

  watch(filter: SubscriptionFilter, events: WatchEvents, lifetime: CallLifetime): Promise<Subscription> {
    return this.#attempt(lifetime, (connection) => connection.watch(filter, events, lifetime));
  }

  async close(options?: CloseOptions): Promise<void> {
    this.#closed = true;
    const reason = new ConnectionError("The connection was closed before the response arrived", { delivery: "sent" });
    for (const lifetime of [...this.#asking]) lifetime.abort(reason);
    await Promise.all([this.connection.close(options), this.#replaced?.close()]);
  }

  async #attempt<T>(lifetime: CallLifetime, work: (connection: Connection, again: boolean) => Promise<T>): Promise<T> {
    const connection = this.connection;
    try {
      const result = await work(connection, false);
      this.#unproved = false;
      return result;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (connection === this.connection) await this.#ask(lifetime, error);
      return work(this.connection, true);
    }
  }

  /** Resolves when the connection has switched to the server's era. Throws the refusal if the era is unchanged. */
  async #ask(lifetime: CallLifetime, refused: unknown): Promise<void> {
    const refuser = this.connection;
    this.#asking.add(lifetime);
    try {
      while (this.#look !== undefined) await untilAborted(this.#look, lifetime);
      if (this.connection === refuser && this.#unproved && !this.#closed) await this.#lookAgain(lifetime);
    } catch (error) {
      // An error of the probe is not an error of the call, which got a response.
      throw lifetime.aborted || !(error instanceof ConnectionError) ? error : refused;
    } finally {
      this.#asking.delete(lifetime);
    }
    if (this.connection === refuser) throw refused;
  }

  async #lookAgain(lifetime: CallLifetime): Promise<void> {
    let over = () => {};
    this.#look = new Promise((resolve) => {
      over = resolve;
    });
    try {
      const other = await this.#open(this.#runtime, lifetime.signal);
      if (this.#closed || lifetime.aborted || other.era === this.era) await other.close();
      else await this.#goOver(other, lifetime);
      lifetime.throwIfAborted();
    } finally {
      // An aborted probe has not confirmed anything.
      if (!lifetime.aborted) this.#unproved = false;
      this.#look = undefined;
      over();
    }
  }

  async #goOver(other: Connection, lifetime: CallLifetime): Promise<void> {
    this.#replaced = this.connection;
    this.replaceBy(other);
    if (this.#logLevel === undefined || other.server.capabilities.logging === undefined) return;
    await other.setLogLevel(this.#logLevel, lifetime).catch((error: Error) => this.#runtime.onProblem(error));
  }
}

/** True if the server answered a call with a JSON-RPC error, or with a status 4xx other than 401 and 403. */
function isRefusal(error: unknown): boolean {
  if (error instanceof RpcError) return !error.local;
  const status = error instanceof ConnectionError ? (error.status ?? 0) : 0;
  return status >= 400 && status < 500 && status !== 401 && status !== 403;
}
