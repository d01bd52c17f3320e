import { cancelledBy } from "../../call/abort-switch.js";
import { pause } from "../../call/abortable.js";
import { sendChannelRequest, unchangedResponse } from "../../call/channel-request.js";
import type { CallLifetime } from "../../call/lifetime.js";
import { withProgressToken } from "../../call/progress.js";
import { ServedCalls } from "../../call/served-calls.js";
import type {
  Call,
  CallOrigin,
  ClientDescription,
  EraSession,
  Outcome,
  ServerEra,
  ServerRuntime,
  ServerWire,
} from "../../era/server-era.js";
import { ConnectionError, McpError, RpcError } from "../../protocol/errors.js";
import type { Channel } from "../../protocol/jsonrpc/channel.js";
import { INTERNAL_ERROR, NO_BATCHES, Refusal, toErrorObject } from "../../protocol/jsonrpc/errors.js";
import type { Params, RequestId, RpcNotification, RpcRequest, RpcResponse } from "../../protocol/jsonrpc/message.js";
import type { ParseFailure } from "../../protocol/jsonrpc/parse.js";
import { Peer } from "../../protocol/jsonrpc/peer.js";
import type { ServedConnection } from "../options.js";
import { pickEra } from "./pick-era.js";

/** Maximum time for a channel to write pending data and close. */
const CLOSE_MS = 5_000;

/** Serves the messages of a channel, each in its own era. */
export class ChannelEndpoint implements ServedConnection, ServerWire {
  readonly shared = true;
  readonly closed: Promise<void>;
  readonly #runtime: ServerRuntime;
  readonly #eras: readonly ServerEra[];
  readonly #origin: () => CallOrigin;
  readonly #peer: Peer;
  readonly #sessions = new Map<ServerEra, EraSession>();
  readonly #served = new ServedCalls<Call>();
  readonly #calls = new Map<Call, Promise<void>>();
  #onClosed: () => void = () => {};

