import type { AbortSwitch } from "../call/abort-switch.js";
import type { RetryWaits } from "../call/backoff.js";
import type { Clock } from "../call/clock.js";
import { composeInterceptors } from "../call/interceptor.js";
import { CallLifetime } from "../call/lifetime.js";
import type { MaybePromise } from "../call/maybe-promise.js";
import { tellProgress } from "../call/progress.js";
import type { ClientResult, Connection, ConnectionCall } from "../era/client-era.js";
import { CLIENT_TIMES, type ClientLimits } from "../era/client-limits.js";
import { afterFirstAnswer, ConnectionError, notConnected, type RpcError } from "../protocol/errors.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import { SmallMap } from "../protocol/jsonrpc/small-map.js";
import type { ClientCache } from "./cache/cache.js";
import { capabilityRefusal, missingMethod } from "./capabilities.js";
import type { Extensions } from "./extensions.js";
import { answerInput } from "./input-rounds.js";
import type { CallOptions, ClientCall, ClientOptions } from "./options.js";

/** Makes the caller's value of a result. */
export type ReadResult<T> = (result: ClientResult) => MaybePromise<T>;

/** Ends a call that failed: throws the error that its caller gets. */
type OnFailure = (error: unknown, options: CallOptions) => Promise<never>;

/** The client as its calls see it. */
export interface CallingClient {
  readonly options: ClientOptions;
  readonly extensions: Extensions | undefined;
  readonly clock: Clock;
  readonly limits: ClientLimits;
  readonly waits: RetryWaits;
  answerInput(method: string, params: Params | undefined, end: AbortSwitch): Promise<ClientResult>;
  onFailure: OnFailure;
  onProblem(problem: unknown): void;
}

/**
 * The calls of one client, on the connection that it has. `call` is the page to read to know what a client does with a
 * request: interceptors, checks, lifetime, cache, send, the rounds of input that a server may ask for, result.
 */
export class ClientCalls {
  readonly #client: CallingClient;
  readonly #lifetimes = new SmallMap<CallLifetime, CallLifetime>();
  /** Calls that have nothing on the wire, because it is for this side to go on: no transport would end them. */
  readonly #offWire = new Set<CallLifetime>();
  #connection: Connection | undefined;
  #cache: ClientCache | undefined;
  /** Makes a call through interceptors and extensions; undefined where there are none. */
  #intercepted: ((call: ClientCall) => Promise<ClientResult>) | undefined;
  #over: ConnectionError | undefined;

  constructor(client: CallingClient) {
    this.#client = client;
  }

  /** Calls go over this connection from now on. */
  begin(connection: Connection, cache: ClientCache | undefined): void {
    this.#connection = connection;
    this.#cache = cache;
    const { extensions, options } = this.#client;
    const { interceptors = [] } = options;
    if (interceptors.length === 0 && extensions === undefined) return;
    const intercepted = composeInterceptors(interceptors, (call) => this.#resolve(call));
    this.#intercepted = async (call) => {
      try {
        return await intercepted(call);
      } catch (error) {
        return this.#client.onFailure(error, call.options);
      }
    };
  }

  /** The connection, as long as it is there. */
  get connection(): Connection | undefined {
    return this.#over === undefined ? this.#connection : undefined;
  }

  /** The connection; throws where there is none. */
  connected(): Connection {
    if (this.#connection === undefined || this.#over !== undefined) throw notConnected();
    return this.#connection;
  }

  /** How many calls are under way. */
  get pending(): number {
    return this.#lifetimes.size;
  }

  /** Makes a call and gives the value that is read of its result. */
  call<T>(call: ClientCall, read: ReadResult<T>): Promise<T> {
    try {
      const connection = this.connected();
      if (this.#intercepted !== undefined) return this.#intercepted(call).then(read);
      return this.#send(call, connection, read, this.#client.onFailure);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** The innermost call of the interceptors. A result that an extension owns is the one that the extension makes of it. */
  async #resolve(call: ClientCall): Promise<ClientResult> {
    const { extensions } = this.#client;
    const result = await this.#send(call, this.connected(), unchanged, (error) => Promise.reject(error));
    if (extensions === undefined) return result;
    try {
      return await extensions.resolve(call, result, (method, params, options = {}) =>
        this.call({ method, params, options }, unchanged),
      );
    } catch (error) {
      throw afterFirstAnswer(error);
    }
  }

  /** Throws for a call that is not sent. A call that was sent and failed is what `onFailure` makes of it. */
  #send<T>(call: ClientCall, connection: Connection, read: ReadResult<T>, onFailure: OnFailure): Promise<T> {
    const refusal = this.#refusalOf(call.method, connection);
    if (refusal !== undefined) throw refusal;
    const lifetime = this.#open(call.method, call.options);
    try {
      lifetime.throwIfAborted();
      const request = this.#toRequest(call);
      return this.#exchange(request, connection, lifetime).then(
        (result) => {
          this.#client.waits.end();
          if (result.resultType === "input_required" && !this.#isManual(call)) {
            return this.#answerInput(request, result, connection, lifetime)
              .finally(() => this.#close(lifetime))
              .then(read, (error) => onFailure(error, call.options));
          }
          this.#close(lifetime);
          return read(result);
        },
        (error) => {
          this.#close(lifetime);
          this.#cache?.noteFailure(request, error);
          return onFailure(error, call.options);
        },
      );
    } catch (error) {
      this.#close(lifetime);
      throw error;
    }
  }

  /** A refusal of what is not sent: the era or, where that is wanted, the server has no such method. */
  #refusalOf(method: string, connection: Connection): RpcError | undefined {
    if (connection.era.replacements.has(method)) return missingMethod(method, connection);
    const { extensions, options } = this.#client;
    const refusal = extensions?.refusalOf(method, connection.server);
    if (refusal !== undefined || options.strictCapabilities !== true) return refusal;
    return capabilityRefusal(method, connection.server.capabilities);
  }

  #toRequest({ method, params, options }: ClientCall): ConnectionCall {
    const { capabilities, logLevel, cache, resume, onResumable, id, meta, onProgress: listener } = options;
    const onProgress =
      listener === undefined
        ? undefined
        : (progress: Params) => tellProgress(listener, progress, this.#client.onProblem);
    const sent = withMeta(params, meta);
    const kept = this.#mayAskInput(options) ? structuredClone(sent) : sent;
    return { method, params: kept, id, onProgress, capabilities, logLevel, cache, resume, onResumable };
  }

  /** Only then may params be sent again, and changes that the caller makes to them meanwhile must not matter. */
  #mayAskInput(options: CallOptions): boolean {
    const { onElicit, onElicitUrl, onSample, roots } = this.#client.options;
    return (onElicit ?? onElicitUrl ?? onSample ?? roots ?? options.capabilities) !== undefined;
  }

