import type { PingOptions } from "../call/ping-loop.js";
import type { CallScope } from "../call/scope.js";
import type {
  ClientEra,
  ClientHost,
  ClientResult,
  Connection,
  ConnectionCall,
  PriorKnowledge,
  SavedSession,
  ServerFacts,
  Subscription,
  WatchEvents,
} from "../era/client-era.js";
import type { CloseOptions } from "../era/link.js";
import type { Params } from "../jsonrpc/message.js";
import { ConnectionError, RpcError } from "../schema/errors.js";
import type { LoggingLevel, SubscriptionFilter } from "../schema/types.js";
import { innerHost } from "./inner-host.js";

/** Makes a connection: from what was handed over, or, until the signal fires, by asking the server. */
export type OpenOnHearsay = (host: ClientHost, asking?: AbortSignal) => Promise<Connection>;

/**
 * A connection that was made from what somebody else has learnt. The first answer proves it. When the server refuses a
 * call before that, it is asked once what it speaks, within the limits of that call, and if it is another era the call is
 * made in that. Whichever of the two connections is not used any more is closed.
 */
export class HearsayConnection implements Connection {
  readonly #open: OpenOnHearsay;
  readonly #host: ClientHost;
  #connection!: Connection;
  #unproved = true;
  #closed = false;
  /** The call that the server is being asked for. */
  #asking: CallScope | undefined;
  #pings: PingOptions | undefined;

  private constructor(host: ClientHost, open: OpenOnHearsay) {
    this.#open = open;
    this.#host = innerHost(host, (reason, connection) => {
      if (connection === this.#connection) host.onClose(reason, this);
    });
  }

  static async open(host: ClientHost, open: OpenOnHearsay): Promise<HearsayConnection> {
    const hearsay = new HearsayConnection(host, open);
    hearsay.#connection = await open(hearsay.#host);
    return hearsay;
  }

  get era(): ClientEra {
    return this.#connection.era;
  }

  get server(): ServerFacts {
    return this.#connection.server;
  }

  get prior(): PriorKnowledge {
    return this.#connection.prior;
  }

  get mirrorsHeaders(): boolean {
    return this.#connection.mirrorsHeaders;
  }

  get session(): SavedSession | undefined {
    return this.#connection.session;
  }

  async call(call: ConnectionCall, scope: CallScope): Promise<ClientResult> {
    try {
      const result = await this.#connection.call(call, scope);
      this.#unproved = false;
      return result;
    } catch (error) {
      if (!this.#unproved || !isRefusal(error)) throw error;
      this.#unproved = false;
      await this.#ask(scope, error);
      return this.#connection.call({ ...call, id: undefined }, scope);
    }
  }

  notify(method: string, params: Params | undefined): void | Promise<void> {
    return this.#connection.notify(method, params);
  }

  setLogLevel(level: LoggingLevel, scope: CallScope): Promise<void> {
    return this.#connection.setLogLevel(level, scope);
  }

  keepPinging(options: PingOptions): void {
    this.#pings = options;
    this.#connection.keepPinging?.(options);
  }

  watch(filter: SubscriptionFilter, events: WatchEvents, scope: CallScope): Promise<Subscription> {
    return this.#connection.watch(filter, events, scope);
  }

  close(options?: CloseOptions): Promise<void> {
    this.#closed = true;
    this.#asking?.abort(new ConnectionError("The connection was closed before the answer came", { delivery: "sent" }));
    return this.#connection.close(options);
  }

  /** Goes over to the era that the server speaks; throws the refusal where it is the one that was spoken. */
  async #ask(scope: CallScope, refused: unknown): Promise<void> {
    this.#asking = scope;
    const other = await this.#open(this.#host, scope.signal).finally(() => {
      this.#asking = undefined;
    });
    const old = this.#connection;
    const isOfUse = !this.#closed && !scope.aborted && other.era !== old.era;
    if (isOfUse) this.#connection = other;
    await (isOfUse ? old : other).close();
    scope.throwIfAborted();
    if (!isOfUse) throw refused;
    if (this.#pings !== undefined) other.keepPinging?.(this.#pings);
  }
}

/** Whether the server refused a call, rather than failed at it. */
function isRefusal(error: unknown): boolean {
  if (error instanceof RpcError) return !error.local;
  const status = error instanceof ConnectionError ? (error.status ?? 0) : 0;
  return status >= 400 && status < 500 && status !== 401 && status !== 403;
}