  constructor(runtime: ServerRuntime, eras: readonly ServerEra[], channel: Channel, origin: () => CallOrigin) {
    this.#runtime = runtime;
    this.#eras = eras;
    this.#origin = origin;
    this.closed = new Promise((resolve) => {
      this.#onClosed = resolve;
    });
    this.#peer = new Peer(channel, {
      onRequest: (request) => this.#serve(request),
      onNotification: (notification) => this.#receive(notification),
      onInvalid: (failure) => this.#onInvalid(failure),
      batchProblem: (items) => this.#batchProblem(items),
      onProblem: (problem) => this.#runtime.report(problem, { where: "connection" }, "warn"),
      onClose: (reason) => this.#end(reason),
    });
  }

  open(): void | Promise<void> {
    return this.#peer.open();
  }

  get running(): number {
    return this.#calls.size;
  }

  get client(): ClientDescription | undefined {
    for (const { established } of this.#sessions.values()) if (established !== undefined) return established;
    return undefined;
  }

  notify(_call: Call | undefined, method: string, params: Params | undefined): void | Promise<void> {
    return this.#peer.notify(method, params);
  }

  request(
    _call: Call | undefined,
    method: string,
    params: Params | undefined,
    scope: CallLifetime,
    onProgress?: (params: Params) => void,
  ): Promise<RpcResponse> {
    const asked = onProgress === undefined ? params : (id: RequestId) => withProgressToken(params, id);
    return sendChannelRequest(
      this.#peer,
      { method, params: asked },
      scope,
      { cancellable: true, onProgress },
      unchangedResponse,
    );
  }

  /** Resolves when no call is running. */
  async idle(): Promise<void> {
    while (this.#calls.size > 0) await Promise.all(this.#calls.values());
  }

  /**
   * Waits for subscriptions to end, responds to each other running call that the server shuts down, and closes the
   * channel.
   */
  async close(): Promise<void> {
    const ending = [...this.#calls].filter(([call]) => call.afterAnswer !== undefined).map(([, done]) => done);
    await Promise.all(ending);
    const reason = new McpError("server_closing", "The server is shutting down");
    for (const call of this.#calls.keys()) {
      if (call.end.abort(reason)) this.#peer.respondError(call.id, { code: INTERNAL_ERROR, message: reason.message });
    }
    await this.#closeChannel();
  }

  /** Closes the channel. Does not wait longer than `CLOSE_MS`. */
  async #closeChannel(): Promise<void> {
    const over = new AbortController();
    const closed = this.#peer.close().finally(() => over.abort());
    await Promise.race([closed, pause(this.#runtime.clock, CLOSE_MS, over.signal)]);
    this.#end(undefined);
  }

  #serve(request: RpcRequest): void {
    const era = pickEra(this.#eras, request);
    if (this.#runtime.draining)
      return this.#refuse(request, era, new Refusal(INTERNAL_ERROR, "The server is shutting down"));
    try {
      const decoded = this.#sessionFor(era).decode(request, this.#origin());
      if (!(decoded instanceof Promise)) return this.#run(decoded, request, era);
      decoded.then((decoded) => this.#run(decoded, request, era)).catch((error) => this.#refuse(request, era, error));
    } catch (error) {
      this.#refuse(request, era, error);
    }
  }

  #run(call: Call | Refusal, request: RpcRequest, era: ServerEra): void {
    if (call instanceof Refusal) return this.#refuse(request, era, call);
    this.#served.add(call);
    const outcome = this.#runtime.run(call);
    if (!(outcome instanceof Promise)) return this.#answer(call, outcome);
    const done = outcome.then((outcome) => {
      this.#calls.delete(call);
      this.#answer(call, outcome);
    });
    this.#calls.set(call, done);
  }

  #answer(call: Call, outcome: Outcome): void {
    this.#served.remove(call);
    if (outcome.kind === "result") this.#peer.respond(call.id, outcome.result);
    else if (outcome.kind === "error") this.#peer.respondError(call.id, outcome.error);
    call.afterAnswer?.();
  }

  #refuse(request: RpcRequest, era: ServerEra, error: unknown): void {
    if (error instanceof RpcError) return void this.#peer.respondError(request.id, era.encodeError(error, undefined));
    this.#runtime.report(error, { where: "decode", method: request.method, id: request.id });
    this.#peer.respondError(request.id, { code: INTERNAL_ERROR, message: "Internal error" });
  }

  #receive(notification: RpcNotification): void {
    if (notification.method === "notifications/cancelled") return this.#cancel(notification.params);
    const era = pickEra(this.#eras, notification);
    this.#sessionFor(era).receive(notification);
  }

  #cancel(params: Params | undefined): void {
    const call = this.#served.find(params?.requestId);
    if (call === undefined || call.session?.cancellable(call) !== true) return;
    const reason = cancelledBy(params);
    // The end of a subscription is ordinary.
    if (call.end.abort(reason) && call.method !== "subscriptions/listen") {
      this.#runtime.debug("call cancelled", { method: call.method, id: call.id, reason: reason.message });
    }
  }

  /**
   * Reports an invalid message. Responds only if the message has an id or is a batch, since the client cannot match
   * other errors to a request. Never responds to a response.
   */
  #onInvalid(failure: ParseFailure): void {
    const error = new RpcError(failure.code, failure.message);
    this.#runtime.report(error, { where: "connection", id: failure.id }, "warn");
    const id = failure.id ?? failure.largeId;
    const meant = id !== undefined || failure.batch === true;
    if (meant && !failure.answer) this.#peer.respondError(id, toErrorObject(error));
  }

  #batchProblem(items: readonly unknown[]): string | undefined {
    const problems = [...this.#sessions.values()].map((session) => session.batchProblem(items));
    return problems.includes(undefined)
      ? undefined
      : (problems.find((problem) => problem !== NO_BATCHES) ?? NO_BATCHES);
  }

  #sessionFor(era: ServerEra): EraSession {
    let session = this.#sessions.get(era);
    if (session === undefined) {
      session = era.attach(this.#runtime, this);
      this.#sessions.set(era, session);
    }
    return session;
  }

  #end(reason: Error | undefined): void {
    if (reason !== undefined) this.#runtime.report(reason, { where: "connection" }, "warn");
    this.#served.abortAll(new ConnectionError("The client disconnected", { delivery: "sent", cause: reason }));
    for (const session of this.#sessions.values()) {
      session.close();
      this.#runtime.onSessionEnd?.(session);
    }
    this.#onClosed();
  }
}