  /** One request and its result, from the cache where it is fresh there. */
  #exchange(request: ConnectionCall, connection: Connection, lifetime: CallLifetime): Promise<ClientResult> {
    return this.#cache === undefined
      ? connection.call(request, lifetime)
      : this.#cache.through(request, lifetime, connection);
  }

  #isManual({ options }: ClientCall): boolean {
    return (options.input ?? this.#client.options.input) === "manual";
  }

  #answerInput(
    request: ConnectionCall,
    asked: ClientResult,
    connection: Connection,
    lifetime: CallLifetime,
  ): Promise<ClientResult> {
    return answerInput(request, asked, lifetime, {
      clock: this.#client.clock,
      limits: this.#client.limits,
      answer: this.#client.answerInput,
      offWire: (work) => this.#whileOffWire(lifetime, work),
      send: async (next) => {
        try {
          return await this.#exchange(next, connection, lifetime);
        } catch (error) {
          this.#cache?.noteFailure(request, error);
          throw afterFirstAnswer(error);
        }
      },
    });
  }

  /** Runs other work on the connection within the limits of a call. */
  async run<T>(label: string, options: CallOptions, work: (lifetime: CallLifetime) => Promise<T>): Promise<T> {
    const lifetime = this.#open(label, options);
    try {
      lifetime.throwIfAborted();
      return await work(lifetime);
    } finally {
      this.#close(lifetime);
    }
  }

  /** The same for work that has nothing on the wire: the end of the connection ends it. */
  runOffWire<T>(label: string, options: CallOptions, work: (lifetime: CallLifetime) => Promise<T>): Promise<T> {
    return this.run(label, options, (lifetime) => this.#whileOffWire(lifetime, () => work(lifetime)));
  }

  /** Runs work during which the server waits for this side: no call runs into its idle time meanwhile. */
  async whileServerWaits<T>(work: () => Promise<T>): Promise<T> {
    const held = this.#lifetimes.values();
    for (const lifetime of held) lifetime.pauseIdle();
    try {
      return await work();
    } finally {
      for (const lifetime of held) lifetime.resumeIdle();
    }
  }

  /** The connection is over: ends the calls that it does not end itself. */
  end(reason: Error | undefined): void {
    const message = "The connection was closed before the call was finished";
    this.#over ??= new ConnectionError(message, { delivery: "sent", cause: reason });
    for (const lifetime of [...this.#offWire]) lifetime.abort(this.#over);
  }

  async #whileOffWire<T>(lifetime: CallLifetime, work: () => Promise<T>): Promise<T> {
    if (this.#over !== undefined) lifetime.abort(this.#over);
    lifetime.throwIfAborted();
    this.#offWire.add(lifetime);
    try {
      return await work();
    } finally {
      this.#offWire.delete(lifetime);
    }
  }

  #open(label: string, limits: CallOptions): CallLifetime {
    const { options, clock } = this.#client;
    const timeoutMs = limits.timeoutMs ?? options.timeoutMs ?? CLIENT_TIMES.timeoutMs;
    // A peer that shows signs of life may not do so for ever; without an idle time no limit is wanted at all.
    const fallbackMs = timeoutMs === Number.POSITIVE_INFINITY ? timeoutMs : CLIENT_TIMES.deadlineMs;
    const deadlineMs = limits.deadlineMs ?? options.deadlineMs ?? fallbackMs;
    const lifetime = new CallLifetime(label, { signal: limits.signal, timeoutMs, deadlineMs }, clock);
    this.#lifetimes.add(lifetime, lifetime);
    return lifetime;
  }

  #close(lifetime: CallLifetime): void {
    this.#lifetimes.delete(lifetime);
    lifetime.close();
  }
}

const unchanged: ReadResult<ClientResult> = (result) => result;

function withMeta(params: Params | undefined, meta: object | undefined): Params | undefined {
  return meta === undefined ? params : { ...params, _meta: { ...(params?._meta as object | undefined), ...meta } };
}
