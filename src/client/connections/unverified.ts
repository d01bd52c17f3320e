import { withinScope } from "../../call/abortable.js";
import type { CallScope } from "../../call/lifetime.js";
import type {
  ClientHost,
  ClientResult,
  Connection,
  ConnectionCall,
  Subscription,
  WatchEvents,
} from "../../era/client-era.js";
import type { CloseOptions } from "../../era/link.js";
import { ConnectionError, RpcError } from "../../protocol/errors.js";
import type { Params } from "../../protocol/jsonrpc/message.js";
import type { LoggingLevel, SubscriptionFilter } from "../../protocol/types/index.js";
import { innerHost, WrappedConnection } from "./wrapped.js";

/** Makes a connection: from what was handed over, or, until the signal fires, by asking the server. */
export type OpenOnHearsay = (host: ClientHost, asking?: AbortSignal) => Promise<Connection>;

/**
 * A connection that was made from what somebody else has learnt. The first answer proves it. When the server refuses a
 * call before that, it is asked once what it speaks, within the limits of that call, and if it is another era the call is
 * made in that, as are those that were refused meanwhile. What else is under way on the first connection may end there.
 */
export class HearsayConnection extends WrappedConnection implements Connection {
  readonly #open: OpenOnHearsay;
  readonly #host: ClientHost;
  #unproved = true;
  #logLevel: LoggingLevel | undefined;
  #closed = false;
  /** The one that another has taken the place of. */
  #replaced: Connection | undefined;
  /** Resolves when the server has been asked; undefined while nobody asks it. */
  #look: Promise<void> | undefined;
  /** The calls that were refused and depend on what the server says. */
  readonly #asking = new Set<CallScope>();

  private constructor(host: ClientHost, open: OpenOnHearsay) {
    super();
    this.#open = open;
    this.#host = innerHost(host, (reason, connection) => {
      if (connection === this.connection) host.onClose(reason, this);
    });
  }

  static async open(host: ClientHost, open: OpenOnHearsay): Promise<HearsayConnection> {
    const hearsay = new HearsayConnection(host, open);
    hearsay.connection = await open(hearsay.#host);
    return hearsay;
  }

  call(call: ConnectionCall, scope: CallScope): Promise<ClientResult> {
    return this.#attempt(scope, (connection, again) =>
      connection.call(again ? { ...call, id: undefined } : call, scope),
    );
  }

  notify(method: string, params: Params | undefined): void | Promise<void> {
    return this.connection.notify(method, params);
  }

  async setLogLevel(level: LoggingLevel, scope: CallScope): Promise<void> {
    await this.connection.setLogLevel(level, scope);
    this.#logLevel = level;
  }

  watch(filter: SubscriptionFilter, events: WatchEvents, scope: CallScope): Promise<Subscription> {
    return this.#attempt(scope, (connection) => connection.watch(filter, events, scope));
  }

  async close(options?: CloseOptions): Promise<void> {
    this.#closed = true;
    const reason = new ConnectionError("The connection was closed before the answer came", { delivery: "sent" });
    for (const scope of [...this.#asking]) scope.abort(reason);
    await Promise.all([this.connection.close(options), this.#replaced?.close()]);
  }

  async #attempt<T>(scope: CallScope, work: (connection: Connection, again: boolean) => Promise<T>): Promise<T> {
    const connection = this.connection;
    try {
      const result = await work(connection, false);
      this.#unproved = false;
      return result;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (connection === this.connection) await this.#ask(scope, error);
      return work(this.connection, true);
    }
  }

  /** Resolves when it has gone over to the era that the server speaks; throws the refusal where that is the one spoken. */
  async #ask(scope: CallScope, refused: unknown): Promise<void> {
    const refuser = this.connection;
    this.#asking.add(scope);
    try {
      while (this.#look !== undefined) await withinScope(this.#look, scope);
      if (this.connection === refuser && this.#unproved && !this.#closed) await this.#lookAgain(scope);
    } finally {
      this.#asking.delete(scope);
    }
    if (this.connection === refuser) throw refused;
  }

  async #lookAgain(scope: CallScope): Promise<void> {
    let over = () => {};
    this.#look = new Promise((resolve) => {
      over = resolve;
    });
    try {
      const other = await this.#open(this.#host, scope.signal);
      if (this.#closed || scope.aborted || other.era === this.era) await other.close();
      else await this.#goOver(other, scope);
      scope.throwIfAborted();
    } finally {
      // A call that was given up has not found out.
      if (!scope.aborted) this.#unproved = false;
      this.#look = undefined;
      over();
    }
  }

  async #goOver(other: Connection, scope: CallScope): Promise<void> {
    this.#replaced = this.connection;
    this.replaceBy(other);
    if (this.#logLevel === undefined || other.server.capabilities.logging === undefined) return;
    await other.setLogLevel(this.#logLevel, scope).catch((error: Error) => this.#host.onProblem(error));
  }
}

/** Whether the server refused a call, rather than failed at it. */
function isRefusal(error: unknown): boolean {
  if (error instanceof RpcError) return !error.local;
  const status = error instanceof ConnectionError ? (error.status ?? 0) : 0;
  return status >= 400 && status < 500 && status !== 401 && status !== 403;
}
