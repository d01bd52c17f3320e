import { untilAborted } from "../../../call/abortable.js";
import { CallLifetime } from "../../../call/lifetime.js";
import { PingLoop } from "../../../call/ping-loop.js";
import type { PingOptions } from "../../../call/ping-options.js";
import { ConnectionError, McpError, ProtocolError, RpcError } from "../../../protocol/errors.js";
import { isObject, type Problem } from "../../../protocol/json.js";
import { fromErrorObject, INVALID_REQUEST, NO_BATCHES } from "../../../protocol/jsonrpc/errors.js";
import type { Params, RpcNotification, RpcResponse } from "../../../protocol/jsonrpc/message.js";
import type { InitializeResult, LoggingLevel, SubscriptionFilter } from "../../../protocol/types/index.js";
import { toChange } from "../../../store/change-bus.js";
import { honouredFilter } from "../../capabilities.js";
import type {
  ClientEra,
  ClientResult,
  ClientRuntime,
  Connection,
  ConnectionCall,
  PriorKnowledge,
  SavedSession,
  ServerDescription,
  Subscription,
  WatchEvents,
} from "../../client-era.js";
import { notificationProblem } from "../../request-shapes.js";
import type { ClientTransport, CloseOptions, TransportRequest } from "../../transport.js";
import { BATCHING_VERSION, HANDSHAKE_VERSIONS } from "../../versions.js";
import { ADDED_NOTIFICATIONS, legacyMethods, legacyNotifications } from "../methods.js";
import { legacyResults } from "../results.js";
import { LegacyHttpTransport } from "./http.js";
import { ServerRequests } from "./server-requests.js";
import { SessionLost } from "./session.js";
import { ResourceSubscriptions } from "./subscription.js";

/** Repeats the handshake and adopts its result. */
type Reopen = (lifetime: CallLifetime) => Promise<void>;

/** Connection that was opened by a handshake. The server may send requests. */
export class LegacyConnection implements Connection {
  readonly era: ClientEra;
  readonly mirrorsHeaders = false;
  readonly #transport: ClientTransport;
  readonly #runtime: ClientRuntime;
  readonly #served: ServerRequests;
  readonly #subscriptions: ResourceSubscriptions;
  #pings: PingLoop | undefined;
  #initialized: InitializeResult | undefined;
  #logLevel: LoggingLevel | undefined;
  /** Opens a new session after a loss. Undefined if the transport has no sessions. */
  #reopen: Reopen | undefined;
  /** True from the loss of a session until a new one is open. Requests wait for that. */
  #lost = false;
  #renewal: Promise<void> | undefined;
  /** Reason for which the session's GET stream is abandoned or not found, and the way to reopen it. */
  #abandoned: { readonly reason: Error; readonly listenAgain: () => Promise<void> } | undefined;

