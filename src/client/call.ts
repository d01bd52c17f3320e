import type { RetryWaits } from "../call/backoff.js";
import { composeInterceptors } from "../call/interceptor.js";
import { CallLifetime } from "../call/lifetime.js";
import type { MaybePromise } from "../call/maybe-promise.js";
import { tellProgress } from "../call/progress.js";
import type { ClientResult, Connection, ConnectionCall } from "../era/client-era.js";
import { CLIENT_TIMES } from "../era/client-limits.js";
import { afterFirstAnswer, ConnectionError, notConnected, type RpcError } from "../protocol/errors.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import { SmallMap } from "../protocol/jsonrpc/small-map.js";
import type { ClientCache } from "./cache/cache.js";
import { capabilityRefusal, missingMethod } from "./capabilities.js";
import type { ExtensionClient, Extensions } from "./extensions.js";
import { answerInput } from "./input-rounds.js";
import { assertCallOptions, type CallOptions, type ClientCall, NO_OPTIONS } from "./options.js";

/** Converts a result to the value that the caller gets. */
export type ReadResult<T> = (result: ClientResult) => MaybePromise<T>;

/** Handles a failed call: throws the error that the caller gets. */
type OnFailure = (error: unknown, options: CallOptions) => Promise<never>;

/** Parts of the client that its calls use. */
export interface CallingClient extends ExtensionClient {
  readonly extensions: Extensions | undefined;
  readonly waits: RetryWaits;
  onFailure: OnFailure;
  uses(feature: "logging"): void;
}

/**
 * Calls of a client on its connection. `call` shows the steps of a request: interceptors, checks, lifetime, cache,
 * send, rounds of input requests, result.
 */
export class ClientCalls {
  readonly #client: CallingClient;
  readonly #lifetimes = new SmallMap<CallLifetime, CallLifetime>();
  /** Calls that have no request in progress, since the client has to act next. The transport cannot end them. */
  readonly #offWire = new Set<CallLifetime>();
  #connection: Connection | undefined;
  #cache: ClientCache | undefined;
  /** Makes a call through interceptors and extensions. Undefined if there are none. */
  #intercepted: ((call: ClientCall) => Promise<ClientResult>) | undefined;
  #over: ConnectionError | undefined;

  constructor(client: CallingClient) {
    this.#client = client;
  }

  /** Sets the connection for further calls. */
  begin(connection: Connection, cache: ClientCache | undefined): void {
    this.#connection = connection;
    this.#cache = cache;
    const { extensions, options } = this.#client;
    const interceptors = [...(options.interceptors ?? []), ...(extensions?.interceptors(this.#client) ?? [])];
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

  /** Connection of the client. Undefined before `begin` and after the connection has ended. */
  get connection(): Connection | undefined {
    return this.#over === undefined ? this.#connection : undefined;
  }

  /** Returns the connection. Throws if there is none. */
  connected(): Connection {
    if (this.#connection === undefined || this.#over !== undefined) throw notConnected();
    return this.#connection;
  }

  /** Number of calls in progress. */
  get pending(): number {
    return this.#lifetimes.size;
  }

  /** Makes a call and returns the value that `read` creates from its result. */
  call<T>(call: ClientCall, read: ReadResult<T>): Promise<T> {
    try {
      const connection = this.connected();
      if (this.#intercepted !== undefined) return this.#intercepted(call).then(read);
      return this.#send(call, connection, read, this.#client.onFailure);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Makes the innermost call of the interceptors. Resolves a result whose type belongs to an extension. */
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

  /** Sends a call. Throws if it may not be sent. A failure after that goes to `onFailure`. */
  #send<T>(call: ClientCall, connection: Connection, read: ReadResult<T>, onFailure: OnFailure): Promise<T> {
    const refusal = this.#refusalOf(call.method, connection);
    if (refusal !== undefined) throw refusal;
    const lifetime = this.#open(call.method, call.options, "not_sent");
    try {
      lifetime.throwIfAborted();
      const request = this.#toRequest(call);
      return this.#exchange(request, connection, lifetime).then(
        (result) => {
          if (this.#client.waits.pending.size > 0) this.#client.waits.end();
          if (result.resultType === "input_required" && !this.#isManual(call)) {
            return this.#answerInput(request, result, connection, lifetime)
              .finally(() => this.#close(lifetime))
              .then(read, (error) => onFailure(error, call.options));
          }
          this.#close(lifetime);
          return read(result);
        },
        (error) => {
          // Nobody waits for the answers to the call's questions any more.
          lifetime.abort(error);
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

  /**
   * Returns an error if the era does not have the method, if the method belongs to an extension that the server does
   * not support, or, with `strictCapabilities`, if the server does not announce the capability.
   */
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
    if (logLevel !== undefined) this.#client.uses("logging");
    const sent = withMeta(params, meta);
    const kept = this.#mayAskInput(options) ? structuredClone(sent) : sent;
    return { method, params: kept, id, onProgress, capabilities, logLevel, cache, resume, onResumable };
  }

  /**
   * True if the server may request input. The params are copied then, since they are sent again with the input, and
   * changes by the caller must not affect them.
   */
  #mayAskInput(options: CallOptions): boolean {
    const { onElicit, onElicitUrl, onSample, roots } = this.#client.options;
    return (onElicit ?? onElicitUrl ?? onSample ?? roots ?? options.capabilities) !== undefined;
  }

  /** Sends a request, or takes a fresh result from the cache, which keeps no results of tools. */
  #exchange(request: ConnectionCall, connection: Connection, lifetime: CallLifetime): Promise<ClientResult> {
    if (this.#cache === undefined || request.method === "tools/call") return connection.call(request, lifetime);
    // Another call may send the request for this one, too.
    lifetime.reached("sent");
    return this.#cache.through(request, lifetime, connection);
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
          throw error;
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

  /** Same as `run` for work without a request in progress. The end of the connection aborts it. */
  runOffWire<T>(label: string, options: CallOptions, work: (lifetime: CallLifetime) => Promise<T>): Promise<T> {
    return this.run(label, options, (lifetime) => this.#whileOffWire(lifetime, () => work(lifetime)));
  }

  /** Runs work that the server waits for. The idle timeouts of all calls in progress are paused meanwhile. */
  async whileServerWaits<T>(work: () => Promise<T>): Promise<T> {
    const held = this.#lifetimes.values();
    for (const lifetime of held) lifetime.pauseIdle();
    try {
      return await work();
    } finally {
      for (const lifetime of held) lifetime.resumeIdle();
    }
  }

  /**
   * Handles the end of the connection. Aborts the calls without a request in progress, which the transport cannot end.
   */
  end(reason: Error | undefined): void {
    const message = "The connection was closed before the response arrived";
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

  #open(label: string, limits: CallOptions, delivery?: "not_sent"): CallLifetime {
    if (limits !== NO_OPTIONS) assertCallOptions(label, limits);
    const { options, clock } = this.#client;
    const timeoutMs = limits.timeoutMs ?? options.timeoutMs ?? CLIENT_TIMES.timeoutMs;
    // Limits a call even if the server keeps sending progress. An infinite `timeoutMs` disables this limit too.
    const fallbackMs = timeoutMs === Number.POSITIVE_INFINITY ? timeoutMs : CLIENT_TIMES.deadlineMs;
    const deadlineMs = limits.deadlineMs ?? options.deadlineMs ?? fallbackMs;
    const lifetime = new CallLifetime(label, { signal: limits.signal, timeoutMs, deadlineMs }, clock, delivery);
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
