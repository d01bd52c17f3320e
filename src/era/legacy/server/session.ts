import type { CallLifetime } from "../../../call/lifetime.js";
import { andThen } from "../../../call/maybe-promise.js";
import { PingLoop } from "../../../call/ping-loop.js";
import type { PingOptions } from "../../../call/ping-options.js";
import { progressTokenOf } from "../../../call/progress.js";
import { ConnectionError } from "../../../protocol/errors.js";
import {
  INVALID_REQUEST,
  invalidParams,
  methodNotFound,
  NO_BATCHES,
  Refusal,
} from "../../../protocol/jsonrpc/errors.js";
import type { Params, RpcNotification, RpcRequest } from "../../../protocol/jsonrpc/message.js";
import { isWanted } from "../../../protocol/logging.js";
import { withoutNulls } from "../../../protocol/shapes/nulls.js";
import type { InitializeParams, LoggingLevel } from "../../../protocol/types/index.js";
import type { Change } from "../../../store/change-bus.js";
import { notificationProblem } from "../../request-shapes.js";
import { longIdRefusal, ServedCall } from "../../served-call.js";
import type {
  Call,
  CallOrigin,
  ClientDescription,
  EraSession,
  LogMessage,
  ServerEra,
  ServerRuntime,
  ServerWire,
} from "../../server-era.js";
import type { UrlElicitationOwner } from "../../url-elicitations.js";
import { BATCHING_VERSION, HANDSHAKE_VERSIONS } from "../../versions.js";
import { ADDED_NOTIFICATIONS, legacyMethods, legacyNotifications } from "../methods.js";
import { describeClient } from "./kept-client.js";
import { tooManyItems } from "./refusals.js";
import { SessionSubscriptions } from "./session-subscriptions.js";
import type { BroadcastId, List, SessionChange, SessionSharing, SessionState } from "./shared-sessions.js";

const LISTS: readonly List[] = ["tools", "prompts", "resources"];

type Phase =
  | { readonly name: "new" }
  /** The server has accepted `initialize` and waits for `notifications/initialized`. */
  | { readonly name: "answered"; readonly client: ClientDescription }
  | { readonly name: "ready"; readonly client: ClientDescription };

const UNKNOWN_CLIENT: ClientDescription = { version: HANDSHAKE_VERSIONS[0], capabilities: {}, info: undefined };

/** Connection to the client of a session. */
export interface SessionWire extends ServerWire {
  readonly sessionId?: string;
  /** Connection to the other processes that serve the session, if there are any. It sends the messages to all clients. */
  readonly sharing?: SessionSharing | undefined;
  /** Sends a message to all clients to the one of this session. */
  broadcast?(id: BroadcastId, params: Params): void;
  /** True if no message outside calls can ever reach the client. */
  readonly mute?: boolean;
}

/** State of a session: phase of the handshake, version, client, log level, subscriptions. */
export class LegacySession implements EraSession, UrlElicitationOwner {
  running = 0;
  readonly #era: ServerEra;
  readonly #runtime: ServerRuntime;
  readonly #wire: SessionWire;
  #subscriptions: SessionSubscriptions | undefined;
  #phase: Phase = { name: "new" };
  #logLevel: LoggingLevel | undefined;
  #pings: PingLoop | undefined;
  readonly #awaitingReady = new Set<() => void>();
  #closed = false;
  #promised: readonly List[] = [];
  readonly #stopListening: (() => void)[] = [];
  readonly #notificationCalls = new Set<Call>();
  #receive: ((notification: RpcNotification) => void) | undefined;

  /** With `client`, no handshake is expected and no changes are sent. */
  constructor(era: ServerEra, runtime: ServerRuntime, wire: SessionWire, client?: ClientDescription) {
    this.#era = era;
    this.#runtime = runtime;
    this.#wire = wire;
    if (client !== undefined) this.#phase = { name: "ready", client };
  }

  /** State of the session after the handshake. */
  get state(): SessionState {
    return {
      client: this.client,
      ready: this.isReady,
      promised: this.#promised,
      level: this.#logLevel,
    };
  }

  /** Takes the state that another process has stored. */
  restore({ client, ready, promised, level }: SessionState): void {
    if (this.#phase.name === "new") this.#phase = { name: "answered", client };
    this.#promised = promised;
    this.#logLevel = level;
    if (ready) this.#ready();
    else if (this.isReady) this.#shareReady();
  }

  /** Stores that the client is ready. If that fails, the next read of the stored state repeats it. */
  #shareReady(): void {
    const failed = (error: unknown) => this.#runtime.report(error, { where: "cluster" });
    andThen(this.share({ ready: true }), () => {}, failed);
  }

  /** Stores a change for the other processes that serve this session, if there are any. */
  share(change: SessionChange): void | Promise<void> {
    const { sharing, sessionId } = this.#wire;
    if (sharing !== undefined && sessionId !== undefined) return sharing.save(sessionId, change);
  }