  constructor(era: ClientEra, transport: ClientTransport, runtime: ClientRuntime) {
    this.era = era;
    this.#transport = transport;
    this.#runtime = runtime;
    const streamRefusal = () => (transport instanceof LegacyHttpTransport ? transport.streamRefusal : undefined);
    this.#subscriptions = new ResourceSubscriptions(runtime, streamRefusal, (method, params, lifetime) =>
      this.call({ method, params }, lifetime),
    );
    this.#served = new ServerRequests(transport, runtime, () => this.server.version);
    transport.receiver = {
      onRequest: (request, call) => this.#served.serve(request, call),
      onNotification: (notification) => this.#receive(notification),
      batchProblem: (items) => this.#batchProblem(items),
      onProblem: (problem) => runtime.onProblem(problem),
      onClose: (reason) => this.#end(reason),
    };
  }

  get server(): ServerDescription {
    const { protocolVersion, capabilities, serverInfo, instructions } = this.#initialized ?? {};
    return {
      version: protocolVersion ?? HANDSHAKE_VERSIONS[0],
      heard: true,
      capabilities: capabilities ?? {},
      info: serverInfo,
      instructions,
    };
  }

  get prior(): PriorKnowledge {
    return { era: this.era.name };
  }

  get session(): SavedSession | undefined {
    const id = this.#transport instanceof LegacyHttpTransport ? this.#transport.sessionId : undefined;
    if (id === undefined || this.#initialized === undefined) return undefined;
    return { era: this.era.name, id, initialized: this.#initialized as unknown as ClientResult };
  }

  /** Uses the result of the handshake. */
  adopt(initialized: InitializeResult): void {
    this.#initialized = initialized;
  }

  /** Makes the connection open a new session when the server has lost the old one. */
  renewWith(transport: LegacyHttpTransport, reopen: Reopen): void {
    this.#reopen = reopen;
    const listenAgain = () => transport.listenAgain();
    transport.onSessionLost = (reason) => {
      this.#abandoned = { reason, listenAgain };
      // A client that only receives changes would not notice the loss otherwise.
      if (this.#subscriptions.size > 0) this.#renew().catch((error: Error) => this.#loseSubscriptions(error));
    };
    transport.onGap = () => this.#subscriptions.onMissed();
    transport.onStreamRefused = () => this.#subscriptions.onStreamRefused();
    transport.onStreamAbandoned = (reason) => {
      this.#abandoned = { reason, listenAgain };
      this.#loseSubscriptions(reason);
    };
  }

  call(call: ConnectionCall, lifetime: CallLifetime): Promise<ClientResult> {
    const { id, method, params, onProgress, resume } = call;
    if (method === "initialize") return Promise.reject(alreadyInitialized());
    if (resume !== undefined && resume.session.id !== this.session?.id) return Promise.reject(cannotResume(method));
    const onEventId = this.#tokenMaker(call);
    const waitsTurn = method !== "ping";
    const request = { id, method, params, cancellable: true, waitsTurn, onProgress, resume, onEventId };
    const read = (response: RpcResponse) => this.#read(call, response);
    return this.#reopen === undefined
      ? this.#transport.exchange(request, lifetime, read)
      : this.#requestOrRenew(request, lifetime).then(read);
  }

  notify(method: string, params: Params | undefined): void | Promise<void> {
    if (method === "notifications/roots/list_changed" && this.#runtime.capabilities.roots?.listChanged !== true) {
      throw new McpError(
        "not_declared",
        `${method} was not sent: this client did not declare roots.listChanged (options roots and rootsListChanged)`,
      );
    }
    return this.#transport.notify(method, params);
  }

  problemOf(method: string, result: ClientResult): Problem | undefined {
    return legacyResults.get(method)?.(result);
  }

  async setLogLevel(level: LoggingLevel, lifetime: CallLifetime): Promise<void> {
    await this.call({ method: "logging/setLevel", params: { level } }, lifetime);
    this.#logLevel = level;
  }

  keepPinging(options: PingOptions): void {
    this.#pings ??= new PingLoop(
      this.#runtime.clock,
      options,
      (lifetime) => this.call({ method: "ping", params: undefined }, lifetime),
      (error) => this.#runtime.onProblem(error),
    );
  }

  /** Opens a subscription. List changes need no request in this era. Each resource is subscribed to separately. */
  async watch(filter: SubscriptionFilter, events: WatchEvents, lifetime: CallLifetime): Promise<Subscription> {
    if (this.#lost) await untilAborted(this.#renew(), lifetime);
    if (this.#abandoned !== undefined) await this.#reopenStream(lifetime);
    const honoured = honouredFilter(filter, this.server.capabilities);
    return this.#subscriptions.open(honoured, events, lifetime);
  }

  /**
   * Reopens the abandoned GET stream after a ping, which shows that the server answers and knows the session. If it does
   * not know it, the ping has opened another. Fails if the stream is abandoned again.
   */
  async #reopenStream(lifetime: CallLifetime): Promise<void> {
    // A server without pings has answered, too.
    await this.call({ method: "ping", params: undefined }, lifetime).catch(rethrowUnlessRpc);
    const before = this.#abandoned;
    this.#abandoned = undefined;
    await before?.listenAgain();
    const abandoned = this.#abandoned as typeof before;
    if (abandoned !== undefined) throw abandoned.reason;
  }

  #loseSubscriptions(reason: Error): void {
    this.#runtime.onProblem(reason);
    this.#subscriptions.endAll(reason);
  }

  close(options?: CloseOptions): Promise<void> {
    this.#pings?.stop();
    return this.#transport.close(options);
  }

  /**
   * Returns a callback that creates resume tokens. They name the session in which the call was made, even if another
   * session follows.
   */
  #tokenMaker({ onResumable }: ConnectionCall): TransportRequest["onEventId"] {
    const session = onResumable && this.session;
    if (onResumable === undefined || session === undefined) return undefined;
    return (id, lastEventId) => onResumable({ session, id, lastEventId });
  }

  /** Returns the result of a response. A call with the member `task` may get a task instead, if an extension takes it. */
  #read({ method, params }: ConnectionCall, response: RpcResponse): ClientResult {
    const { extensions, capabilities } = this.#runtime;
    const isTask = "result" in response && method === "tools/call" && isObject(response.result.task);
    if (!isTask) return readResult(method, response);
    if (params?.task !== undefined && extensions?.accepts("task", method, capabilities)) return response.result;
    throw new McpError("invalid_result", `${method}: the server returned a task, which was not requested`, {
      cause: response.result,
    });
  }

  /** Sends a request. If it is refused because its session is lost, sends it again in a new session. */
  async #requestOrRenew(request: TransportRequest, lifetime: CallLifetime): Promise<RpcResponse> {
    if (this.#lost) await untilAborted(this.#renew(), lifetime);
    try {
      return await this.#transport.request(request, lifetime);
    } catch (error) {
      if (!(error instanceof SessionLost) || request.resume !== undefined) throw error;
      // Another call may have renewed the session already. A failed handshake leaves the transport without a session.
      if (this.#lost || this.#renewal !== undefined || error.isOf(this.#transport as LegacyHttpTransport))
        await untilAborted(this.#renew(), lifetime);
      return this.#transport.request({ ...request, id: undefined }, lifetime);
    }
  }

  /** Opens a new session with the log level and subscriptions of the old one. Concurrent callers share the renewal. */
  #renew(): Promise<void> {
    this.#renewal ??= this.#reestablish().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #reestablish(): Promise<void> {
    this.#lost = true;
    const lifetime = new CallLifetime("initialize", { timeoutMs: this.#runtime.timeoutMs }, this.#runtime.clock);
    try {
      this.#abandoned = undefined;
      await this.#reopen?.(lifetime);
      this.#lost = false;
      await this.#restore(lifetime);
      this.#subscriptions.onMissed();
    } finally {
      lifetime.close();
    }
  }

  async #restore(lifetime: CallLifetime): Promise<void> {
    const upkeep: [string, Params][] = [...this.#subscriptions.uris].map((uri) => ["resources/subscribe", { uri }]);
    if (this.#logLevel !== undefined) upkeep.unshift(["logging/setLevel", { level: this.#logLevel }]);
    for (const [method, params] of upkeep) {
      const response = await this.#transport.request({ method, params, cancellable: true }, lifetime);
      if ("error" in response) this.#runtime.onProblem(fromErrorObject(response.error));
    }
  }

  #receive(notification: RpcNotification): void {
    const { method, params } = notification;
    if (method === "notifications/cancelled") return this.#served.cancel(params);
    if (ADDED_NOTIFICATIONS.has(method)) return;
    const problem = notificationProblem(legacyNotifications, notification);
    if (problem !== undefined) return this.#runtime.onProblem(problem);
    const change = toChange(method, params);
    if (change !== undefined) this.#subscriptions.onChange(change);
    this.#runtime.onNotification(notification);
  }

  #batchProblem({ length }: readonly unknown[]): string | undefined {
    const most = this.#runtime.limits.maxBatchItems;
    if (this.#initialized?.protocolVersion !== BATCHING_VERSION) return NO_BATCHES;
    if (length === 0) return "a batch must not be empty";
    return length > most
      ? `a batch has ${length} messages, more than the limit of ${most} (limits.maxBatchItems)`
      : undefined;
  }

  #end(reason: Error | undefined): void {
    this.#pings?.stop();
    this.#served.abortAll(new ConnectionError("The server disconnected", { delivery: "sent", cause: reason }));
    this.#subscriptions.endAll(reason);
    this.#runtime.onClose(reason, this);
  }
}

/** Returns the result of a response. Throws for an error response or an invalid result. */
function readResult(method: string, response: RpcResponse): ClientResult {
  if ("error" in response) throw fromErrorObject(response.error, method);
  const { result } = response;
  if (legacyMethods.has(method)) assertComplete(method, result);
  const problem = legacyResults.get(method)?.(result);
  if (problem !== undefined) {
    throw new McpError("invalid_result", `${method}: ${problem.path} of the result must be ${problem.expected}`, {
      cause: result,
    });
  }
  // Older servers omit `content`, which newer versions require.
  return method === "tools/call" && result.content === undefined ? { ...result, content: [] } : result;
}

function rethrowUnlessRpc(error: unknown): void {
  if (!(error instanceof RpcError)) throw error;
}

function cannotResume(method: string): McpError {
  const message = `${method} cannot be resumed: its token belongs to another session; connect with \`session\` first`;
  return new McpError("cannot_resume", message);
}

function alreadyInitialized(): RpcError {
  const message = "initialize was not sent: this connection is already initialized";
  return new RpcError(INVALID_REQUEST, message, undefined, { local: true });
}

/** Refuses result types of later versions, so that they do not pass for an empty success. */
function assertComplete(method: string, result: ClientResult): void {
  const { resultType } = result;
  if (resultType === undefined || resultType === "complete") return;
  throw new ProtocolError(
    `${method}: resultType ${JSON.stringify(resultType)} does not exist in this protocol version`,
  );
}