  /** Tells the client that everything it asked about may have changed. */
  resync(): void {
    if (!this.isReady) return;
    for (const kind of LISTS) this.#onChange({ kind });
    for (const uri of this.#subscriptions?.uris ?? []) this.#onChange({ kind: "resource", uri });
  }

  /** Returns the session of a legacy call. */
  static of(call: Call): LegacySession {
    return call.session as LegacySession;
  }

  get client(): ClientDescription {
    return this.established ?? UNKNOWN_CLIENT;
  }

  get established(): ClientDescription | undefined {
    return this.#phase.name === "new" ? undefined : this.#phase.client;
  }

  get opened(): boolean {
    return this.#phase.name !== "new";
  }

  /** True after `notifications/initialized`. The client then accepts requests. */
  get isReady(): boolean {
    return this.#phase.name === "ready";
  }

  /** True if this session can send no changes and no messages outside calls. */
  get mute(): boolean {
    return this.#wire.mute === true;
  }

  /**
   * Calls the listener after `notifications/initialized`, or at once if it has arrived. Returns a function that removes
   * the listener.
   */
  onReady(listener: () => void): () => void {
    if (this.isReady) listener();
    else this.#awaitingReady.add(listener);
    return () => this.#awaitingReady.delete(listener);
  }

  decode(request: RpcRequest, origin: CallOrigin): Call | Refusal {
    const params = request.params ?? {};
    const progressToken = params._meta === undefined ? undefined : progressTokenOf(params);
    const refusal = longIdRefusal(request, progressToken, this.#runtime.limits) ?? this.#refusalOf(request);
    if (refusal !== undefined) return refusal;
    return new ServedCall({
      era: this.#era,
      session: this,
      id: request.id,
      method: request.method,
      params,
      client: this.client,
      wire: this.#wire,
      origin,
      progressToken,
      logLevel: this.#minLogLevel,
    });
  }

  /** Creates a call that belongs to no request. It can send notifications and requests and ends with the session. */
  #notificationCall(method: string): Call {
    const call = this.#callOf(method, {}, {});
    for (const old of this.#notificationCalls) if (!old.open) this.#notificationCalls.delete(old);
    this.#notificationCalls.add(call);
    return call;
  }

  #callOf(method: string, params: Params, origin: CallOrigin): Call {
    const wire = this.#wire;
    return new ServedCall({
      era: this.#era,
      session: this,
      id: "",
      method,
      params,
      client: this.client,
      wire: {
        shared: wire.shared,
        notify: (_call, name, params) => wire.notify(undefined, name, params),
        request: (_call, name, params, lifetime) => wire.request(undefined, name, params, lifetime),
      },
      origin,
      progressToken: undefined,
      logLevel: this.#minLogLevel,
    });
  }

  /** Handles a notification. The promise settles when other processes can know of it. */
  receive(notification: RpcNotification): void | Promise<void> {
    const { method } = notification;
    if (ADDED_NOTIFICATIONS.has(method)) return;
    const problem = notificationProblem(legacyNotifications, notification);
    if (problem !== undefined) return this.#runtime.report(problem, { where: "notification", method }, "warn");
    const completes = method === "notifications/initialized";
    if (!completes || this.#ready()) {
      this.#receive ??= this.#runtime.receiver((name) => this.#notificationCall(name), this.#wire.principal);
      this.#receive(notification);
    }
    // A client repeats it if the first attempt to store it has failed.
    if (completes && this.isReady) return this.share({ ready: true });
  }

  batchProblem(items: readonly unknown[]): string | undefined {
    if (!this.opened || this.client.version !== BATCHING_VERSION) return NO_BATCHES;
    const { maxBatchItems: most } = this.#runtime.limits;
    if (items.length > most) return tooManyItems(items, most);
    if (items.length === 0) return "a batch must not be empty";
    const hasInitialize = items.some((item) => (item as { method?: unknown } | null)?.method === "initialize");
    return hasInitialize ? "a batch must not contain initialize" : undefined;
  }

  /** True unless the call is the handshake, which cannot be cancelled. */
  cancellable(call: Call): boolean {
    return call.method !== "initialize";
  }

  setLogLevel(level: LoggingLevel): void {
    this.#logLevel = level;
  }

  get hasSubscriptions(): boolean {
    return this.#subscriptions !== undefined;
  }

  get subscriptions(): SessionSubscriptions {
    this.#subscriptions ??= new SessionSubscriptions(this.#runtime, {
      notify: (method, params) => this.#wire.notify(undefined, method, params),
      callOf: (method, params, origin) => this.#callOf(method, params, origin),
    });
    return this.#subscriptions;
  }

  get awaitsPage(): boolean {
    return this.#runtime.urlElicitations.count(this) > 0;
  }

  addUrlElicitation(id: string): void {
    const { urlElicitations, limits } = this.#runtime;
    if (!this.#closed) urlElicitations.add(id, this, limits.maxUrlElicitations);
  }

  onUrlElicitationDone(elicitationId: string): void {
    void this.#wire.notify(undefined, "notifications/elicitation/complete", { elicitationId });
  }

  close(): void {
    this.#closed = true;
    this.#pings?.stop();
    this.#runtime.urlElicitations.release(this);
    for (const call of this.#notificationCalls)
      call.end.abort(new ConnectionError("The session has ended", { delivery: "sent" }));
    for (const stop of this.#stopListening.splice(0)) stop();
    this.#subscriptions?.close();
  }

  /**
   * Returns the refusal of a request in the present phase. `initialize` takes effect at once, so that a client may send
   * further requests before it has the result.
   */
  #refusalOf({ method, params }: RpcRequest): Refusal | undefined {
    if (method === "initialize") return this.#open(params);
    return this.#phase.name === "new" && method !== "ping" ? this.#tooEarly(method) : undefined;
  }

  #open(params: Params | undefined): Refusal | undefined {
    if (this.opened) return new Refusal(INVALID_REQUEST, "Invalid request: this connection is already initialized");
    const { params: check } = legacyMethods.get("initialize")!;
    const problem = check(params);
    const read = problem === undefined ? params : withoutNulls(check, params ?? {}, problem);
    if (problem !== undefined && read === undefined) return invalidParams("initialize", problem);
    const given = read as unknown as InitializeParams;
    const { protocolVersion } = given;
    const served = this.#runtime.versions.filter((version) => this.#era.versions.includes(version));
    const version = served.includes(protocolVersion) ? protocolVersion : (served[0] ?? HANDSHAKE_VERSIONS[0]);
    const client = describeClient(version, given, this.#runtime.limits.maxClientChars);
    if (client instanceof Refusal) return client;
    this.#phase = { name: "answered", client };
    const declared = this.#runtime.capabilities;
    this.#promised = this.mute ? [] : LISTS.filter((kind) => declared[kind]?.listChanged === true);
    return undefined;
  }

  /** Enters the ready phase. Returns false if the session is not waiting for it. */
  #ready(): boolean {
    if (this.#phase.name !== "answered") return false;
    this.#phase = { name: "ready", client: this.#phase.client };
    this.#stopListening.push(this.#runtime.changes.subscribe((change) => this.#onChange(change)));
    if (this.#wire.sharing === undefined) this.#stopListening.push(this.#runtime.onLog((message) => this.log(message)));
    const { pings } = this.#runtime.options;
    if (pings !== undefined) this.#pings = this.#startPinging(pings);
    for (const listener of this.#awaitingReady) listener();
    this.#awaitingReady.clear();
    return true;
  }

  /** Returns the minimum level of log messages for this client, or undefined if the server does not log. */
  readonly #minLogLevel = (): LoggingLevel | undefined =>
    this.#runtime.capabilities.logging === undefined
      ? undefined
      : (this.#logLevel ?? this.#runtime.options.logLevel ?? "debug");

  /** Sends a log message that belongs to no call, if the client wants it. With other processes, it has an id. */
  log({ level, data, logger }: LogMessage, id?: BroadcastId): void {
    if (!isWanted(level, this.#minLogLevel())) return;
    const params = { level, data, ...(logger === undefined ? undefined : { logger }) };
    if (id === undefined) void this.#wire.notify(undefined, "notifications/message", params);
    else this.#wire.broadcast?.(id, params);
  }

  /** Starts the pings. While no stream to the client is open, pings are not sent and failures are not reported. */
  #startPinging(options: PingOptions): PingLoop {
    const { clock } = this.#runtime;
    const ping = async (lifetime: CallLifetime) => {
      if (this.#wire.deserted !== true) await this.#wire.request(undefined, "ping", undefined, lifetime);
    };
    return new PingLoop(clock, options, ping, (error) => {
      if (this.#wire.deserted !== true) this.#runtime.report(error, { where: "ping" }, "warn");
    });
  }

  /**
   * Sends a change. A change of a list is sent only if the server declared `listChanged` at the handshake or declares
   * it now.
   */
  #onChange(change: Change): void {
    if (change.kind !== "resource") {
      const { kind } = change;
      if (!this.#promised.includes(kind) && this.#runtime.capabilities[kind]?.listChanged !== true)
        return this.#runtime.debug(`a change of ${kind} was not sent: the server does not declare ${kind}.listChanged`);
    }
    this.subscriptions.send(change);
  }

  #tooEarly(method: string): Refusal {
    if (!legacyMethods.has(method) && !this.#runtime.knows(method)) return methodNotFound(method);
    return new Refusal(INVALID_REQUEST, `Invalid request: ${method} was sent before initialize`);
  }
}
